//! What several routes have in their requests and answers.

use crate::error::ApiError;
use crate::watch::Stages;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use becr::GroupCoverage;
use becr_rank::ContributionRow;
use serde::Serialize;
use std::ops::Range;
use utoipa::ToSchema;

/// A score by its three parts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PartsBody {
    /// S_deep.
    pub(crate) deep: f64,
    /// S_lexi.
    pub(crate) lexi: f64,
    /// S_others.
    pub(crate) others: f64,
}

/// A contribution to a score.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RowBody {
    /// The part of the score: `deep`, `lexi` or `others`.
    pub(crate) part: &'static str,
    /// The query term or feature.
    pub(crate) name: String,
    /// What it adds.
    pub(crate) contribution: f64,
}

impl From<&ContributionRow> for RowBody {
    fn from(row: &ContributionRow) -> Self {
        Self {
            part: row.part.name(),
            name: row.name.clone(),
            contribution: row.contribution,
        }
    }
}

/// How much of a query the token store has.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CoverageBody {
    pub(crate) words: usize,
    pub(crate) words_found: usize,
    pub(crate) pairs: usize,
    pub(crate) pairs_found: usize,
}

impl From<GroupCoverage> for CoverageBody {
    fn from(coverage: GroupCoverage) -> Self {
        Self {
            words: coverage.words,
            words_found: coverage.words_found,
            pairs: coverage.pairs,
            pairs_found: coverage.pairs_found,
        }
    }
}

/// A piece of a text: the pieces of a passage one after the other are the passage.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct PieceBody {
    pub(crate) text: String,
    /// How strongly the word matches the query, from 0 to 1: how far it stands out from the average word of the document.
    /// Absent where nothing matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strength: Option<f32>,
    /// The query term it matches best, by its place in `terms`; absent in search results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) term: Option<usize>,
}

/// Cuts a text into words that match and what is between them. Clients need not count bytes.
pub(crate) fn pieces(
    text: &str,
    words: impl Iterator<Item = (Range<usize>, f32, Option<usize>)>,
) -> Vec<PieceBody> {
    let plain = |range: Range<usize>| PieceBody {
        text: text.get(range).unwrap_or_default().to_owned(),
        strength: None,
        term: None,
    };
    let mut pieces = Vec::new();
    let mut end = 0;
    for (word, strength, term) in words {
        if strength <= 0.0 || word.start < end {
            continue;
        }
        if word.start > end {
            pieces.push(plain(end..word.start));
        }
        end = word.end;
        pieces.push(PieceBody {
            strength: Some((strength * 1000.0).round() / 1000.0),
            term,
            ..plain(word)
        });
    }
    if end < text.len() {
        pieces.push(plain(end..text.len()));
    }
    pieces
}

/// A score as a number between 0 and 1, in the same order: the logistic function.
pub(crate) fn relevance(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// An answer as JSON; written by the thread that made it.
pub(crate) fn json(
    answer: &impl Serialize,
    stages: Vec<(&'static str, f64)>,
) -> Result<Response, ApiError> {
    let body = serde_json::to_vec(answer).map_err(|error| ApiError::internal(error.to_string()))?;
    let mut response = Response::new(Body::from(body));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response.extensions_mut().insert(Stages(stages));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text_again() {
        let text = "Größe, ja: größer";
        let words = [
            (0..7, 0.9, Some(0)),
            (9..11, 0.0, None),
            (13..text.len(), 0.6, Some(1)),
        ];
        let cut = pieces(text, words.into_iter());
        let joined: String = cut.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(joined, text);
        let marked: Vec<&str> = cut
            .iter()
            .filter(|piece| piece.strength.is_some())
            .map(|piece| piece.text.as_str())
            .collect();
        assert_eq!(marked, ["Größe", "größer"]);
    }

    #[test]
    fn relevance_keeps_the_order() {
        let scores = [-900.0, -30.0, -0.5, 0.0, 0.001, 12.0, 30.0];
        assert!(scores.map(relevance).is_sorted_by(|a, b| a < b));
        assert!(
            scores
                .map(relevance)
                .iter()
                .all(|score| (0.0..=1.0).contains(score))
        );
    }
}
