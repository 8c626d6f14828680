//! A model with its tokenizer: text in, footprints out.

use crate::{Backend, EncodeError, NativeEncoder, Precision};
use becr_model::{Model, TokenizerFile};
use becr_text::pieces::{TokenizerError, WordPieces};
use std::path::Path;

/// Tokens given to the backend at once unless said otherwise. On CPUs every thread has a batch: this many keep the matrix
/// units busy, and their states stay in the caches (5 % faster than four times as many).
const BATCH_TOKENS: usize = 1024;

/// Encodes documents and token groups with any [`Backend`].
pub struct Encoder {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) pieces: WordPieces,
    pub(crate) batch_tokens: usize,
}

/// Makes the tokenizer of a model.
pub fn word_pieces(file: &TokenizerFile) -> Result<WordPieces, TokenizerError> {
    let name = file.path.display().to_string();
    let json = file.path.extension().is_some_and(|end| end == "json");
    match json {
        true => WordPieces::from_json(&file.bytes, &name),
        false => WordPieces::from_vocab(&file.bytes, &name),
    }
}

impl Encoder {
    /// Opens a model directory for encoding on the CPU, in f32.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, EncodeError> {
        Self::of_model(Model::read(directory)?)
    }

    /// Takes a model for encoding on the CPU, in f32.
    pub fn of_model(model: Model) -> Result<Self, EncodeError> {
        Self::with_precision(model, Precision::F32)
    }

    /// Takes a model for encoding on the CPU in the given precision.
    pub fn with_precision(model: Model, precision: Precision) -> Result<Self, EncodeError> {
        let backend = NativeEncoder::with_precision(&model.config, model.weights, precision)?;
        Self::new(&model.tokenizer, Box::new(backend))
    }

    /// Joins a backend and the tokenizer of its model.
    pub fn new(tokenizer: &TokenizerFile, backend: Box<dyn Backend>) -> Result<Self, EncodeError> {
        Ok(Self {
            backend,
            pieces: word_pieces(tokenizer)?,
            batch_tokens: BATCH_TOKENS,
        })
    }

    /// Sets how many tokens the backend gets at once; devices want more than CPUs. Results do not depend on it.
    #[must_use]
    pub fn with_batch_tokens(mut self, tokens: usize) -> Self {
        self.batch_tokens = tokens.max(1);
        self
    }

    /// How many tokens the backend gets at once.
    pub fn batch_tokens(&self) -> usize {
        self.batch_tokens
    }

    /// What computes.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The tokenizer.
    pub fn word_pieces(&self) -> &WordPieces {
        &self.pieces
    }

    /// `[CLS]`, the given WordPieces, `[SEP]`.
    pub(crate) fn sequence(&self, ids: &[u32]) -> impl Iterator<Item = u32> {
        let special = self.pieces.special;
        std::iter::once(special.cls)
            .chain(ids.iter().copied())
            .chain([special.sep])
    }
}
