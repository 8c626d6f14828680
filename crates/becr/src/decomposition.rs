//! What a query is taken apart into, and what of it the token store has.

use crate::{Error, View};
use becr_rank::{MAX_QUERY_WORDS, Variant};
use becr_text::groups::{Query, TokenGroup};
use serde::Serialize;

/// A query as token groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueryDecomposition {
    /// Its words, in order.
    pub words: Vec<String>,
    /// Its words and pairs of words, each once.
    pub groups: Vec<DecomposedGroup>,
}

/// A word or a pair of words of a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecomposedGroup {
    /// Its words.
    pub words: Vec<String>,
    /// Whether the token store has it.
    pub found: bool,
    /// What stands in for a word that is missing: those of its WordPieces that the token store has. A missing pair is left
    /// out.
    pub pieces: Vec<String>,
}

impl View {
    /// Takes a query apart and says what of it the token store has.
    pub fn decomposition(&self, query: &str) -> Result<QueryDecomposition, Error> {
        let ranker = self.ranker()?;
        let snapshot = self.snapshot()?;
        let words: Vec<String> = becr_text::words::words(query)
            .map(|word| word.text)
            .take(MAX_QUERY_WORDS)
            .collect();
        let decomposed = Query::from_words(&words, &ranker.decomposition(Variant::Becr));
        let has =
            |group: &TokenGroup| -> Result<bool, Error> { Ok(snapshot.group(group)?.is_some()) };
        let mut groups = Vec::with_capacity(decomposed.groups.len());
        for group in &decomposed.groups {
            let found = has(group)?;
            let mut pieces = Vec::new();
            let words = match group {
                TokenGroup::Unigram(word) => {
                    if !found {
                        for piece in ranker.word_pieces().split_word(word) {
                            if has(&TokenGroup::Unigram(piece.clone()))? {
                                pieces.push(piece);
                            }
                        }
                    }
                    vec![word.clone()]
                }
                TokenGroup::Pair(first, second) => vec![first.clone(), second.clone()],
            };
            groups.push(DecomposedGroup {
                words,
                found,
                pieces,
            });
        }
        Ok(QueryDecomposition { words, groups })
    }
}
