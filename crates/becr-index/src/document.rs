//! Documents, from wherever they come.

pub use becr_basics::Document;

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
