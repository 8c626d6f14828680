//! Whether the server lives, and whether it can answer.

use super::shapes::json;
use crate::error::ApiError;
use crate::state::State;
use crate::watch::Request;
use axum::Extension;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// It lives.
#[derive(Serialize, ToSchema)]
pub(crate) struct HealthBody {
    status: &'static str,
}

/// Whether the server lives
#[utoipa::path(get, path = "/health", tag = "operation", responses((status = 200, body = HealthBody)))]
pub(crate) async fn health() -> Result<Response, ApiError> {
    json(&HealthBody { status: "ok" }, Vec::new())
}

/// Whether a ranking thread is free in time and every index can be read
#[utoipa::path(get, path = "/ready", tag = "operation", responses(
    (status = 200, body = HealthBody),
    (status = 429, body = crate::error::ErrorBody),
    (status = 503, body = crate::error::ErrorBody)))]
pub(crate) async fn ready(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
) -> Result<Response, ApiError> {
    state
        .rank(&request, |state, _| {
            // All of them: an index that is served under two names is let go of under both when it was replaced.
            let looked = state.indexes.iter().map(|served| {
                let viewed = served.index.view().map(drop);
                viewed.map_err(|error| ApiError {
                    cause: Some(error.to_string()),
                    ..ApiError::new(
                        StatusCode::SERVICE_UNAVAILABLE,
                        "unreadable_index",
                        format!("index {} cannot be read", served.name),
                    )
                })
            });
            let looked: Vec<Result<(), ApiError>> = looked.collect();
            looked.into_iter().collect::<Result<(), _>>()?;
            json(&HealthBody { status: "ready" }, Vec::new())
        })
        .await
}
