//! Documents, from wherever they come.

use serde::{Deserialize, Serialize};

/// A document to index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Its name: what results, runs and judgements call it. An index has a name once.
    pub id: String,
    /// Title; may be empty.
    pub title: String,
    /// Text; may be empty.
    pub text: String,
    /// Named numbers, such as `pagerank`: they count where the ranking head has a weight for the name.
    pub features: Vec<(String, f32)>,
}

impl Document {
    /// A document without features.
    pub fn new(id: impl Into<String>, title: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            text: text.into(),
            features: Vec::new(),
        }
    }
}

/// Why a source of documents failed: whatever it said.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// What an iterator of documents may give: a document, or a result of one, whose error ends the work.
pub trait IntoDocument {
    /// The document, or why there is none.
    fn into_document(self) -> Result<Document, SourceError>;
}

impl IntoDocument for Document {
    fn into_document(self) -> Result<Document, SourceError> {
        Ok(self)
    }
}

impl<D: IntoDocument, E: Into<SourceError>> IntoDocument for Result<D, E> {
    fn into_document(self) -> Result<Document, SourceError> {
        self.map_err(Into::into)?.into_document()
    }
}
