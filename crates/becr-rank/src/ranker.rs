//! The ranker: what is the same for every query.

use crate::mix::Mixing;
use crate::{RankError, lexical};
use becr_footprint::{Engine, Kernels};
use becr_model::{Head, Similarity};
use becr_store::{Documents, Header, Shape};
use becr_text::lexical::Analyzer;
use becr_text::pieces::WordPieces;

/// A head made ready to score the documents of an index. Share it between threads; each thread brings its own
/// snapshot of the store and its own [`RankWorkspace`](crate::RankWorkspace).
pub struct Ranker {
    pub(crate) head: Head,
    pub(crate) shape: Shape,
    pub(crate) pieces: WordPieces,
    pub(crate) engine: Engine,
    pub(crate) kernels: Kernels,
    pub(crate) analyzer: Analyzer,
    /// Place of each of the head's lexical features among those that are computed.
    pub(crate) lexical: Vec<usize>,
    /// Whether one of them takes a look at the words of documents.
    pub(crate) reads_words: bool,
    /// Largest distance of the words of a pair in the lexical features.
    pub(crate) window: usize,
    pub(crate) documents: Documents,
    /// The index has no token groups to compose queries of.
    pub(crate) encoded_only: bool,
    /// What mixes the words of composed queries.
    pub(crate) mixing: Option<Mixing>,
}

impl Ranker {
    /// Joins a head, the shape of an index's records and the tokenizer of its model. The window of lexical pairs is
    /// that of the head's composition weights; [`Ranker::for_store`] takes the index's.
    pub fn new(head: Head, shape: Shape, pieces: WordPieces) -> Result<Self, RankError> {
        if head.layers() != usize::from(shape.layers) {
            return Err(RankError::Layers {
                head: head.layers(),
                index: usize::from(shape.layers),
            });
        }
        if shape.is_relative() && (shape.layers != 1 || shape.vector < 2) {
            return Err(RankError::Relative {
                layers: shape.layers,
                words: shape.vector,
            });
        }
        if head.deep.similarity != Similarity::SumOfCosines {
            return Err(RankError::Similarity);
        }
        let kernels = &head.deep.kernels;
        let kernels = Kernels::new(kernels.mu.clone(), kernels.sigma.clone(), kernels.epsilon)?;
        let place = |feature: &becr_model::Feature| {
            lexical::place(&feature.name).ok_or_else(|| RankError::UnknownFeature {
                name: feature.name.clone(),
                known: lexical::LEXICAL_FEATURES.to_vec(),
            })
        };
        let lexical: Vec<usize> = head.lexical.iter().map(place).collect::<Result<_, _>>()?;
        Ok(Self {
            reads_words: lexical.iter().any(|&place| place != lexical::FIRST_STAGE),
            window: head.deep.composition.pairs.len(),
            head,
            shape,
            pieces,
            engine: Engine::new()?,
            kernels,
            analyzer: Analyzer::default(),
            lexical,
            documents: Documents::Encoded,
            encoded_only: false,
            mixing: None,
        })
    }

    /// Joins a head with the store that has this header; refuses a head of another encoder.
    pub fn for_store(header: &Header, head: Head, pieces: WordPieces) -> Result<Self, RankError> {
        if head.encoder_id != header.encoder_id {
            return Err(RankError::OtherEncoder {
                head: head.encoder_id,
                index: header.encoder_id.clone(),
            });
        }
        Ok(Self {
            window: header.window,
            documents: header.documents,
            ..Self::new(head, header.shape, pieces)?
        })
    }

    /// For an index that was built for encoded queries alone: it has no token groups to compose a query of.
    pub fn encoded_only(self) -> Self {
        Self {
            encoded_only: true,
            ..self
        }
    }

    /// The head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Layers and bits of the records it scores.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The tokenizer.
    pub fn word_pieces(&self) -> &WordPieces {
        &self.pieces
    }

    /// The engine that compares footprints.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The kernels, as the engine has them.
    pub fn kernels(&self) -> &Kernels {
        &self.kernels
    }
}
