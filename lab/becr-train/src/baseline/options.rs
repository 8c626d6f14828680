//! What can be chosen about a baseline.

use crate::EncoderMode;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Which model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineKind {
    /// Kernels over the cosines of word vectors.
    Knrm,
    /// The same over vectors of word n-grams.
    ConvKnrm,
    /// A cross-encoder: a linear layer on `[CLS]`.
    Bert,
    /// Kernels over all layers of a cross-encoder, joined with `[CLS]`.
    CedrKnrm,
    /// Late interaction: the best match of every query token, added up.
    Colbert,
}

impl BaselineKind {
    /// Whether it reads words by a table of vectors, and so needs no encoder.
    pub fn reads_words(self) -> bool {
        matches!(self, Self::Knrm | Self::ConvKnrm)
    }
}

impl fmt::Display for BaselineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Knrm => "KNRM",
            Self::ConvKnrm => "CONV-KNRM",
            Self::Bert => "BERT",
            Self::CedrKnrm => "CEDR-KNRM",
            Self::Colbert => "ColBERT",
        })
    }
}

/// A baseline to train: the section `[baseline]`. The defaults are those of the papers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineConfig {
    /// Which model.
    pub kind: BaselineKind,
    /// Whether the encoder learns too. What a frozen one makes of texts is computed once and kept in memory.
    #[serde(default = "encoder", skip_serializing_if = "is_trained")]
    pub encoder: EncoderMode,
    /// Word vectors of KNRM and CONV-KNRM, in GloVe's format or in word2vec's, text or binary. Without a file they are
    /// learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<PathBuf>,
    /// Whether word vectors stay as they are; by default those of a file do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_vectors: Option<bool>,
    /// Length of learned word vectors.
    #[serde(default = "dimensions")]
    pub dimensions: usize,
    /// At most so many words have a vector: the first of a file, the most frequent of the training documents.
    #[serde(default = "max_words")]
    pub max_words: usize,
    /// CONV-KNRM's n-grams have 1 … so many words.
    #[serde(default = "ngrams")]
    pub ngrams: usize,
    /// Filters of each of CONV-KNRM's convolutions.
    #[serde(default = "filters")]
    pub filters: usize,
    /// Length of ColBERT's projected vectors.
    #[serde(default = "projection")]
    pub projection: usize,
    /// Whether BERT has a pooler (a layer with tanh) before the linear layer. With one, the directory is a Hugging Face
    /// sequence classifier, which `becr rerank --cross-encoder` takes as well; the paper has none.
    #[serde(default)]
    pub pooler: bool,
    /// Queries are cut after so many words or WordPieces; ColBERT's are filled up to it with `[MASK]`.
    #[serde(default = "query_tokens")]
    pub query_tokens: usize,
    /// Documents are cut after so many words or WordPieces. What does not fit into one sequence is split evenly.
    #[serde(default = "max_document_tokens")]
    pub max_document_tokens: usize,
    /// In training and validation they are cut after so many instead, which is faster; as above if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train_document_tokens: Option<usize>,
    /// The directory of a trained baseline of this kind to go on from: its encoder or words, and what it learned
    /// beside them. `[model] base` then only names the tokenizer's model for an index of the training's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<PathBuf>,
}

fn encoder() -> EncoderMode {
    EncoderMode::Trained
}

fn is_trained(encoder: &EncoderMode) -> bool {
    *encoder == EncoderMode::Trained
}

fn dimensions() -> usize {
    300
}

fn max_words() -> usize {
    400_000
}

fn ngrams() -> usize {
    3
}

fn filters() -> usize {
    128
}

fn projection() -> usize {
    128
}

fn query_tokens() -> usize {
    32
}

fn max_document_tokens() -> usize {
    800
}

impl BaselineConfig {
    /// The defaults of a kind.
    pub fn new(kind: BaselineKind) -> Self {
        Self {
            kind,
            encoder: encoder(),
            vectors: None,
            fixed_vectors: None,
            dimensions: dimensions(),
            max_words: max_words(),
            ngrams: ngrams(),
            filters: filters(),
            projection: projection(),
            pooler: false,
            query_tokens: query_tokens(),
            max_document_tokens: max_document_tokens(),
            train_document_tokens: None,
            from: None,
        }
    }

    /// As it is in training: documents may be cut earlier.
    pub(crate) fn in_training(&self) -> Self {
        let cut = self.train_document_tokens.unwrap_or(usize::MAX);
        Self {
            max_document_tokens: self.max_document_tokens.min(cut),
            ..self.clone()
        }
    }

    /// Whether word vectors stay as they are.
    pub(crate) fn keeps_vectors(&self) -> bool {
        self.fixed_vectors.unwrap_or(self.vectors.is_some())
    }

    /// Whether nothing is learned but what comes behind the encoder, or behind KNRM's kernels.
    pub(crate) fn is_frozen(&self) -> bool {
        match self.kind {
            BaselineKind::Knrm => self.keeps_vectors(),
            BaselineKind::ConvKnrm => false,
            _ => self.encoder == EncoderMode::Frozen,
        }
    }

    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value, most) in [
            ("dimensions", self.dimensions, 4096),
            ("max_words", self.max_words, 10_000_000),
            ("ngrams", self.ngrams, 8),
            ("filters", self.filters, 4096),
            ("projection", self.projection, 4096),
            ("query_tokens", self.query_tokens, 512),
            ("max_document_tokens", self.max_document_tokens, 1_000_000),
            (
                "train_document_tokens",
                self.train_document_tokens.unwrap_or(1),
                1_000_000,
            ),
        ] {
            if !(1..=most).contains(&value) {
                return Err(format!(
                    "[baseline] {name}: expected 1 to {most}, found {value}"
                ));
            }
        }
        let kind = self.kind;
        if self.encoder == EncoderMode::Frozen && kind.reads_words() {
            return Err(format!(
                "[baseline] encoder: {kind} has none; fixed_vectors = true keeps its word vectors as they are"
            ));
        }
        if self.vectors.is_some() && !kind.reads_words() {
            return Err(format!(
                "[baseline] vectors: {kind} has no table of word vectors; leave it out"
            ));
        }
        if self.vectors.is_some() && self.from.is_some() {
            return Err("[baseline] vectors: those of the baseline in `from` are kept; leave one of them out".into());
        }
        if self.pooler && kind != BaselineKind::Bert {
            return Err(format!("[baseline] pooler: {kind} has none; leave it out"));
        }
        Ok(())
    }
}
