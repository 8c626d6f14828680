//! The description of all routes.

use crate::error::ErrorBody;
use crate::routes::{documents, explain, health, info, rerank, search, tei};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::collections::BTreeMap;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{IntoResponses, Modify, OpenApi};

/// The failures that every route may have.
pub(crate) struct Failures;

impl IntoResponses for Failures {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let told = [
            ("400", "The request is no JSON."),
            ("401", "A token is asked for."),
            ("403", "The token, or the server, does not allow it."),
            ("404", "There is no such index or document."),
            ("408", "The request took too long to arrive."),
            (
                "409",
                "The index cannot do it, or has a document of that id.",
            ),
            ("413", "The request is too large."),
            ("415", "The request is not declared as JSON."),
            (
                "422",
                "The request is not as it should be, or beyond a limit of the server.",
            ),
            (
                "429",
                "Too many requests wait; `Retry-After` says when to try again.",
            ),
            (
                "503",
                "It did not get done in time; `Retry-After` says when to try again.",
            ),
        ];
        let response = |(status, description): (&str, &str)| {
            let content = ContentBuilder::new()
                .schema(Some(Ref::from_schema_name("ErrorBody")))
                .build();
            let response = ResponseBuilder::new()
                .description(description)
                .content("application/json", content)
                .build();
            (status.to_owned(), RefOr::T(response))
        };
        told.into_iter().map(response).collect()
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "BECR",
        description = "Re-ranking with BERT-quality matching on a CPU, search, and the reasons for it."
    ),
    paths(
        rerank::v1, rerank::v2, tei::rerank, search::get, search::post, explain::get, explain::post,
        documents::add, documents::update, documents::delete,
        health::health, health::ready, info::info, info::metrics,
    ),
    components(schemas(ErrorBody)),
    modifiers(&Bearer)
)]
struct Api;

/// Tokens, where the server asks for them.
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("token", scheme);
    }
}

/// The description as JSON, as `docs/openapi.json` has it.
pub fn openapi() -> String {
    let mut text = Api::openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// The description, served.
pub(crate) async fn served() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi()).into_response()
}
