//! Re-ranking in the shape of text-embeddings-inference.

use super::ranking::{Mode, Scorer, Without};
use super::rerank::{ordered, rank, stages};
use super::shapes::{json, relevance};
use crate::error::ApiError;
use crate::openapi::Failures;
use crate::read::{Json, list, text};
use crate::state::State;
use crate::watch::Request;
use axum::Extension;
use axum::extract::State as Shared;
use axum::response::Response;
use becr::TextCandidate;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;
use utoipa::ToSchema;

/// Texts to rank for a query.
#[derive(Deserialize, ToSchema)]
pub(crate) struct TextsRequest {
    query: String,
    #[schema(value_type = Vec<String>)]
    texts: Box<RawValue>,
    /// Scores as they are, in the place of numbers between 0 and 1.
    #[serde(default)]
    raw_scores: bool,
    /// Whether results carry their texts.
    #[serde(default)]
    return_text: bool,
    /// The index; the first unless said otherwise.
    index: Option<String>,
    mode: Option<Mode>,
    scorer: Option<Scorer>,
    /// The weight of the cosine, with the scorer `one-vector`; the head's unless said otherwise.
    weight: Option<f32>,
    /// Parts of the score to leave out.
    without: Option<Without>,
}

/// A ranked text.
#[derive(Serialize, ToSchema)]
pub(crate) struct RankedText {
    /// Its place in the request.
    index: usize,
    score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Where its footprints came from: `encoded` or `cached`.
    path: &'static str,
}

/// Re-rank texts, as text-embeddings-inference has it
#[utoipa::path(post, path = "/rerank", tag = "rerank", request_body = TextsRequest,
    responses((status = 200, body = Vec<RankedText>), Failures))]
pub(crate) async fn rerank(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
    Json(ask): Json<TextsRequest>,
) -> Result<Response, ApiError> {
    state.check_query(&ask.query)?;
    let served = state.index(ask.index.as_deref())?.clone();
    state
        .rank(&request, move |state, waited| {
            let listed = list(&ask.texts, "texts", state.settings.candidates)?;
            let texts = listed.into_iter().enumerate();
            let texts = texts
                .map(|(place, given)| {
                    text(given).ok_or_else(|| {
                        ApiError::invalid(format!("texts[{place}]: it should be a string"))
                    })
                })
                .collect::<Result<Vec<_>, _>>()?;
            let candidates: Vec<TextCandidate<'_>> = texts
                .iter()
                .map(|text| TextCandidate {
                    text: Some(text),
                    ..TextCandidate::default()
                })
                .collect();
            let without = ask.without.as_ref();
            let options = state.ranking(&served, ask.mode, ask.scorer, ask.weight, without)?;
            let ranked = rank(state, &served, &ask.query, &candidates, &options)?;
            let result = |(place, score, path): (usize, Option<f32>, &'static str)| {
                let score = f64::from(score?);
                Some(RankedText {
                    index: place,
                    score: if ask.raw_scores {
                        score
                    } else {
                        relevance(score)
                    },
                    text: ask.return_text.then(|| texts[place].to_string()),
                    path,
                })
            };
            let answer: Vec<RankedText> = ordered(&ranked).filter_map(result).collect();
            json(&answer, stages(&ranked, waited))
        })
        .await
}
