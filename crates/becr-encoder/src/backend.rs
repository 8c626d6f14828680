//! What an implementation of the forward pass takes and gives, so that documents and token groups are
//! encoded by the same code whatever computes.

use crate::{EncodeError, Precision};
use becr_footprint::lsh::{HyperplaneKind, Hyperplanes};
use becr_model::{Centres, Config};
use std::ops::Range;

/// Token ids of several sequences laid end to end. There is no padding: a sequence is as long as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    ids: Vec<u32>,
    ends: Vec<usize>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a sequence, which brings its own `[CLS]` and `[SEP]`, and says where its tokens lie.
    pub fn push(&mut self, sequence: impl IntoIterator<Item = u32>) -> Range<usize> {
        let start = self.ids.len();
        self.ids.extend(sequence);
        self.ends.push(self.ids.len());
        start..self.ids.len()
    }

    /// All token ids, sequence after sequence.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// How many tokens there are in all sequences together.
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// Where the tokens of each sequence lie.
    pub fn sequences(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        (0..self.ends.len()).map(|i| if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i])
    }

    /// True without any sequence.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Refuses sequences that a model of this shape cannot encode. Every backend calls it first.
    pub fn check(&self, shape: &Shape) -> Result<(), EncodeError> {
        for (sequence, range) in self.sequences().enumerate() {
            let tokens = range.len();
            if tokens == 0 {
                return Err(EncodeError::EmptySequence { sequence });
            }
            if tokens > shape.max_tokens {
                return Err(EncodeError::TooLong {
                    sequence,
                    tokens,
                    max: shape.max_tokens,
                });
            }
            if let Some(&id) = self.ids[range]
                .iter()
                .find(|&&id| id as usize >= shape.vocabulary)
            {
                return Err(EncodeError::UnknownToken {
                    sequence,
                    id,
                    vocabulary: shape.vocabulary,
                });
            }
        }
        Ok(())
    }
}

impl<S: IntoIterator<Item = u32>> FromIterator<S> for Batch {
    fn from_iter<I: IntoIterator<Item = S>>(sequences: I) -> Self {
        let mut batch = Self::new();
        for sequence in sequences {
            batch.push(sequence);
        }
        batch
    }
}

/// What callers need to know of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Length of a hidden state.
    pub dim: usize,
    /// The hidden states kept, ascending; 0 is the embedding layer.
    pub layers: Vec<usize>,
    /// Bits of a footprint; `None` for a model that keeps raw vectors.
    pub bits: Option<usize>,
    /// Whether documents' footprints are relative to their vectors.
    pub relative: bool,
    /// Longest sequence, `[CLS]` and `[SEP]` included.
    pub max_tokens: usize,
    /// Token ids are smaller than this.
    pub vocabulary: usize,
}

impl Shape {
    /// The shape that a configuration describes; an error if it is none that can be computed.
    pub fn new(config: &Config) -> Result<Self, EncodeError> {
        config.check("config.json".as_ref())?;
        Ok(Self {
            dim: config.hidden_size,
            layers: config
                .kept_layers()
                .map_err(|problem| EncodeError::Config(format!("becr.layers {problem}")))?,
            bits: config.settings().bits,
            relative: config.settings().relative,
            max_tokens: config.max_position_embeddings,
            vocabulary: config.vocab_size,
        })
    }

    /// 32-bit words of the vector that a token group keeps; 0 unless footprints are relative.
    pub fn vector_width(&self) -> usize {
        match self.relative {
            true => becr_footprint::packed_words(self.dim),
            false => 0,
        }
    }

    /// Bytes that a token group takes for each of its vectors: footprints, and the vector itself if it is kept.
    pub fn group_bytes(&self) -> usize {
        4 * (self.layers.len() * self.width() + self.vector_width())
    }

    /// A footprint's width in `u32`s; 0 for a model that keeps raw vectors.
    pub fn width(&self) -> usize {
        self.bits.unwrap_or(0) / 32
    }
}

/// Draws the hyperplanes of a model; `None` for one that keeps raw vectors.
pub fn hyperplanes(config: &Config) -> Result<Option<Hyperplanes>, EncodeError> {
    let settings = config.settings();
    let kind = match settings.hyperplanes.kind {
        becr_model::HyperplaneKind::Orthogonal => HyperplaneKind::Orthogonal,
        becr_model::HyperplaneKind::Gaussian => HyperplaneKind::Gaussian,
    };
    let draw =
        |bits| Hyperplanes::generate(config.hidden_size, bits, kind, settings.hyperplanes.seed);
    Ok(settings.bits.map(draw).transpose()?)
}

/// Hidden states of a batch: one `tokens × dim` matrix per kept layer.
#[derive(Debug, Clone, PartialEq)]
pub struct HiddenStates {
    /// Length of a hidden state.
    pub dim: usize,
    /// Row-major, in the order of [`Shape::layers`]; rows in the order of [`Batch::ids`].
    pub layers: Vec<Vec<f32>>,
}

impl HiddenStates {
    /// The vector of a token of the batch at the `layer`-th kept layer.
    pub fn vector(&self, layer: usize, token: usize) -> &[f32] {
        &self.layers[layer][token * self.dim..][..self.dim]
    }
}

/// What a model's vectors are seen from, if it has [`Centres`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Centre {
    /// The centre of documents' tokens.
    #[default]
    Documents,
    /// The centre of token groups.
    Groups,
}

impl Centre {
    /// The centre at each of the kept layers; nothing without centres.
    pub fn rows<'a>(self, centres: Option<&'a Centres>, shape: &Shape) -> Vec<&'a [f32]> {
        let Some(centres) = centres else {
            return Vec::new();
        };
        let rows = match self {
            Self::Documents => &centres.documents,
            Self::Groups => &centres.groups,
        };
        let row = |&layer: &usize| &rows[layer * shape.dim..][..shape.dim];
        shape.layers.iter().map(row).collect()
    }
}

/// What to bring back of a batch when the hidden states themselves are not wanted. A span names the tokens
/// of the batch whose mean is taken; a single token is a span of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Which centre vectors are seen from.
    pub centre: Centre,
    /// A footprint of each of these at every kept layer.
    pub footprints: Vec<Range<usize>>,
    /// The vector of each of these at the last kept layer.
    pub vectors: Vec<Range<usize>>,
}

impl Wanted {
    /// Refuses spans that are empty or outside the batch. Every backend calls it first.
    pub fn check(&self, batch: &Batch) -> Result<(), EncodeError> {
        let tokens = batch.tokens();
        match self
            .footprints
            .iter()
            .chain(&self.vectors)
            .find(|span| span.is_empty() || span.end > tokens)
        {
            None => Ok(()),
            Some(&Range { start, end }) => Err(EncodeError::BadSpan { start, end, tokens }),
        }
    }
}

/// Footprints and vectors of the [`Wanted`] spans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Encoded {
    /// `[layers, spans, words]`: all footprints of a layer lie together.
    pub footprints: Vec<u32>,
    /// `[spans, dim]` at the last kept layer.
    pub vectors: Vec<f32>,
}

/// An implementation of the forward pass.
///
/// Memory is bounded by the batch, so callers choose how much to give at once.
pub trait Backend: Send + Sync {
    /// A short name: `native`, `burn`.
    fn name(&self) -> &'static str;

    /// The numbers that the linear layers compute in.
    fn precision(&self) -> Precision {
        Precision::F32
    }

    /// Names what computes, if what it has computed may be kept for others of the same name. Equal names give equal bits
    /// on CPUs, on any machine and in any batch; on GPUs as far as these do.
    fn implementation(&self) -> Option<String> {
        None
    }

    /// Batches that are computed at the same time: one to a thread, unless all go through one device.
    fn side_by_side(&self) -> usize {
        rayon::current_num_threads()
    }

    /// The model's shape.
    fn shape(&self) -> &Shape;

    /// The hyperplanes, `None` for a model that keeps raw vectors.
    fn hyperplanes(&self) -> Option<&Hyperplanes>;

    /// What vectors are seen from; `None` for a model that takes them as they are.
    fn centres(&self) -> Option<&Centres>;

    /// The hidden states of every token at the kept layers, as they are: no centre is subtracted. Layers after the last kept one are not computed.
    fn hidden_states(&self, batch: &Batch) -> Result<HiddenStates, EncodeError>;

    /// Footprints and vectors of chosen spans: what the index needs, and the little that has to leave a device.
    fn encode(&self, batch: &Batch, wanted: &Wanted) -> Result<Encoded, EncodeError>;
}
