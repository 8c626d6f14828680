//! Token groups: `[CLS] a [SEP]` and `[CLS] a b [SEP]`, many in one batch.

use crate::flow::in_order;
use crate::{Batch, Centre, EncodeError, Encoder, Wanted};
use becr_text::groups::TokenGroup;
use rayon::prelude::*;

/// The footprints of a token group: one vector for a word or WordPiece, two for a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedGroup {
    /// `[layers, vectors, words]`; of a pair, the first word's vector comes first.
    pub footprints: Vec<u32>,
    /// `[vectors, vector words]`: the vectors themselves, packed, to be compared with those of documents; empty unless
    /// footprints are relative.
    pub packed: Vec<u32>,
    /// 1 or 2.
    pub vectors: usize,
}

impl EncodedGroup {
    /// The footprint of a vector at the `layer`-th kept layer; `words` is [`Shape::width`](crate::Shape::width).
    pub fn footprint(&self, layer: usize, vector: usize, words: usize) -> &[u32] {
        &self.footprints[(layer * self.vectors + vector) * words..][..words]
    }
}

impl Encoder {
    /// Encodes token groups in order. A word of several WordPieces is the mean of their vectors.
    ///
    /// A group that is no word and no vocabulary entry is an error, [`EncodeError::NotAWord`].
    pub fn groups(&self, groups: &[TokenGroup]) -> Result<Vec<EncodedGroup>, EncodeError> {
        self.groups_observed(groups, |_| Ok(()))
    }

    /// The same; `told` hears how many were encoded, batch by batch, and may end the work with an error.
    pub fn groups_observed<E: From<EncodeError>>(
        &self,
        groups: &[TokenGroup],
        mut told: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Vec<EncodedGroup>, E> {
        let mut encoded = Vec::with_capacity(groups.len());
        let mut rest = groups.iter();
        let batches = std::iter::from_fn(|| self.next_groups(&mut rest));
        let work = |batch: Result<Pending, EncodeError>| batch?.encode(self);
        in_order(batches, self.threads(), work, |groups| {
            let groups = groups?;
            told(groups.len())?;
            encoded.extend(groups);
            Ok::<(), E>(())
        })?;
        Ok(encoded)
    }

    /// Groups that make about one batch; `None` at the end.
    fn next_groups<'a>(
        &self,
        groups: &mut impl Iterator<Item = &'a TokenGroup>,
    ) -> Option<Result<Pending, EncodeError>> {
        let mut pending = Pending::default();
        while pending.tokens.tokens() < self.batch_tokens
            && let Some(group) = groups.next()
        {
            match self.group_words(group) {
                Ok(words) => pending.push(self, &words),
                Err(error) => return Some(Err(error)),
            }
        }
        (!pending.sizes.is_empty()).then_some(Ok(pending))
    }

    /// The WordPieces of each word of a group.
    pub(crate) fn group_words(&self, group: &TokenGroup) -> Result<Vec<Vec<u32>>, EncodeError> {
        match group {
            TokenGroup::Unigram(word) => Ok(vec![self.group_word(word)?]),
            TokenGroup::Pair(first, second) => {
                Ok(vec![self.group_word(first)?, self.group_word(second)?])
            }
        }
    }

    /// The vectors of token groups as they are kept.
    pub(crate) fn packed(&self, vectors: &[f32]) -> Vec<u32> {
        let rows = vectors.par_chunks_exact(self.backend.shape().dim);
        rows.flat_map_iter(becr_footprint::pack).collect()
    }

    /// The WordPieces of one word of a group. Vocabulary entries such as `##ing` stand for themselves.
    fn group_word(&self, word: &str) -> Result<Vec<u32>, EncodeError> {
        if let Some(id) = self.pieces.id(word) {
            return Ok(vec![id]);
        }
        let ids = self.pieces.pieces(word).ids;
        if ids.is_empty() {
            Err(EncodeError::NotAWord { text: word.into() })
        } else {
            Ok(ids)
        }
    }
}

/// Groups that are encoded together.
struct Pending {
    tokens: Batch,
    wanted: Wanted,
    /// Vectors of each group.
    sizes: Vec<usize>,
}

impl Default for Pending {
    fn default() -> Self {
        let wanted = Wanted {
            centre: Centre::Groups,
            ..Wanted::default()
        };
        Self {
            tokens: Batch::new(),
            wanted,
            sizes: Vec::new(),
        }
    }
}

impl Pending {
    fn push(&mut self, encoder: &Encoder, words: &[Vec<u32>]) {
        let sequence = self.tokens.push(encoder.sequence(&words.concat()));
        let mut start = sequence.start + 1;
        for word in words {
            self.wanted.footprints.push(start..start + word.len());
            if encoder.backend.shape().relative {
                self.wanted.vectors.push(start..start + word.len());
            }
            start += word.len();
        }
        self.sizes.push(words.len());
    }

    fn encode(self, encoder: &Encoder) -> Result<Vec<EncodedGroup>, EncodeError> {
        let Self {
            tokens,
            wanted,
            sizes,
        } = self;
        let mut out = Vec::with_capacity(sizes.len());
        let shape = encoder.backend.shape();
        let encoded = encoder.backend.encode(&tokens, &wanted)?;
        let (words, spans) = (shape.width(), wanted.footprints.len());
        let (packed, width) = (encoder.packed(&encoded.vectors), shape.vector_width());
        let mut first = 0;
        for vectors in sizes {
            let layers = 0..shape.layers.len();
            let footprints = layers.flat_map(|layer| {
                &encoded.footprints[(layer * spans + first) * words..][..vectors * words]
            });
            out.push(EncodedGroup {
                footprints: footprints.copied().collect(),
                packed: packed[first * width..][..vectors * width].to_vec(),
                vectors,
            });
            first += vectors;
        }
        Ok(out)
    }
}
