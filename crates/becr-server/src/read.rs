//! Reading requests.

use crate::error::ApiError;
use crate::state::State;
use crate::watch::Request;
use axum::body::Body;
use axum::extract::FromRequest;
use axum::http::{StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
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
        true => not_as_it_should_be(&error),
        false => ApiError::new(
            StatusCode::BAD_REQUEST,
            "bad_request",
            format!("the request is no JSON: {error}"),
        ),
    })
}

fn not_as_it_should_be(reason: &dyn std::fmt::Display) -> ApiError {
    ApiError::invalid(format!("the request is not as it should be: {reason}"))
}

/// The elements of a list, as they stand in the request; an error if there are more than `most`. Requests name their lists
/// as raw JSON, so that none is taken apart whose length is refused: an empty text takes 3 bytes there and 24 as a `String`.
pub(crate) fn list<'a>(
    list: &'a RawValue,
    what: &'static str,
    most: usize,
) -> Result<Vec<&'a RawValue>, ApiError> {
    struct Elements(usize);

    impl<'de> Visitor<'de> for Elements {
        type Value = (Vec<&'de RawValue>, usize);

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut kept = Vec::new();
            while kept.len() < self.0
                && let Some(element) = list.next_element()?
            {
                kept.push(element);
            }
            let mut count = kept.len();
            while list.next_element::<IgnoredAny>()?.is_some() {
                count += 1;
            }
            Ok((kept, count))
        }
    }

    let mut reader = serde_json::Deserializer::from_str(list.get());
    let (kept, count) = reader
        .deserialize_seq(Elements(most))
        .map_err(|error| ApiError::invalid(format!("{what}: {error}")))?;
    match count > most {
        true => Err(ApiError::invalid(format!(
            "{what}: {count}, this server takes up to {most}"
        ))),
        false => Ok(kept),
    }
}

/// Up to `MOST` texts and one more: whoever looks sees that there are too many, and the others are not kept.
pub(crate) fn few<'de, const MOST: usize, D: Deserializer<'de>>(
    list: D,
) -> Result<Vec<String>, D::Error> {
    struct Texts(usize);

    impl<'de> Visitor<'de> for Texts {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list of texts")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut kept = Vec::new();
            while kept.len() <= self.0
                && let Some(text) = list.next_element()?
            {
                kept.push(text);
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(kept)
        }
    }

    list.deserialize_seq(Texts(MOST))
}

/// One element of a list; `what` and `place` are for the error.
pub(crate) fn element<'a, T: Deserialize<'a>>(
    element: &'a RawValue,
    what: &str,
    place: usize,
) -> Result<T, ApiError> {
    let read = serde_json::from_str(element.get());
    read.map_err(|error| not_as_it_should_be(&format!("{what}[{place}]: {error}")))
}

/// A text as it stands in the request where nothing in it is escaped, otherwise a copy without the escapes. `None` for what
/// is no text.
pub(crate) fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    match serde_json::from_str::<&str>(value.get()) {
        Ok(plain) => Some(Cow::Borrowed(plain)),
        Err(_) => serde_json::from_str(value.get()).ok().map(Cow::Owned),
    }
}

/// Some values of an object, by name; others are passed over without being kept. Of a name that stands there twice the last
/// counts.
pub(crate) fn values<'a>(
    object: &'a RawValue,
    names: &[&str],
) -> serde_json::Result<Vec<Option<&'a RawValue>>> {
    struct Named<'n>(&'n [&'n str]);

    impl<'de> Visitor<'de> for Named<'_> {
        type Value = Vec<Option<&'de RawValue>>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a text or an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = vec![None; self.0.len()];
            while let Some(place) = map.next_key_seed(Place(self.0))? {
                match place {
                    Some(place) => found[place] = Some(map.next_value()?),
                    None => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(found)
        }
    }

    serde_json::Deserializer::from_str(object.get()).deserialize_map(Named(names))
}

/// The place of a name among others.
struct Place<'n>(&'n [&'n str]);

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<Self::Value, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for Place<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|name| *name == key))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn lists_end_where_they_are_too_long() {
        let all = raw(r#"[ "a", {"b": [1]} , 3]"#);
        let read = list(&all, "documents", 3).unwrap();
        let read: Vec<&str> = read.into_iter().map(RawValue::get).collect();
        assert_eq!(read, [r#""a""#, r#"{"b": [1]}"#, "3"]);
        let refused = list(&all, "documents", 2).unwrap_err();
        assert!(
            refused
                .message
                .contains("documents: 3, this server takes up to 2")
        );
        assert!(list(&raw("{}"), "documents", 2).is_err());
    }

    #[test]
    fn texts_are_copied_only_where_they_must_be() {
        assert!(matches!(
            text(&raw(r#""plain é""#)),
            Some(Cow::Borrowed("plain é"))
        ));
        let copied = raw(r#""a\nb""#);
        assert!(matches!(text(&copied), Some(Cow::Owned(text)) if text == "a\nb"));
        assert!(text(&raw("7")).is_none());
    }

    #[test]
    fn values_are_found_by_name_and_the_last_counts() {
        let object = raw(r#"{"x": {"a": 1}, "a": 1, "\u0062": [2], "a": "3"}"#);
        let found = values(&object, &["a", "b", "c"]).unwrap();
        let found: Vec<Option<&str>> = found
            .into_iter()
            .map(|value| value.map(RawValue::get))
            .collect();
        assert_eq!(found, [Some(r#""3""#), Some("[2]"), None]);
        assert!(values(&raw("7"), &[]).is_err());
    }
}
