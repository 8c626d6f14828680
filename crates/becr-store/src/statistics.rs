//! Collection statistics, exact under every change.

use crate::StemChange;
use serde::{Deserialize, Serialize};

/// Sums over all documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Documents.
    pub documents: u64,
    /// Words of all titles.
    pub title_words: u64,
    /// Words of all bodies.
    pub body_words: u64,
    /// Footprints of all documents: WordPieces, or words of documents that are composed.
    pub tokens: u64,
    /// The number that the next new document gets. Numbers are never used again.
    pub next_document: u64,
    /// The number that the next new word gets.
    pub next_word: u64,
}

/// In how many documents something occurs, by field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentFrequency {
    /// Documents with it in the title.
    pub title: u32,
    /// Documents with it in the body.
    pub body: u32,
}

impl DocumentFrequency {
    const BYTES: usize = 8;

    /// Reads what [`DocumentFrequency::bytes`] wrote; `None` if it cannot be.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (title, rest) = bytes.split_first_chunk()?;
        let body = rest.first_chunk()?;
        Some(Self {
            title: u32::from_le_bytes(*title),
            body: u32::from_le_bytes(*body),
        })
    }

    /// As it is stored.
    pub fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.title.to_le_bytes());
        bytes[4..].copy_from_slice(&self.body.to_le_bytes());
        bytes
    }

    /// The frequency after a change; `None` if it would fall below nothing: then it was wrong before.
    pub fn changed(self, change: FrequencyChange) -> Option<Self> {
        Some(Self {
            title: self.title.checked_add_signed(change.title)?,
            body: self.body.checked_add_signed(change.body)?,
        })
    }
}

/// What is wrong with a count that would fall below nothing.
pub const MISCOUNTED: &str = "it counts fewer documents than are to be taken from it";

/// A change of a document frequency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrequencyChange {
    /// Documents more, or fewer, with it in the title.
    pub title: i32,
    /// The same for the body.
    pub body: i32,
}

impl FrequencyChange {
    /// Counts one document in (`by` = 1) or out (−1).
    pub fn add(&mut self, field: Field, by: i32) {
        match field {
            Field::Title => self.title += by,
            Field::Body => self.body += by,
        }
    }

    /// Whether nothing is left of it.
    pub fn is_nothing(self) -> bool {
        self.title == 0 && self.body == 0
    }
}

/// A part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The title.
    Title,
    /// The text.
    Body,
}

/// A stem in the collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stem {
    /// In how many documents it occurs.
    pub frequency: DocumentFrequency,
    /// The numbers of the words that have it, as forward indexes use them.
    pub words: Vec<u32>,
}

impl Stem {
    /// Reads what [`Stem::bytes`] wrote; `None` if it cannot be.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let frequency = DocumentFrequency::read(bytes)?;
        let (words, rest) = bytes[DocumentFrequency::BYTES..].as_chunks();
        let words = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
        rest.is_empty().then_some(Self { frequency, words })
    }

    /// Counts a change in; `None` if the frequency would fall below nothing.
    pub fn change(&mut self, change: &StemChange) -> Option<()> {
        self.frequency = self.frequency.changed(change.change)?;
        self.words.extend(&change.words);
        Some(())
    }

    /// As it is stored: the document frequencies, then the numbers of the words.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.frequency.bytes().to_vec();
        self.words
            .iter()
            .for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_round_trip() {
        let stem = Stem {
            frequency: DocumentFrequency {
                title: 3,
                body: 70_000,
            },
            words: vec![1, 9, 1 << 30],
        };
        assert_eq!(Stem::read(&stem.bytes()), Some(stem.clone()));
        assert_eq!(Stem::read(&stem.bytes()[..9]), None);
        assert_eq!(Stem::read(&[]), None);
    }
}
