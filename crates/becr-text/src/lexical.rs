//! The lexical side: stop words and stems.
//!
//! BM25, TF-IDF and proximity look at stems (Snowball's English stemmer) of words. Stop words keep
//! their positions, so that the distance between two words is what a reader would count.

use crate::words::{Scanner, Span};
use rust_stemmers::{Algorithm, Stemmer};

/// True if `word` (lower-cased, as [`crate::words`] gives it) is an English function word, or a
/// fragment that splitting at an apostrophe leaves of one ("don't" is "don" and "t").
///
/// ```
/// assert!(becr_text::lexical::is_stop_word("the"));
/// assert!(!becr_text::lexical::is_stop_word("theory"));
/// ```
pub fn is_stop_word(word: &str) -> bool {
    word.len() <= LONGEST_STOP_WORD && STOP_WORDS.binary_search(&word).is_ok()
}

/// Turns words into stems.
pub struct Analyzer {
    stemmer: Stemmer,
}

/// A stem and where its word stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stem {
    /// The stem.
    pub text: String,
    /// The word's position: stop words count.
    pub position: usize,
    /// The word's place in the text.
    pub span: Span,
}

impl Default for Analyzer {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
        }
    }
}

impl Analyzer {
    /// The stem of one word.
    pub fn stem<'a>(&self, word: &'a str) -> std::borrow::Cow<'a, str> {
        self.stemmer.stem(word)
    }

    /// The stems of `text` without its stop words, positions counted over all words.
    ///
    /// ```
    /// let stems: Vec<String> =
    ///     becr_text::lexical::Analyzer::default().stems("The ranking of pages").map(|s| s.text).collect();
    /// assert_eq!(stems, ["rank", "page"]);
    /// ```
    pub fn stems<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Stem> + 'a {
        let mut scanner = Scanner::new(text);
        let mut word = String::new();
        let mut next = 0;
        std::iter::from_fn(move || {
            loop {
                let span = scanner.next_into(&mut word)?;
                let position = next;
                next += 1;
                if !is_stop_word(&word) {
                    return Some(Stem {
                        text: self.stem(&word).into_owned(),
                        position,
                        span,
                    });
                }
            }
        })
    }

    /// The stems a query is searched with: its stop words are left out, unless it has nothing else.
    pub fn query_stems(&self, query: &str) -> Vec<Stem> {
        let stems: Vec<Stem> = self.stems(query).collect();
        if !stems.is_empty() {
            return stems;
        }
        crate::words::words(query)
            .enumerate()
            .map(|(position, word)| Stem {
                text: self.stem(&word.text).into_owned(),
                position,
                span: word.span,
            })
            .collect()
    }
}

const LONGEST_STOP_WORD: usize = 10;

/// Function words: articles, pronouns, auxiliaries, prepositions, conjunctions, adverbs without a
/// topic of their own, and the fragments of contractions. Sorted, for the binary search.
const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "above",
    "after",
    "again",
    "against",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "are",
    "aren",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "can",
    "cannot",
    "could",
    "couldn",
    "d",
    "did",
    "didn",
    "do",
    "does",
    "doesn",
    "doing",
    "don",
    "down",
    "during",
    "each",
    "either",
    "etc",
    "few",
    "for",
    "from",
    "further",
    "had",
    "hadn",
    "has",
    "hasn",
    "have",
    "haven",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "isn",
    "it",
    "its",
    "itself",
    "just",
    "ll",
    "m",
    "may",
    "me",
    "might",
    "more",
    "most",
    "must",
    "my",
    "myself",
    "neither",
    "no",
    "nor",
    "not",
    "of",
    "off",
    "on",
    "once",
    "only",
    "onto",
    "or",
    "other",
    "our",
    "ours",
    "ourselves",
    "out",
    "over",
    "own",
    "re",
    "s",
    "same",
    "shall",
    "she",
    "should",
    "shouldn",
    "so",
    "some",
    "such",
    "t",
    "than",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "themselves",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "thus",
    "to",
    "too",
    "under",
    "until",
    "up",
    "upon",
    "us",
    "ve",
    "very",
    "was",
    "wasn",
    "we",
    "were",
    "weren",
    "what",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "within",
    "without",
    "would",
    "wouldn",
    "you",
    "your",
    "yours",
    "yourself",
    "yourselves",
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_list_is_sorted_and_short() {
        assert!(STOP_WORDS.is_sorted_by(|a, b| a < b));
        assert_eq!(
            STOP_WORDS.iter().map(|w| w.len()).max(),
            Some(LONGEST_STOP_WORD)
        );
    }

    #[test]
    fn stop_words_keep_their_positions() {
        let stems: Vec<(String, usize)> = Analyzer::default()
            .stems("The cats of Rome weren't running")
            .map(|s| (s.text, s.position))
            .collect();
        assert_eq!(
            stems,
            [("cat".into(), 1), ("rome".into(), 3), ("run".into(), 6)]
        );
    }

    #[test]
    fn a_query_of_stop_words_is_searched_with_them() {
        let analyzer = Analyzer::default();
        let texts = |q| {
            analyzer
                .query_stems(q)
                .into_iter()
                .map(|s| s.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(texts("The Who"), ["the", "who"]);
        assert_eq!(texts("the band"), ["band"]);
        assert!(texts("?!").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_analysed(text in any::<String>()) {
            let analyzer = Analyzer::default();
            let count = crate::words::words(&text).count();
            for stem in analyzer.stems(&text) {
                prop_assert!(stem.position < count);
                prop_assert!(!stem.text.is_empty());
            }
        }
    }
}
