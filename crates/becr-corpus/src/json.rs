//! One JSON object of a line, flat: big strings are borrowed from the line, nested values are passed over.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::ErrorKind;

/// A field's value, as far as documents and queries need it.
#[derive(Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    Text(Cow<'a, str>),
    Unsigned(u64),
    Negative(i64),
    Float(f64),
    Null,
    Bool,
    Array,
    Object,
}

impl Scalar<'_> {
    /// The type's name, for error messages.
    fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Unsigned(_) | Self::Negative(_) => "an integer",
            Self::Float(_) => "a fraction or very large number",
            Self::Null => "null",
            Self::Bool => "true or false",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }

    /// The value as a number, if it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Unsigned(value) => Some(*value as f64),
            Self::Negative(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    fn wrong(&self, field: &str, expected: &'static str) -> ErrorKind {
        ErrorKind::FieldType {
            field: field.to_owned(),
            expected,
            found: self.name(),
        }
    }
}

/// The fields of an object in their order. Of a name that comes twice the last counts, as in most JSON readers.
#[derive(Debug)]
pub(crate) struct Fields<'a>(pub(crate) Vec<(Cow<'a, str>, Scalar<'a>)>);

impl<'a> Fields<'a> {
    /// Parses one line. `repaired` is where the line is rewritten if it holds halves of surrogate pairs.
    pub(crate) fn parse(line: &'a str, repaired: &'a mut String) -> Result<Self, ErrorKind> {
        match serde_json::from_str(line) {
            Ok(fields) => Ok(fields),
            // Text cut in the middle of an emoji is common in web data; the standard parser refuses it.
            Err(_) if replace_lone_surrogates(line, repaired) => parse(repaired),
            Err(error) => Err(malformed(&error)),
        }
    }

    fn get(&self, name: &str) -> Option<&Scalar<'a>> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    /// The first of the named fields that is present and not null, as text.
    pub(crate) fn text(&self, names: &[&str]) -> Result<&str, ErrorKind> {
        for name in names {
            match self.get(name) {
                None | Some(Scalar::Null) => {}
                Some(Scalar::Text(text)) => return Ok(text),
                Some(other) => return Err(other.wrong(name, "a string")),
            }
        }
        Ok("")
    }

    /// The first of the named fields that is present, as an identifier: a string that is not empty, or an integer.
    pub(crate) fn id(&self, names: &[&str], expected: &'static str) -> Result<String, ErrorKind> {
        for name in names {
            match self.get(name) {
                None | Some(Scalar::Null) => {}
                Some(Scalar::Text(text)) if text.trim().is_empty() => {}
                Some(Scalar::Text(text)) => return Ok(text.clone().into_owned()),
                Some(Scalar::Unsigned(value)) => return Ok(value.to_string()),
                Some(Scalar::Negative(value)) => return Ok(value.to_string()),
                Some(other) => {
                    return Err(other.wrong(name, "a string or an integer of at most 64 bits"));
                }
            }
        }
        Err(ErrorKind::MissingId { expected })
    }
}

fn parse(line: &str) -> Result<Fields<'_>, ErrorKind> {
    serde_json::from_str(line).map_err(|error| malformed(&error))
}

/// The parser's message without its "at line 1", which would be mistaken for the line of the file.
fn malformed(error: &serde_json::Error) -> ErrorKind {
    let full = error.to_string();
    let message = full
        .rsplit_once(" at line ")
        .map_or(full.as_str(), |(message, _)| message);
    // A line that is JSON but no object has no column.
    let detail = match error.column() {
        0 => message.to_owned(),
        column => format!("{message} at column {column}"),
    };
    ErrorKind::Json { detail }
}

/// Rewrites `\ud83d` without its other half as `\ufffd`; false if there is nothing to rewrite.
fn replace_lone_surrogates(line: &str, out: &mut String) -> bool {
    out.clear();
    let bytes = line.as_bytes();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        match unicode_escape(bytes, at) {
            Some(0xd800..=0xdbff)
                if matches!(unicode_escape(bytes, at + 6), Some(0xdc00..=0xdfff)) =>
            {
                at += 12;
            }
            Some(0xd800..=0xdfff) => {
                out.push_str(&line[copied..at]);
                out.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // The character after a backslash is never a backslash that opens an escape of its own.
            _ => at = (at + 2).min(bytes.len()),
        }
    }
    if copied > 0 {
        out.push_str(&line[copied..]);
    }
    copied > 0
}

/// The code unit of a `\uXXXX` at this offset.
fn unicode_escape(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |value, &digit| {
        Some(value * 16 + char::from(digit).to_digit(16)?)
    })
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(4);
                while let Some(Key(name)) = map.next_key()? {
                    fields.push((name, map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// A field name, borrowed where it holds no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }

            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(name)))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;
        impl<'de> Visitor<'de> for ScalarVisitor {
            type Value = Scalar<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
                Ok(Scalar::Unsigned(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                Ok(Scalar::Negative(value))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                Ok(Scalar::Float(value))
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Scalar::Bool)
            }

            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(Scalar::Null)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar::Array)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar::Object)
            }
        }
        deserializer.deserialize_any(ScalarVisitor)
    }
}
