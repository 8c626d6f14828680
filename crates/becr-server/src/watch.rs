//! Around every request: its id, its time, its log line, what is counted, and how failures are told.

use crate::error::{ApiError, ErrorBody};
use crate::hosts;
use crate::pool::Weight;
use crate::state::State;
use axum::body::HttpBody;
use axum::extract::{MatchedPath, Request as HttpRequest, State as Shared};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What is known of a request before it is read.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) id: Arc<str>,
    pub(crate) deadline: Instant,
    /// By the size of its body.
    pub(crate) weight: Weight,
}

/// A body of this size may be texts that take a second or more to encode.
const HEAVY: u64 = 16 << 10;

/// A body whose size is not told beforehand may be a large one.
fn weight(http: &HttpRequest) -> Weight {
    let is_light = http
        .body()
        .size_hint()
        .upper()
        .is_some_and(|most| most <= HEAVY);
    match is_light {
        true => Weight::Light,
        false => Weight::Heavy,
    }
}

impl Request {
    /// The request that these extensions are of.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_else(|| Self {
            id: "".into(),
            deadline: Instant::now() + Duration::from_secs(1),
            weight: Weight::Light,
        })
    }
}

/// Where the time of an answer went, in milliseconds: left in the response for the log and the counts.
#[derive(Clone, Default)]
pub(crate) struct Stages(pub(crate) Vec<(&'static str, f64)>);

/// The middleware.
pub(crate) async fn watch(
    Shared(state): Shared<Arc<State>>,
    mut http: HttpRequest,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let request = Request {
        id: id(http.headers()),
        deadline: begun + state.settings.time_limit,
        weight: weight(&http),
    };
    let route = http
        .extensions()
        .get::<MatchedPath>()
        .map_or("unknown".into(), |path| path.as_str().to_owned());
    let method = http.method().clone();
    http.extensions_mut().insert(request.clone());
    let mut response = match check_host(&state, http.headers()) {
        Ok(()) => next.run(http).await,
        Err(error) => error.into_response(),
    };
    let failure = response.extensions_mut().remove::<ApiError>();
    if let Some(failure) = &failure {
        response = told(failure, &request, response);
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&request.id) {
        headers.insert(REQUEST_ID, value);
    }
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    let stages = response
        .extensions()
        .get::<Stages>()
        .cloned()
        .unwrap_or_default();
    let total = begun.elapsed();
    let status = response.status();
    state
        .metrics
        .request(&route, method.as_str(), status.as_u16(), total);
    stages
        .0
        .iter()
        .for_each(|(stage, ms)| state.metrics.stage(stage, *ms));
    let by_stage = Told(&stages);
    let ms = (total.as_secs_f64() * 1e6).round() / 1e3;
    let (id, status) = (&*request.id, status.as_u16());
    match &failure {
        None => tracing::info!(id, %method, route, status, ms, stages = %by_stage, "answered"),
        Some(failure) => {
            state.metrics.failure(failure.kind);
            let reason = &failure.message;
            match &failure.cause {
                None => tracing::info!(id, %method, route, status, ms, reason, "refused"),
                Some(cause) => tracing::error!(id, %method, route, status, ms, cause, "failed"),
            }
        }
    }
    response
}

/// Stages in a line of the log.
struct Told<'a>(&'a Stages);

impl std::fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, (stage, ms)) in self.0.0.iter().enumerate() {
            let gap = if place > 0 { " " } else { "" };
            write!(f, "{gap}{stage}={ms:.2}")?;
        }
        Ok(())
    }
}

/// The failure as JSON, in the place of an empty body.
fn told(failure: &ApiError, request: &Request, response: Response) -> Response {
    let body = ErrorBody {
        message: failure.message.clone(),
        error: failure.kind,
        request_id: request.id.to_string(),
    };
    let (parts, _) = response.into_parts();
    let mut told = (parts.status, axum::Json(body)).into_response();
    let kept = [header::RETRY_AFTER, header::WWW_AUTHENTICATE, header::ALLOW];
    for name in kept {
        if let Some(value) = parts.headers.get(&name) {
            told.headers_mut().insert(name, value.clone());
        }
    }
    told
}

fn check_host(state: &State, headers: &HeaderMap) -> Result<(), ApiError> {
    if !state.settings.listen.ip().is_loopback() {
        return Ok(());
    }
    let host = headers
        .get(header::HOST)
        .map(|host| host.to_str().unwrap_or_default());
    match host {
        Some(host) if !hosts::is_known(host, &state.settings.hosts) => Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "unknown_host",
            "this server is for its own machine and does not answer to that name; --host NAME allows one",
        )),
        _ => Ok(()),
    }
}

/// The client's id for the request if it is fit for a log, else a new one.
fn id(headers: &HeaderMap) -> Arc<str> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let given = headers
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok());
    let is_fit = |id: &&str| {
        let fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (1..=64).contains(&id.len()) && id.bytes().all(fit)
    };
    match given.filter(is_fit) {
        Some(given) => given.into(),
        None => {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            format!("{:016x}", HASHER.hash_one(count)).into()
        }
    }
}
