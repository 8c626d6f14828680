//! The page, from the program itself.

use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};

/// Scripts, styles and answers from this server and nothing else; no markup from documents could do anything.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) async fn index() -> Response {
    served(
        "text/html; charset=utf-8",
        include_str!("../../assets/index.html"),
    )
}

pub(crate) async fn style() -> Response {
    served(
        "text/css; charset=utf-8",
        include_str!("../../assets/style.css"),
    )
}

pub(crate) async fn script() -> Response {
    served(
        "text/javascript; charset=utf-8",
        include_str!("../../assets/app.js"),
    )
}

fn served(kind: &'static str, text: &'static str) -> Response {
    let headers: [(HeaderName, &str); 4] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, text).into_response()
}
