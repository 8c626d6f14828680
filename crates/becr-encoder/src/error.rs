//! Why something could not be encoded.

/// An error of the encoder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A sequence is longer than the model has positions.
    #[error(
        "sequence {sequence} has {tokens} tokens, but the model has {max} positions; cut it into pieces"
    )]
    TooLong {
        /// Which sequence of the batch.
        sequence: usize,
        /// Its length, `[CLS]` and `[SEP]` included.
        tokens: usize,
        /// `max_position_embeddings` of the model.
        max: usize,
    },
    /// A sequence without a single token.
    #[error("sequence {sequence} is empty; even an empty text is [CLS] [SEP]")]
    EmptySequence {
        /// Which sequence of the batch.
        sequence: usize,
    },
    /// A token id outside the vocabulary.
    #[error(
        "sequence {sequence} has token id {id}, but the vocabulary has {vocabulary} entries; the tokenizer belongs to another model"
    )]
    UnknownToken {
        /// Which sequence of the batch.
        sequence: usize,
        /// The id.
        id: u32,
        /// `vocab_size` of the model.
        vocabulary: usize,
    },
    /// A span that names no token, or tokens that are not in the batch.
    #[error("span {start}..{end} is empty or outside the batch of {tokens} tokens")]
    BadSpan {
        /// First token.
        start: usize,
        /// One past the last token.
        end: usize,
        /// Tokens of the batch.
        tokens: usize,
    },
    /// Footprints were asked of a model that keeps raw vectors.
    #[error("the model keeps raw vectors (`becr.bits` is null), so it has no footprints")]
    RawVectors,
    /// A group's word or piece has no WordPieces, for example because it is punctuation or empty.
    #[error("{text:?} is not a word or WordPiece that can be encoded by itself")]
    NotAWord {
        /// The text given.
        text: String,
    },
    /// The model's configuration does not fit this encoder.
    #[error("the model does not fit: {0}")]
    Config(String),
    /// The model could not be read.
    #[error(transparent)]
    Model(#[from] becr_model::ModelError),
    /// The model's tokenizer could not be opened.
    #[error(transparent)]
    Tokenizer(#[from] becr_text::pieces::TokenizerError),
    /// Hyperplanes or footprints of an impossible size.
    #[error(transparent)]
    Footprint(#[from] becr_footprint::Error),
    /// A name in `BECR_SIMD` that is unknown, or that this processor cannot run.
    #[error("BECR_SIMD={name}: {problem}; use avx512, avx2, neon or portable")]
    Simd {
        /// The name given.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Another backend failed: a device was lost, a kernel did not compile.
    #[error("{backend}: {problem}")]
    Backend {
        /// The backend's name.
        backend: &'static str,
        /// What it said.
        problem: String,
    },
}
