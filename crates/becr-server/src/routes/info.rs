//! What is served, and what was counted.

use super::ranking::Mode;
use super::shapes::json;
use crate::error::ApiError;
use crate::metrics::Gauges;
use crate::openapi::Failures;
use crate::state::State;
use crate::watch::Request;
use axum::Extension;
use axum::extract::State as Shared;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use utoipa::ToSchema;

/// What is served.
#[derive(Serialize, ToSchema)]
pub(crate) struct InfoBody {
    version: &'static str,
    indexes: Vec<IndexBody>,
    /// How queries of the first index are read unless a request says otherwise; none where BM25 alone ranks.
    mode: Option<Mode>,
    /// How many candidates are re-ranked unless a request says otherwise.
    depth: usize,
    /// Whether documents may be changed.
    writable: bool,
    /// Where candidates come from: `index`, `upstream` for another engine, or `none` where searches are refused.
    first_stage: &'static str,
    limits: LimitsBody,
}

/// An index.
#[derive(Serialize, ToSchema)]
pub(crate) struct IndexBody {
    name: String,
    documents: u64,
    generation: String,
    /// Whether it can re-rank; one of words alone cannot.
    rankable: bool,
}

/// What a request may ask for.
#[derive(Serialize, ToSchema)]
pub(crate) struct LimitsBody {
    body_bytes: usize,
    query_bytes: usize,
    /// Candidates of a request, and results of a search.
    candidates: usize,
    /// WordPieces of raw texts per request.
    text_tokens: usize,
    time_limit_seconds: f64,
}

/// What is served
#[utoipa::path(get, path = "/info", tag = "operation",
    responses((status = 200, body = InfoBody), Failures))]
pub(crate) async fn info(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
) -> Result<Response, ApiError> {
    state
        .rank(&request, |state, _| {
            let mut indexes = Vec::new();
            let mut finds = false;
            for served in &state.indexes {
                let view = served.index.view()?;
                finds |= view.has_first_stage();
                indexes.push(IndexBody {
                    name: served.name.clone(),
                    documents: view.documents()?,
                    generation: view.generation().to_string(),
                    rankable: served.index.obstacle()?.is_none(),
                });
            }
            let settings = &state.settings;
            let body = InfoBody {
                version: env!("CARGO_PKG_VERSION"),
                indexes,
                mode: state
                    .indexes
                    .first()
                    .and_then(|served| state.ranking(served, None, None, None, None).ok()?.mode)
                    .map(Mode),
                depth: settings.depth,
                writable: settings.writable,
                first_stage: match (&state.upstream, finds) {
                    (Some(_), _) => "upstream",
                    (None, true) => "index",
                    (None, false) => "none",
                },
                limits: LimitsBody {
                    body_bytes: settings.body_bytes,
                    query_bytes: settings.query_bytes,
                    candidates: settings.candidates,
                    text_tokens: settings.text_tokens,
                    time_limit_seconds: settings.time_limit.as_secs_f64(),
                },
            };
            json(&body, Vec::new())
        })
        .await
}

/// What was counted, for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "operation",
    responses((status = 200, body = String, content_type = "text/plain"), Failures))]
pub(crate) async fn metrics(Shared(state): Shared<Arc<State>>) -> Response {
    // Not on the pool: a server whose queue is full should still tell so. An index's counts are one look at its header.
    let indexes = state.indexes.iter().filter_map(|served| {
        let view = served.index.view().ok()?;
        let generation = view.generation();
        let (edition, commit) = (generation.edition, generation.commit);
        let name = served.name.clone();
        Some((
            name,
            view.documents().ok()?,
            edition,
            commit,
            served.texts.bytes(),
        ))
    });
    let gauges = Gauges {
        queue: state.pool.waiting(),
        running: state.pool.running(),
        connections: state.connections.load(Ordering::Relaxed),
        indexes: indexes.collect(),
    };
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], state.metrics.text(&gauges)).into_response()
}
