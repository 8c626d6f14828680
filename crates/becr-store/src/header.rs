//! What a store is bound to.

use crate::Shape;
use serde::{Deserialize, Serialize};

/// Version of the tables and of the records in them.
pub const FORMAT: u32 = 3;

/// What a store was made for, and with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the tables.
    pub format: u32,
    /// Identity of encoder, tokenizer, layers, bits and hyperplanes.
    pub encoder_id: String,
    /// Layers and bits of every record.
    pub shape: Shape,
    /// Largest distance of the words of a pair.
    pub window: usize,
    /// Where the documents' footprints come from.
    #[serde(default)]
    pub documents: Documents,
}

/// Where the footprints of documents come from. A store has one kind only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Documents {
    /// The encoder read them: a footprint for each WordPiece.
    #[default]
    Encoded,
    /// The paper's “tokens for Q&D”: composed from the token groups in the store, a footprint for each word.
    Composed,
    /// There are none: the encoder read the documents, and of each only its mean vector is kept. For collections that are
    /// too large for footprints of every token.
    Vectors,
}

impl Documents {
    /// As JSON has it: `encoded`, `composed`, `vectors`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Encoded => "encoded",
            Self::Composed => "composed",
            Self::Vectors => "vectors",
        }
    }
}

impl Header {
    /// A header of the current format.
    pub fn new(encoder_id: impl Into<String>, shape: Shape, window: usize) -> Self {
        Self {
            format: FORMAT,
            encoder_id: encoder_id.into(),
            shape,
            window,
            documents: Documents::default(),
        }
    }
}
