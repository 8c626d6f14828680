//! Who may read and who may write.

use crate::Settings;
use crate::error::ApiError;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use subtle::ConstantTimeEq;

/// The tokens that are asked for.
pub(crate) struct Tokens {
    read: Option<String>,
    write: Option<String>,
}

impl Tokens {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            read: settings.read_token.clone(),
            write: settings.write_token.clone(),
        }
    }

    /// Refuses whoever may not read.
    pub(crate) fn check_reader(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if self.read.is_none() {
            return Ok(());
        }
        let shown = shown(headers);
        match is(&self.read, shown) | is(&self.write, shown) {
            true => Ok(()),
            false => Err(unauthorized()),
        }
    }

    /// Refuses whoever may not write.
    pub(crate) fn check_writer(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        // A token for reading alone says that this server is not for everybody.
        if self.write.is_none() && self.read.is_none() {
            return Ok(());
        }
        let shown = shown(headers);
        match is(&self.write, shown) {
            true => Ok(()),
            false if is(&self.read, shown) => Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "forbidden",
                "this token is for reading",
            )),
            false => Err(unauthorized()),
        }
    }
}

/// The token of a request; empty without one.
fn shown(headers: &HeaderMap) -> &[u8] {
    let value = headers
        .get(header::AUTHORIZATION)
        .map_or(&[][..], HeaderValue::as_bytes);
    match value.split_at_checked(7) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token.trim_ascii(),
        _ => &[],
    }
}

/// Takes the same time wherever the first difference is.
fn is(token: &Option<String>, shown: &[u8]) -> bool {
    token
        .as_ref()
        .is_some_and(|token| token.as_bytes().ct_eq(shown).into())
}

fn unauthorized() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "this server asks for a token: send the header `Authorization: Bearer TOKEN`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())])
    }

    #[test]
    fn tokens_are_for_what_they_are_for() {
        let tokens = Tokens {
            read: Some("read-only".into()),
            write: Some("read-write".into()),
        };
        let status = |result: Result<(), ApiError>| result.err().map(|error| error.status.as_u16());
        let of = |value: &str| {
            let headers = headers(value);
            (
                status(tokens.check_reader(&headers)),
                status(tokens.check_writer(&headers)),
            )
        };
        assert_eq!(of("Bearer read-only"), (None, Some(403)));
        assert_eq!(of("bearer  read-write"), (None, None));
        for wrong in [
            "Bearer",
            "Bearer ",
            "Bearer read-onl",
            "Basic read-only",
            "Bearer read-only2",
        ] {
            assert_eq!(of(wrong), (Some(401), Some(401)), "{wrong}");
        }
    }

    #[test]
    fn without_tokens_everybody_may_and_a_reading_token_closes_writing() {
        let none = HeaderMap::new();
        let open = Tokens {
            read: None,
            write: None,
        };
        assert!(open.check_reader(&none).is_ok() && open.check_writer(&none).is_ok());
        let closed = Tokens {
            read: Some("read-only".into()),
            write: None,
        };
        assert!(closed.check_writer(&none).is_err());
        let writers = Tokens {
            read: None,
            write: Some("read-write".into()),
        };
        assert!(writers.check_reader(&none).is_ok() && writers.check_writer(&none).is_err());
    }
}
