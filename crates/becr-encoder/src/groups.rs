//! Token groups: `[CLS] a [SEP]` and `[CLS] a b [SEP]`, many in one batch.

use crate::{Batch, Centre, EncodeError, Encoder, Wanted};
use becr_text::groups::TokenGroup;
use rayon::prelude::*;

/// The footprints of a token group: one vector for a word or WordPiece, two for a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedGroup {
    /// `[layers, vectors, words]`; of a pair, the first word's vector comes first.
    pub footprints: Vec<u32>,
    /// `[vectors, extension words]`: the rest of each vector's footprint under the hyperplanes of document vectors, which
    /// begins with its footprint at the last layer.
    pub extension: Vec<u32>,
    /// 1 or 2.
    pub vectors: usize,
}

impl EncodedGroup {
    /// The footprint of a vector at the `layer`-th kept layer; `words` is [`Shape::words`](crate::Shape::words).
    pub fn footprint(&self, layer: usize, vector: usize, words: usize) -> &[u32] {
        &self.footprints[(layer * self.vectors + vector) * words..][..words]
    }
}

impl Encoder {
    /// Encodes token groups in order. A word of several WordPieces is the mean of their vectors.
    ///
    /// Groups are taken a batch at a time, so memory is bounded by the batch and the result. A group that is no
    /// word and no vocabulary entry is an error, [`EncodeError::NotAWord`].
    pub fn groups(&self, groups: &[TokenGroup]) -> Result<Vec<EncodedGroup>, EncodeError> {
        let mut encoded = Vec::with_capacity(groups.len());
        let mut pending = Pending::default();
        for group in groups {
            let words = self.group_words(group)?;
            let tokens = 2 + words.iter().map(Vec::len).sum::<usize>();
            if !pending.sizes.is_empty() && pending.tokens.tokens() + tokens > self.batch_tokens {
                pending.flush(self, &mut encoded)?;
            }
            pending.push(self, &words);
        }
        pending.flush(self, &mut encoded)?;
        Ok(encoded)
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

    /// What the footprints of vectors under the hyperplanes of document vectors have beyond a token's footprint.
    pub(crate) fn extensions(&self, vectors: &[f32]) -> Result<Vec<u32>, EncodeError> {
        let (shape, planes) = (self.backend.shape(), self.backend.document_planes());
        let Some(planes) = planes.filter(|_| shape.extension_words() > 0) else {
            return Ok(Vec::new());
        };
        let rows: Result<Vec<Vec<u32>>, EncodeError> = vectors
            .par_chunks_exact(shape.dim)
            .map(|vector| {
                let mut footprint = vec![0; planes.words()];
                planes.footprint(vector, &mut footprint)?;
                Ok(footprint.split_off(shape.words()))
            })
            .collect();
        Ok(rows?.concat())
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
            if encoder.backend.shape().extension_words() > 0 {
                self.wanted.vectors.push(start..start + word.len());
            }
            start += word.len();
        }
        self.sizes.push(words.len());
    }

    fn flush(&mut self, encoder: &Encoder, out: &mut Vec<EncodedGroup>) -> Result<(), EncodeError> {
        let Self {
            tokens,
            wanted,
            sizes,
        } = std::mem::take(self);
        if sizes.is_empty() {
            return Ok(());
        }
        let shape = encoder.backend.shape();
        let encoded = encoder.backend.encode(&tokens, &wanted)?;
        let (words, spans) = (shape.words(), wanted.footprints.len());
        let extensions = encoder.extensions(&encoded.vectors)?;
        let extension = shape.extension_words();
        let mut first = 0;
        for vectors in sizes {
            let layers = 0..shape.layers.len();
            let footprints = layers.flat_map(|layer| {
                &encoded.footprints[(layer * spans + first) * words..][..vectors * words]
            });
            out.push(EncodedGroup {
                footprints: footprints.copied().collect(),
                extension: extensions[first * extension..][..vectors * extension].to_vec(),
                vectors,
            });
            first += vectors;
        }
        Ok(())
    }
}
