//! What a query is taken apart into, and what of it the token store has.

use crate::{Error, View};
use becr_rank::{MAX_QUERY_WORDS, RankOptions};
use becr_store::{DocumentStore, FetchBuffer, Question};
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
    /// Takes a query apart, as one that is composed, and says what of it the token store has.
    pub fn decomposition(&self, query: &str) -> Result<QueryDecomposition, Error> {
        let ranker = self.ranker()?;
        let snapshot = self.snapshot()?;
        let words: Vec<String> = becr_text::words::words(query)
            .map(|word| word.text)
            .take(MAX_QUERY_WORDS)
            .collect();
        let plan = ranker.plan(&RankOptions::composed())?;
        let decomposed = Query::from_words(&words, &plan.decomposition);
        let split = |word: &str| ranker.word_pieces().split_word(word);
        let question = Question {
            groups: &decomposed.groups,
            pieces: Some(&split),
            ..Question::default()
        };
        let mut buffer = FetchBuffer::default();
        let answer = snapshot.look_up(&question, &mut buffer)?;
        let has_piece = |piece: &String| {
            let mut known = answer.pieces.iter().map(|(group, _)| group);
            known.any(|known| matches!(known, TokenGroup::Unigram(word) if word == piece))
        };
        let group = |(group, record): (&TokenGroup, &Option<_>)| {
            let (words, pieces) = match group {
                TokenGroup::Pair(first, second) => {
                    (vec![first.clone(), second.clone()], Vec::new())
                }
                TokenGroup::Unigram(word) if record.is_some() => (vec![word.clone()], Vec::new()),
                TokenGroup::Unigram(word) => {
                    let mut pieces = split(word);
                    pieces.retain(has_piece);
                    (vec![word.clone()], pieces)
                }
            };
            DecomposedGroup {
                words,
                found: record.is_some(),
                pieces,
            }
        };
        let groups = decomposed.groups.iter().zip(&answer.groups);
        let groups = groups.map(group).collect();
        Ok(QueryDecomposition { words, groups })
    }
}
