//! Collection statistics, exact under every change.

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
    pub(crate) const BYTES: usize = 8;

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (title, rest) = bytes.split_first_chunk()?;
        let body = rest.first_chunk()?;
        Some(Self {
            title: u32::from_le_bytes(*title),
            body: u32::from_le_bytes(*body),
        })
    }

    pub(crate) fn bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.title.to_le_bytes());
        bytes[4..].copy_from_slice(&self.body.to_le_bytes());
        bytes
    }

    /// The frequency after a change; never below nothing.
    pub(crate) fn changed(self, change: Change) -> Self {
        Self {
            title: self.title.saturating_add_signed(change.title),
            body: self.body.saturating_add_signed(change.body),
        }
    }
}

/// A change of a document frequency.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Change {
    pub(crate) title: i32,
    pub(crate) body: i32,
}

impl Change {
    pub(crate) fn add(&mut self, field: Field, by: i32) {
        match field {
            Field::Title => self.title += by,
            Field::Body => self.body += by,
        }
    }

    pub(crate) fn is_nothing(self) -> bool {
        self.title == 0 && self.body == 0
    }
}

/// A part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Title,
    Body,
}

/// A stem's entry: its document frequencies, then the numbers of the words that have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StemEntry {
    pub(crate) frequency: DocumentFrequency,
    pub(crate) words: Vec<u32>,
}

impl StemEntry {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let frequency = DocumentFrequency::read(bytes)?;
        let (words, rest) = bytes[DocumentFrequency::BYTES..].as_chunks();
        let words = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
        rest.is_empty().then_some(Self { frequency, words })
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
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
    fn entries_round_trip() {
        let entry = StemEntry {
            frequency: DocumentFrequency {
                title: 3,
                body: 70_000,
            },
            words: vec![1, 9, 1 << 30],
        };
        assert_eq!(StemEntry::read(&entry.bytes()), Some(entry.clone()));
        assert_eq!(StemEntry::read(&entry.bytes()[..9]), None);
        assert_eq!(StemEntry::read(&[]), None);
    }
}
