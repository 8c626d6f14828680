//! The WordPieces that are always in the store.

/// A WordPiece vocabulary: its pieces in order, without those that no text leads to.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    pieces: Vec<String>,
    special: u64,
    unusable: u64,
}

impl Vocabulary {
    /// Takes the entries of a vocabulary.
    ///
    /// Left out are `[CLS]`, `[SEP]`, `[PAD]`, `[MASK]` and `[unused…]`, which no word is made of, and
    /// entries with white space or control characters, which no word contains. `[UNK]` stays: it stands
    /// for a word with a character that the vocabulary does not have.
    pub fn new<S: Into<String>>(entries: impl IntoIterator<Item = S>) -> Self {
        let mut vocabulary = Self::default();
        for entry in entries {
            let entry = entry.into();
            if is_special(&entry) {
                vocabulary.special += 1;
            } else if entry.is_empty()
                || entry.contains(|c: char| c.is_whitespace() || c.is_control())
            {
                vocabulary.unusable += 1;
            } else {
                vocabulary.pieces.push(entry);
            }
        }
        vocabulary.pieces.sort_unstable();
        vocabulary.pieces.dedup();
        vocabulary
    }

    /// The pieces, sorted.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// Entries left out: special tokens, unused places and what no text leads to.
    pub fn left_out(&self) -> u64 {
        self.special + self.unusable
    }

    /// True if `word` is a single piece.
    pub fn has_word(&self, word: &str) -> bool {
        let found = self
            .pieces
            .binary_search_by(|piece| piece.as_str().cmp(word));
        found.is_ok()
    }
}

fn is_special(entry: &str) -> bool {
    matches!(entry, "[CLS]" | "[SEP]" | "[PAD]" | "[MASK]")
        || entry.starts_with("[unused") && entry.ends_with(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_words_can_be_made_of() {
        let entries = [
            "[PAD]",
            "[unused0]",
            "[UNK]",
            "[CLS]",
            "[MASK]",
            "b",
            "##b",
            "a",
            "!",
            "[",
            "a",
            "x y",
            "",
        ];
        let vocabulary = Vocabulary::new(entries);
        assert_eq!(vocabulary.pieces(), ["!", "##b", "[", "[UNK]", "a", "b"]);
        assert_eq!(vocabulary.left_out(), 6);
        assert!(vocabulary.has_word("a") && !vocabulary.has_word("ab"));
    }
}
