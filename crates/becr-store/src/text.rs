//! Title and text of a document, kept for display.

/// What a document said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
}

const LEVEL: i32 = 3;
/// Separates title and text: no text has it, since it is no character.
const BORDER: u8 = 0xff;

impl Text {
    /// Title and text, compressed.
    pub fn encode(title: &str, text: &str) -> std::io::Result<Vec<u8>> {
        let mut plain = Vec::with_capacity(title.len() + text.len() + 1);
        plain.extend_from_slice(title.as_bytes());
        plain.push(BORDER);
        plain.extend_from_slice(text.as_bytes());
        zstd::encode_all(plain.as_slice(), LEVEL)
    }

    /// Reads what [`Text::encode`] wrote; `None` if it cannot be.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let plain = zstd::decode_all(bytes).ok()?;
        let border = plain.iter().position(|&byte| byte == BORDER)?;
        let (title, text) = (&plain[..border], &plain[border + 1..]);
        let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some(Self {
            title: string(title)?,
            text: string(text)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(title in any::<String>(), text in any::<String>()) {
            let bytes = Text::encode(&title, &text).unwrap();
            prop_assert_eq!(Text::decode(&bytes), Some(Text { title, text }));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Text::decode(&bytes);
        }
    }
}
