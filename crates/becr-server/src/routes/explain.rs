//! Why a document has its score, and why another has less.

use super::ranking::{FindBy, Mode, Scorer, Without};
use super::shapes::{CoverageBody, PartsBody, PieceBody, RowBody, json, pieces, relevance};
use crate::error::ApiError;
use crate::openapi::Failures;
use crate::read::{Json, Query, few};
use crate::state::{Served, State};
use crate::watch::Request;
use axum::Extension;
use axum::extract::State as Shared;
use axum::response::Response;
use becr::{ExplainOptions, ExplainedDocument};
use becr_rank::{ShadedWord, WordPart};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};
use utoipa::{IntoParams, ToSchema};

/// The most documents of a request.
const DOCUMENTS: usize = 10;

/// Which scores to take apart.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainRequest {
    query: String,
    /// Ids; of two documents the difference is told too.
    #[schema(min_items = 1, max_items = 10)]
    #[serde(deserialize_with = "few::<DOCUMENTS, _>")]
    documents: Vec<String>,
    /// The index; the first unless said otherwise.
    index: Option<String>,
    /// How many candidates the search had that is to be explained.
    #[schema(minimum = 1)]
    depth: Option<usize>,
    mode: Option<Mode>,
    /// By what it found documents; by both unless said otherwise.
    candidates: Option<FindBy>,
    scorer: Option<Scorer>,
    /// The weight of the cosine, with the scorer `one-vector`; the head's unless said otherwise.
    weight: Option<f32>,
    /// Parts of the score to leave out.
    without: Option<Without>,
}

/// The same in an address.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExplainParams {
    #[serde(alias = "q")]
    query: String,
    /// The id of a document.
    id: String,
    /// The id of another, to tell the difference.
    other: Option<String>,
    /// The index; the first unless said otherwise.
    index: Option<String>,
    /// How many candidates the search had that is to be explained.
    #[param(minimum = 1)]
    depth: Option<usize>,
    mode: Option<Mode>,
    /// By what it found documents; by both unless said otherwise.
    candidates: Option<FindBy>,
    scorer: Option<Scorer>,
    /// The weight of the cosine, with the scorer `one-vector`; the head's unless said otherwise.
    weight: Option<f32>,
    /// Parts of the score to leave out.
    #[param(style = Form, explode = false)]
    without: Option<Without>,
}

/// Scores taken apart.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExplainBody {
    query: String,
    index: String,
    /// The state of the index.
    generation: String,
    mode: Mode,
    /// Words of the query with a deep term.
    terms: Vec<TermBody>,
    coverage: CoverageBody,
    /// As they were asked for.
    documents: Vec<ExplainedBody>,
    /// What makes the first score differ from the second, if there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<DifferenceBody>,
}

/// A word of the query and what it is composed of.
#[derive(Serialize, ToSchema)]
pub(crate) struct TermBody {
    word: String,
    /// Its weight in the query.
    weight: f32,
    /// Token groups with their weights, which sum to 1.
    groups: Vec<WeightBody>,
}

/// A token group of a term.
#[derive(Serialize, ToSchema)]
pub(crate) struct WeightBody {
    group: String,
    weight: f32,
}

/// A score taken apart.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExplainedBody {
    id: String,
    /// Rank among the candidates; absent if it is none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_stage_rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning_rank: Option<usize>,
    score: f64,
    relevance_score: f64,
    parts: PartsBody,
    /// They sum to the score.
    rows: Vec<RowBody>,
    /// The title, with words that match.
    title: Vec<PieceBody>,
    /// The text, with words that match; empty if the index keeps no texts.
    text: Vec<PieceBody>,
}

/// A difference of scores.
#[derive(Serialize, ToSchema)]
pub(crate) struct DifferenceBody {
    /// First less second.
    score: f64,
    /// They sum to it.
    rows: Vec<RowBody>,
    /// The parts deep and lexi by word of the query, as far as they are made of words.
    words: Vec<WordBody>,
}

/// What a word of the query adds to a difference of scores.
#[derive(Serialize, ToSchema)]
pub(crate) struct WordBody {
    word: String,
    /// By words that are close to it.
    deep: f64,
    /// By itself.
    lexi: f64,
}

/// Take scores apart
#[utoipa::path(get, path = "/explain", tag = "search", params(ExplainParams),
    responses((status = 200, body = ExplainBody), Failures))]
pub(crate) async fn get(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
    Query(ask): Query<ExplainParams>,
) -> Result<Response, ApiError> {
    let ask = ExplainRequest {
        query: ask.query,
        documents: [Some(ask.id), ask.other].into_iter().flatten().collect(),
        index: ask.index,
        depth: ask.depth,
        mode: ask.mode,
        candidates: ask.candidates,
        scorer: ask.scorer,
        weight: ask.weight,
        without: ask.without,
    };
    answered(&state, &request, ask).await
}

/// Take scores apart
#[utoipa::path(post, path = "/explain", tag = "search", request_body = ExplainRequest,
    responses((status = 200, body = ExplainBody), Failures))]
pub(crate) async fn post(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
    Json(ask): Json<ExplainRequest>,
) -> Result<Response, ApiError> {
    answered(&state, &request, ask).await
}

async fn answered(
    state: &Arc<State>,
    request: &Request,
    ask: ExplainRequest,
) -> Result<Response, ApiError> {
    state.check_query(&ask.query)?;
    let depth = ask.depth.unwrap_or(state.settings.depth);
    state.check_count("depth", depth)?;
    if depth == 0 {
        return Err(ApiError::invalid("depth: ask for at least one"));
    }
    if !(1..=DOCUMENTS).contains(&ask.documents.len()) {
        return Err(ApiError::invalid(format!(
            "documents: name one to {DOCUMENTS}"
        )));
    }
    let served = state.index(ask.index.as_deref())?.clone();
    state
        .rank(request, move |state, waited| {
            explain(state, &served, &ask, depth, waited)
        })
        .await
}

fn explain(
    state: &State,
    served: &Served,
    ask: &ExplainRequest,
    depth: usize,
    waited: Duration,
) -> Result<Response, ApiError> {
    let begun = Instant::now();
    let without = ask.without.as_ref();
    let rank = state.ranking(served, ask.mode, ask.scorer, ask.weight, without)?;
    let find_by = ask.candidates.map(|by| by.0).unwrap_or_default();
    let options = ExplainOptions {
        depth,
        find_by,
        rank,
    };
    let ids: Vec<&str> = ask.documents.iter().map(String::as_str).collect();
    let answer = served.index.explain(&ask.query, &ids, &options)?;
    let term = |term: &becr_rank::QueryTerm| TermBody {
        word: term.word.clone(),
        weight: term.weight,
        groups: term
            .groups
            .iter()
            .map(|group| WeightBody {
                group: group.group.clone(),
                weight: group.weight,
            })
            .collect(),
    };
    let body = ExplainBody {
        query: answer.query,
        index: served.name.clone(),
        generation: answer.generation.to_string(),
        mode: Mode(answer.mode),
        terms: answer.terms.iter().map(term).collect(),
        coverage: answer.coverage.into(),
        documents: answer.documents.iter().map(explained).collect(),
        difference: answer.difference.map(|difference| DifferenceBody {
            score: difference.score,
            rows: difference.rows.iter().map(Into::into).collect(),
            words: difference.words.into_iter().map(word).collect(),
        }),
    };
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    json(
        &body,
        vec![("queue", ms(waited)), ("explain", ms(begun.elapsed()))],
    )
}

fn explained(document: &ExplainedDocument) -> ExplainedBody {
    let explanation = &document.explanation;
    let (mut title, mut text) = (Vec::new(), Vec::new());
    if let Some(shading) = &document.shading {
        title = pieces(&shading.title, shading.title_words.iter().map(shaded));
        text = pieces(&shading.text, shading.text_words.iter().map(shaded));
    }
    ExplainedBody {
        id: document.id.clone(),
        rank: document.rank,
        first_stage_rank: document.first_stage_rank,
        meaning_rank: document.meaning_rank,
        score: explanation.score,
        relevance_score: relevance(explanation.score),
        parts: PartsBody {
            deep: explanation.deep,
            lexi: explanation.lexi,
            others: explanation.others,
        },
        rows: explanation.rows().iter().map(Into::into).collect(),
        title,
        text,
    }
}

fn word(part: WordPart) -> WordBody {
    let WordPart { word, deep, lexi } = part;
    WordBody { word, deep, lexi }
}

/// A word, how far it stands out, and the term by which it does.
fn shaded(word: &ShadedWord) -> (std::ops::Range<usize>, f32, Option<usize>) {
    let term = word.nearest().map(|(term, _)| term);
    (word.start..word.end, word.strength(), term)
}
