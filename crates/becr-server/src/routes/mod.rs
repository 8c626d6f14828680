//! A module per route.

pub(crate) mod documents;
pub(crate) mod explain;
pub(crate) mod health;
pub(crate) mod info;
pub(crate) mod page;
pub(crate) mod ranking;
pub(crate) mod rerank;
pub(crate) mod search;
pub(crate) mod shapes;
pub(crate) mod tei;

use crate::error::ApiError;
use crate::openapi;
use crate::state::State;
use crate::watch::watch;
use axum::Router;
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use std::sync::Arc;
use tower_http::cors::CorsLayer;

/// All routes, with what goes around them.
pub(crate) fn router(state: &Arc<State>) -> Router {
    let reading = Router::new()
        .route("/v1/rerank", post(rerank::v1))
        .route("/v2/rerank", post(rerank::v2))
        .route("/rerank", post(tei::rerank))
        .route("/search", get(search::get).post(search::post))
        .route("/explain", get(explain::get).post(explain::post))
        .route("/info", get(info::info))
        .route("/metrics", get(info::metrics))
        .route_layer(from_fn_with_state(state.clone(), readers));
    let writing = post(documents::add)
        .put(documents::update)
        .delete(documents::delete);
    let writing = Router::new()
        .route("/documents", writing)
        .route_layer(from_fn_with_state(state.clone(), writers));
    let open = Router::new()
        .route("/", get(page::index))
        .route("/style.css", get(page::style))
        .route("/app.js", get(page::script))
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .route("/openapi.json", get(openapi::served));
    let router = reading
        .merge(writing)
        .merge(open)
        .fallback(nothing_here)
        .method_not_allowed_fallback(other_method)
        .layer(from_fn_with_state(state.clone(), watch))
        .with_state(state.clone());
    match state.settings.origins.is_empty() {
        true => router,
        false => router.layer(cors(&state.settings.origins)),
    }
}

async fn readers(Shared(state): Shared<Arc<State>>, request: Request, next: Next) -> Response {
    match state.tokens.check_reader(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn writers(Shared(state): Shared<Arc<State>>, request: Request, next: Next) -> Response {
    let allowed = match state.settings.writable {
        true => state.tokens.check_writer(request.headers()),
        false => Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "read_only",
            "this server does not change documents; it was started without --writable",
        )),
    };
    match allowed {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn nothing_here() -> ApiError {
    let message = "there is nothing here; /openapi.json says what there is";
    ApiError::new(StatusCode::NOT_FOUND, "not_found", message)
}

async fn other_method() -> ApiError {
    let message = "this address takes another method; /openapi.json says which";
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        message,
    )
}

fn cors(origins: &[String]) -> CorsLayer {
    let origins: Vec<HeaderValue> = origins
        .iter()
        .filter_map(|origin| origin.parse().ok())
        .collect();
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE])
}
