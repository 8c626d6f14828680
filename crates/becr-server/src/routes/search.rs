//! Search.

use super::ranking::{FindBy, Mode, Scorer, Without};
use super::shapes::{CoverageBody, PartsBody, PieceBody, RowBody, json, pieces, relevance};
use crate::error::ApiError;
use crate::openapi::Failures;
use crate::read::{Json, Query};
use crate::state::{Served, State};
use crate::upstream::Hit;
use crate::watch::Request;
use axum::Extension;
use axum::extract::State as Shared;
use axum::response::Response;
use becr::{
    Candidate, Details, QueryMode, RankOptions, RerankAnswer, SearchAnswer, SearchOptions,
    SearchResult, SearchTiming, View,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use utoipa::{IntoParams, ToSchema};

/// What to search for.
#[derive(Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchRequest {
    #[serde(alias = "q")]
    query: String,
    /// The index; the first unless said otherwise.
    index: Option<String>,
    /// How many results; 10 unless said otherwise.
    #[param(minimum = 1)]
    #[schema(minimum = 1)]
    k: Option<usize>,
    /// How many candidates are re-ranked: so many by words, and as many by meaning.
    #[param(minimum = 1)]
    #[schema(minimum = 1)]
    depth: Option<usize>,
    mode: Option<Mode>,
    /// By what documents are found; by both unless said otherwise.
    candidates: Option<FindBy>,
    scorer: Option<Scorer>,
    /// The weight of the cosine, with the scorer `one-vector`; the head's unless said otherwise.
    weight: Option<f32>,
    /// Parts of the score to leave out.
    #[param(style = Form, explode = false)]
    without: Option<Without>,
    /// False leaves the results as BM25 has them.
    rerank: Option<bool>,
    /// Whether results come with reasons and passages, and the query taken apart; true unless said otherwise.
    details: Option<bool>,
}

/// What was found.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchBody {
    query: String,
    index: String,
    /// The state of the index.
    generation: String,
    /// How the query was read; absent where BM25 ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    /// Best first.
    results: Vec<FoundBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<CoverageBody>,
    /// The query's words and pairs, and which of them the token store has.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<GroupBody>>,
    /// Milliseconds by stage.
    timing: BTreeMap<&'static str, f64>,
}

/// A document that was found.
#[derive(Serialize, ToSchema)]
pub(crate) struct FoundBody {
    /// From 1.
    rank: usize,
    id: String,
    title: String,
    score: f32,
    /// Between 0 and 1; absent for a document that BM25 ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    relevance_score: Option<f64>,
    /// Its rank by words, from 1; absent for one that meaning alone found.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_stage_rank: Option<usize>,
    /// Its rank by meaning, from 1; absent for one that words alone found.
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning_rank: Option<usize>,
    first_stage_score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<PartsBody>,
    /// The largest contributions to the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<Vec<RowBody>>,
    /// The passage nearest to the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    passage: Option<PassageBody>,
}

/// A passage of a document.
#[derive(Serialize, ToSchema)]
pub(crate) struct PassageBody {
    pieces: Vec<PieceBody>,
    /// Whether text comes before it.
    starts_late: bool,
    /// Whether text comes after it.
    ends_early: bool,
}

/// A word or a pair of the query.
#[derive(Serialize, ToSchema)]
pub(crate) struct GroupBody {
    words: Vec<String>,
    /// Whether the token store has it.
    found: bool,
    /// WordPieces that stand in for a word that is missing.
    pieces: Vec<String>,
}

/// Search and re-rank
#[utoipa::path(get, path = "/search", tag = "search", params(SearchRequest),
    responses((status = 200, body = SearchBody), Failures))]
pub(crate) async fn get(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
    Query(ask): Query<SearchRequest>,
) -> Result<Response, ApiError> {
    answered(&state, &request, ask).await
}

/// Search and re-rank
#[utoipa::path(post, path = "/search", tag = "search", request_body = SearchRequest,
    responses((status = 200, body = SearchBody), Failures))]
pub(crate) async fn post(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
    Json(ask): Json<SearchRequest>,
) -> Result<Response, ApiError> {
    answered(&state, &request, ask).await
}

async fn answered(
    state: &Arc<State>,
    request: &Request,
    ask: SearchRequest,
) -> Result<Response, ApiError> {
    state.check_query(&ask.query)?;
    let options = SearchOptions {
        k: ask.k.unwrap_or(10),
        depth: ask.depth.unwrap_or(state.settings.depth),
        find_by: ask.candidates.map(|by| by.0).unwrap_or_default(),
        rank: Some(RankOptions::default()),
        details: Details {
            title: true,
            reasons: ask.details.unwrap_or(true),
            snippet: ask.details.unwrap_or(true),
        },
    };
    for (what, count) in [("k", options.k), ("depth", options.depth)] {
        state.check_count(what, count)?;
        if count == 0 {
            return Err(ApiError::invalid(format!("{what}: ask for at least one")));
        }
    }
    let served = state.index(ask.index.as_deref())?.clone();
    state
        .rank(request, move |state, waited| {
            search(state, &served, &ask, options, waited)
        })
        .await
}

fn search(
    state: &State,
    served: &Served,
    ask: &SearchRequest,
    mut options: SearchOptions,
    waited: Duration,
) -> Result<Response, ApiError> {
    // An index without footprints or head is still searched, by BM25.
    let is_wanted = ask.rerank.unwrap_or(true);
    if !is_wanted || served.index.obstacle()?.is_some() {
        options.rank = None;
    }
    if let Some(rank) = &mut options.rank {
        *rank = state.ranking(
            served,
            ask.mode,
            ask.scorer,
            ask.weight,
            ask.without.as_ref(),
        )?;
    }
    let view = served.index.view()?;
    let answer = match (&state.upstream, options.rank) {
        (Some(upstream), Some(rank)) => {
            let begun = Instant::now();
            let hits = upstream.candidates(&ask.query, options.k.max(options.depth))?;
            let candidates: Vec<Candidate<'_>> = hits.iter().map(Hit::candidate).collect();
            let asked = begun.elapsed();
            let ranked = view.rerank(&ask.query, &candidates, &rank)?;
            of_upstream(&view, &candidates, &ranked, options.k, (begun, asked))?
        }
        _ => view.search(&ask.query, &options)?,
    };
    if let Some(coverage) = &answer.coverage {
        state.metrics.coverage(coverage);
    }
    let wants_groups = options
        .rank
        .is_some_and(|rank| rank.mode == Some(QueryMode::Composed));
    let groups = match options.details.reasons && wants_groups {
        true => {
            let groups = view.decomposition(&ask.query)?.groups.into_iter();
            Some(groups.map(|group| GroupBody {
                words: group.words,
                found: group.found,
                pieces: group.pieces,
            }))
        }
        false => None,
    };
    let mut stages = vec![("queue", waited.as_secs_f64() * 1e3)];
    stages.extend(names(&answer.timing));
    let body = SearchBody {
        query: ask.query.clone(),
        index: served.name.clone(),
        generation: answer.generation.to_string(),
        mode: options.rank.and_then(|rank| rank.mode).map(Mode),
        results: answer.results.into_iter().map(found).collect(),
        coverage: answer.coverage.map(Into::into),
        groups: groups.map(Iterator::collect),
        timing: stages.iter().copied().collect(),
    };
    json(&body, stages)
}

/// Stages under the names that answers and counts have for them.
fn names(timing: &SearchTiming) -> Vec<(&'static str, f64)> {
    let mut stages = vec![("first_stage", timing.first_stage)];
    if let Some(ranking) = timing.ranking {
        stages.extend([
            ("meaning", timing.meaning),
            ("look_up", ranking.look_up),
            ("fetch", ranking.fetch),
            ("lexical", ranking.lexical),
            ("deep", ranking.deep),
        ]);
    }
    stages.push(("total", timing.total));
    stages
}

fn found(result: SearchResult) -> FoundBody {
    let parts = result.parts.map(|parts| PartsBody {
        deep: parts.deep.into(),
        lexi: parts.lexi.into(),
        others: parts.others.into(),
    });
    let passage = result.snippet.map(|snippet| PassageBody {
        pieces: pieces(
            &snippet.text,
            snippet
                .words
                .iter()
                .map(|(word, strength)| (word.clone(), *strength, None)),
        ),
        starts_late: snippet.starts_late,
        ends_early: snippet.ends_early,
    });
    FoundBody {
        rank: result.rank,
        id: result.id,
        title: result.title.unwrap_or_default(),
        score: result.score,
        relevance_score: parts.as_ref().map(|_| relevance(result.score.into())),
        first_stage_rank: result.first_stage_rank,
        meaning_rank: result.meaning_rank,
        first_stage_score: result.first_stage_score,
        parts,
        reasons: result
            .reasons
            .map(|reasons| reasons.0.iter().map(Into::into).collect()),
        passage,
    }
}

/// An answer of candidates that another engine found. Those that the index does not have are left out: there is nothing
/// to show of them.
fn of_upstream(
    view: &View,
    candidates: &[Candidate<'_>],
    ranked: &RerankAnswer,
    k: usize,
    (begun, asked): (Instant, Duration),
) -> Result<SearchAnswer, ApiError> {
    let mut results = Vec::new();
    for (rank, (place, scored)) in (1..).zip(ranked.order.iter().take(k)) {
        let candidate = &candidates[*place];
        results.push(SearchResult {
            rank,
            id: candidate.id.to_owned(),
            title: view.text(candidate.id)?.map(|text| text.title),
            score: scored.score,
            first_stage_rank: Some(place + 1),
            meaning_rank: None,
            first_stage_score: candidate.score.unwrap_or_default(),
            parts: Some(becr::ScoreParts {
                deep: scored.deep,
                lexi: scored.lexi,
                others: scored.others,
            }),
            reasons: None,
            snippet: None,
        });
    }
    Ok(SearchAnswer {
        results,
        coverage: Some(ranked.coverage()),
        generation: ranked.generation,
        timing: SearchTiming {
            load: 0.0,
            first_stage: asked.as_secs_f64() * 1e3,
            meaning: 0.0,
            ranking: Some(ranked.timing.into()),
            total: begun.elapsed().as_secs_f64() * 1e3,
        },
    })
}
