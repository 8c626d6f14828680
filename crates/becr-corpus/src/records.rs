//! What every format's reader offers.

use crate::error::{Fault, Place};
use becr_basics::Document;

/// A document and where it stood, so that later faults (a duplicate id) can name the line.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) place: Place,
    /// The document, or the rule by which the record holds none.
    pub(crate) content: Content,
    /// The encoding that the text was converted from.
    pub(crate) converted: Option<&'static str>,
    /// A hash of the file's bytes, where the file is one document and has any.
    pub(crate) bytes: Option<u128>,
}

/// What a record holds.
#[derive(Debug)]
pub(crate) enum Content {
    Document(Document),
    /// Nothing to index, and nothing wrong: why, in a few words.
    LeftOut(&'static str),
}

impl Found {
    pub(crate) fn line(line: u64, document: Document) -> Self {
        Self {
            place: Place::Line(line),
            content: Content::Document(document),
            converted: None,
            bytes: None,
        }
    }
}

/// Documents of one input. After a fault the next call goes on with the next document, or ends if nothing more can be read.
pub(crate) trait Records: Send {
    fn next(&mut self) -> Option<Result<Found, Fault>>;
}
