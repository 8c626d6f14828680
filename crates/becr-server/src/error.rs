//! Failures, as clients see them and as whoever starts the server does.

use crate::pool::Undone;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use becr::IndexError;
use serde::Serialize;
use utoipa::ToSchema;

/// Why the server could not be started, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address is taken, or not this machine's.
    #[error("cannot listen on {address}: {source}; choose another address or port")]
    Bind {
        /// What was asked for.
        address: std::net::SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// Threads or sockets could not be had.
    #[error("cannot serve: {0}")]
    Io(#[from] std::io::Error),
    /// An index cannot be read.
    #[error("index {name}: {source}")]
    Index {
        /// The index's name.
        name: String,
        /// Why.
        source: Box<becr::Error>,
    },
    /// Settings that make no sense.
    #[error("{0}")]
    Settings(String),
}

/// What a client is told of a failure.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What happened and what to do.
    pub(crate) message: String,
    /// What kind of failure it is.
    pub(crate) error: &'static str,
    /// The request's id, as in the header `x-request-id` and in the server's log.
    pub(crate) request_id: String,
}

/// A failed request.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    /// What only the log is told.
    pub(crate) cause: Option<String>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            cause: None,
        }
    }

    /// The request is understood and cannot be done as it is.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message)
    }

    /// The server's own fault: the client learns no more than that.
    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        let message = "the server could not answer; its log has the cause under this request's id";
        Self {
            cause: Some(cause.into()),
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
        }
    }

    fn overloaded(status: StatusCode, message: &str) -> Self {
        Self::new(status, "overloaded", message)
    }
}

impl From<Undone> for ApiError {
    fn from(undone: Undone) -> Self {
        match undone {
            Undone::Full => Self::overloaded(
                StatusCode::TOO_MANY_REQUESTS,
                "too many requests wait already; try again after a moment",
            ),
            Undone::Late => Self::overloaded(
                StatusCode::SERVICE_UNAVAILABLE,
                "the request did not get done within the server's time limit; try again after a moment",
            ),
            Undone::Panicked => Self::internal("a panic, see above"),
        }
    }
}

impl From<becr::Error> for ApiError {
    fn from(error: becr::Error) -> Self {
        let conflict = |kind| Self::new(StatusCode::CONFLICT, kind, error.to_string());
        match &error {
            becr::Error::UnknownDocument(_) => {
                Self::new(StatusCode::NOT_FOUND, "unknown_document", error.to_string())
            }
            becr::Error::Options(_) | becr::Error::TextBudget { .. } => {
                Self::invalid(error.to_string())
            }
            // Messages of these name files of the server: the client is told less.
            becr::Error::Lexical(_) => Self::new(
                StatusCode::CONFLICT,
                "not_rankable",
                "this index has words alone: it can be searched by BM25 and not re-ranked",
            ),
            becr::Error::NoHead(_) => Self::new(
                StatusCode::CONFLICT,
                "not_rankable",
                "the model of this index has no trained head to rank with",
            ),
            becr::Error::NoFirstStage(_) => Self::new(
                StatusCode::CONFLICT,
                "no_first_stage",
                "this index re-ranks and finds nothing by itself: send candidates to /v2/rerank, or have the server started with \
                 --first-stage or --upstream",
            ),
            becr::Error::InCluster(_) => Self::new(
                StatusCode::CONFLICT,
                "not_changeable",
                "this index is in a cluster and is changed by exporting it again",
            ),
            error if error.is_passing() => Self {
                cause: Some(error.to_string()),
                ..Self::overloaded(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the cluster that has this index cannot answer for it now; try again after a moment",
                )
            },
            becr::Error::Index(index) => match root(index) {
                IndexError::KnownId(_) => conflict("known_document"),
                IndexError::Busy(_) | IndexError::SecondWriter(_) => Self {
                    cause: Some(error.to_string()),
                    ..Self::overloaded(
                        StatusCode::SERVICE_UNAVAILABLE,
                        "another process is writing to this index; try again later",
                    )
                },
                IndexError::Source(_) | IndexError::Document { .. } | IndexError::RepeatedId(_) => {
                    Self::invalid(error.to_string())
                }
                IndexError::Lexical(_) => Self::new(
                    StatusCode::CONFLICT,
                    "not_changeable",
                    "this index has words alone: it can only be built anew",
                ),
                _ => Self::internal(error.to_string()),
            },
            _ => Self::internal(error.to_string()),
        }
    }
}

/// What ended a change half-way.
fn root(error: &IndexError) -> &IndexError {
    match error {
        IndexError::Incomplete { source, .. } => root(source),
        error => error,
    }
}

impl IntoResponse for ApiError {
    /// The body is written where the request's id is known, in `watch`.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        if self.kind == "overloaded" {
            let seconds = HeaderValue::from_static("1");
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        response.extensions_mut().insert(self);
        response
    }
}
