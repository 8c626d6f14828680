//! Reading requests.

use crate::error::ApiError;
use crate::state::State;
use crate::watch::Request;
use axum::body::Body;
use axum::extract::FromRequest;
use axum::http::{StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A request's body as JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<State>> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(
        request: axum::extract::Request,
        state: &Arc<State>,
    ) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let declared = parts.headers.get(header::CONTENT_TYPE);
        let declared = declared
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        // Browsers send JSON to a foreign server only after asking it, so that a page elsewhere cannot post here.
        if !is_json(declared) {
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "send JSON, with the header `Content-Type: application/json`",
            ));
        }
        let deadline = Request::of(&parts.extensions).deadline;
        let bytes =
            tokio::time::timeout_at(deadline.into(), collect(body, state.settings.body_bytes));
        let bytes = bytes.await.map_err(|_| {
            let message = "the request's body took longer than this server's time limit";
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", message)
        })??;
        parse(&bytes).map(Self)
    }
}

fn is_json(declared: &str) -> bool {
    let kind = declared.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

async fn collect(body: Body, most: usize) -> Result<Vec<u8>, ApiError> {
    match Limited::new(body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the request has over {most} bytes, which is this server's limit"),
        )),
        Err(error) => Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "bad_request",
            format!("the request's body broke off: {error}"),
        )),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(bytes).map_err(|error| match error.is_data() {
        true => ApiError::invalid(format!("the request is not as it should be: {error}")),
        false => ApiError::new(
            StatusCode::BAD_REQUEST,
            "bad_request",
            format!("the request is no JSON: {error}"),
        ),
    })
}

/// A request's parameters, from the address.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> axum::extract::FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut axum::http::request::Parts,
        state: &S,
    ) -> Result<Self, ApiError> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let refused = |error: axum::extract::rejection::QueryRejection| {
            ApiError::invalid(format!(
                "the parameters are not as they should be: {}",
                error.body_text()
            ))
        };
        read.map(|axum::extract::Query(parameters)| Self(parameters))
            .map_err(refused)
    }
}
