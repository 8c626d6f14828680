//! Words of a query that no document has, and words nearly like them that some have.

use crate::{Error, View};
use becr_store::{StoreContents, Table};
use becr_text::lexical::Analyzer;
use becr_text::words::words;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Shorter words have too many neighbours for a guess.
const SHORTEST: usize = 4;

/// A word that no document has, and what may have been meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The word of the query.
    pub word: String,
    /// The word that differs from it by one letter and is in the most documents.
    pub instead: String,
}

impl View {
    /// For each word of a query that no document has, the most frequent one that differs by one letter: one too many, one too
    /// few, another one, or two that changed places. Nothing is replaced. Reads all words of the index if there is such a word,
    /// nothing otherwise.
    pub fn suggestions(&self, query: &str) -> Result<Vec<Suggestion>, Error> {
        let snapshot = self.snapshot()?;
        // A cluster would have to send all of its words.
        let Some(store) = snapshot.embedded() else {
            return Ok(Vec::new());
        };
        let analyzer = Analyzer::default();
        let frequency = |word: &str| -> Result<u64, Error> {
            let stem = store.stem(&analyzer.stem(word))?.frequency;
            Ok(u64::from(stem.title) + u64::from(stem.body))
        };
        let mut unknown: Vec<(String, Vec<char>)> = Vec::new();
        for word in words(query) {
            let letters: Vec<char> = word.text.chars().collect();
            let is_word = letters.len() >= SHORTEST && letters.iter().all(|c| c.is_alphabetic());
            if is_word
                && unknown.iter().all(|(known, _)| *known != word.text)
                && frequency(&word.text)? == 0
            {
                unknown.push((word.text, letters));
            }
        }
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        let mut near: HashMap<usize, Vec<String>> = HashMap::new();
        store.scan(Table::Spellings, &mut |_, spelling| {
            if let Ok(spelling) = std::str::from_utf8(spelling) {
                for (place, (_, letters)) in unknown.iter().enumerate() {
                    if spelling.len().abs_diff(unknown[place].0.len()) <= 4
                        && is_one_off(letters, &spelling.chars().collect::<Vec<_>>())
                    {
                        near.entry(place).or_default().push(spelling.to_owned());
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        let mut suggestions = Vec::new();
        for (place, (word, _)) in unknown.into_iter().enumerate() {
            let mut best: Option<(u64, String)> = None;
            for spelling in near.remove(&place).unwrap_or_default() {
                // Words of documents that were deleted stay listed.
                let count = frequency(&spelling)?;
                let is_better = match &best {
                    None => count > 0,
                    Some((most, known)) => count > *most || (count == *most && spelling < *known),
                };
                if is_better {
                    best = Some((count, spelling));
                }
            }
            suggestions.extend(best.map(|(_, instead)| Suggestion { word, instead }));
        }
        Ok(suggestions)
    }
}

/// Whether two words differ by one letter, or by two neighbours that changed places.
fn is_one_off(a: &[char], b: &[char]) -> bool {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    match (a.len(), b.len()) {
        (0, 0) => false,
        (x, y) if x == y => {
            a[1..] == b[1..] || (x >= 2 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..])
        }
        (x, y) if x == y + 1 => a[1..] == *b,
        (x, y) if x + 1 == y => *a == b[1..],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_letter_makes_the_difference() {
        let off = |a: &str, b: &str| {
            let letters = |word: &str| word.chars().collect::<Vec<char>>();
            let found = is_one_off(&letters(a), &letters(b));
            assert_eq!(found, is_one_off(&letters(b), &letters(a)), "{a} {b}");
            found
        };
        for (a, b) in [
            ("bread", "bred"),
            ("bread", "broad"),
            ("bread", "braed"),
            ("bread", "breads"),
            ("über", "uber"),
            ("ab", "ba"),
        ] {
            assert!(off(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("bread", "bread"),
            ("bread", "brd"),
            ("bread", "daerb"),
            ("", "ab"),
        ] {
            assert!(!off(a, b), "{a} {b}");
        }
    }
}
