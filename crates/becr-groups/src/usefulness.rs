//! Which groups to keep when there is not room for all.
//!
//! A group is worth the vectors that queries will use of it, per byte that it takes. What queries ask is
//! known from a log, if there is one, and guessed from the documents otherwise: a group that many
//! documents have is asked for more often. A group has one useful vector for each of its words that is
//! no stop word, because stop words have no deep term of their own: "bank of" serves "bank" only, and
//! "of the" serves nobody, except in a query of nothing but stop words.

use crate::file::is_pair;
use becr_text::lexical::is_stop_word;

/// What the records of groups take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct RecordBytes {
    /// A word or a WordPiece: one vector.
    pub unigram: u64,
    /// A pair: two vectors.
    pub pair: u64,
}

impl RecordBytes {
    /// Footprints of `bits` bits at `layers` layers, and `overhead` bytes for a record's key and frame.
    pub fn new(layers: u64, bits: u64, overhead: u64) -> Self {
        let vector = layers * bits.div_ceil(8);
        Self {
            unigram: vector + overhead,
            pair: 2 * vector + overhead,
        }
    }

    /// What the record of this key takes.
    pub fn of(&self, key: &str) -> u64 {
        match is_pair(key) {
            true => self.pair,
            false => self.unigram,
        }
    }
}

/// Orders groups by use per byte: by what the log says, then by what the documents say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Usefulness {
    asked: u128,
    expected: u128,
}

impl Usefulness {
    /// Of a group in `documents` documents that was asked for in `asked` queries.
    pub(crate) fn new(key: &str, documents: u64, asked: u64, bytes: &RecordBytes) -> Self {
        let useful = key.split(' ').filter(|word| !is_stop_word(word)).count();
        // Only two sizes exist, so multiplying by the other one orders as dividing by one's own.
        let per_byte = match is_pair(key) {
            true => bytes.unigram,
            false => bytes.pair,
        };
        let value = |uses: u64| u128::from(uses) * useful as u128 * u128::from(per_byte);
        Self {
            asked: value(asked),
            expected: value(documents),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_per_byte() {
        let bytes = RecordBytes::new(5, 256, 0);
        assert_eq!((bytes.unigram, bytes.pair), (160, 320));
        let of = |key, documents, asked| Usefulness::new(key, documents, asked, &bytes);
        // Two vectors in twice the bytes.
        assert_eq!(of("rank", 7, 0), of("neural rank", 7, 0));
        assert!(of("rank", 7, 0) > of("the rank", 13, 0));
        assert!(of("the rank", 15, 0) > of("rank", 7, 0));
        assert!(of("rank", 1, 0) > of("of the", 1000, 0));
        // The log comes first.
        assert!(of("neural rank", 0, 1) > of("rank", 1000, 0));
        assert!(of("rank", 3, 2) > of("rank", 2, 2));
    }
}
