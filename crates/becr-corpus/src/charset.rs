//! From bytes of unknown encoding to text. Never fails: what cannot be decoded becomes U+FFFD.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How far into a page its own declaration is looked for.
const PRESCAN: usize = 4096;

/// Text of a web page. A byte order mark decides; then text that is valid UTF-8 beyond ASCII is UTF-8, whatever a server's
/// default says; then the server's header, the page's own declaration, and Windows-1252, the Web's default.
pub(crate) fn decode_page<'a>(bytes: &'a [u8], header: Option<&str>) -> Cow<'a, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark..]).0;
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.is_ascii()
    {
        return Cow::Borrowed(text);
    }
    let declared = header
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| declared(bytes));
    declared
        .unwrap_or(WINDOWS_1252)
        .decode_without_bom_handling(bytes)
        .0
}

/// Text of an old collection: UTF-8 if it is, else Windows-1252, which takes in Latin-1.
pub(crate) fn decode_legacy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

/// Text of a user's own file: UTF-8, or UTF-16 that says so by its byte order mark.
pub(crate) fn decode_note(bytes: &[u8]) -> Result<Cow<'_, str>, std::str::Utf8Error> {
    match Encoding::for_bom(bytes) {
        Some((encoding, mark)) if encoding == UTF_16LE || encoding == UTF_16BE => {
            Ok(encoding.decode_without_bom_handling(&bytes[mark..]).0)
        }
        _ => std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
            .map(Cow::Borrowed),
    }
}

/// The encoding a page names in `<meta charset=…>`, `<meta … content="…; charset=…">` or `<?xml … encoding="…"?>`.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(PRESCAN)].to_ascii_lowercase();
    [b"charset".as_slice(), b"encoding"]
        .iter()
        .find_map(|word| {
            memchr::memmem::find_iter(&head, word)
                .find_map(|at| label(&head[at + word.len()..]))
                .map(|encoding| {
                    // A page whose declaration could be read as ASCII is not UTF-16.
                    if encoding == UTF_16LE || encoding == UTF_16BE {
                        UTF_8
                    } else {
                        encoding
                    }
                })
        })
}

/// The encoding named after `charset`, as in `="utf-8"`.
fn label(after: &[u8]) -> Option<&'static Encoding> {
    let value = after
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let value = value
        .strip_prefix(b"\"")
        .or_else(|| value.strip_prefix(b"'"))
        .unwrap_or(value);
    let end = value
        .iter()
        .position(|&byte| !(byte.is_ascii_alphanumeric() || b"-_:.".contains(&byte)));
    Encoding::for_label(&value[..end.unwrap_or(value.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_decoded_by_mark_content_header_declaration_and_default() {
        assert_eq!(decode_page(b"\xff\xfeh\0i\0", Some("utf-8")), "hi");
        assert_eq!(decode_page("né".as_bytes(), Some("iso-8859-1")), "né");
        assert_eq!(decode_page(b"\xcf\xf0\xe8", Some("windows-1251")), "При");
        assert_eq!(
            decode_page(b"<meta charset='koi8-r'>\xf0", None),
            "<meta charset='koi8-r'>П"
        );
        assert_eq!(
            decode_page(
                b"<meta content=\"text/html; charset=windows-1251\">\xcf",
                None
            )
            .chars()
            .last(),
            Some('П')
        );
        assert_eq!(
            decode_page(
                b"<?xml version=\"1.0\" encoding=\"shift_jis\"?>\x82\xa0",
                None
            )
            .chars()
            .last(),
            Some('あ')
        );
        assert_eq!(decode_page(b"na\xefve \x93q\x94", None), "naïve “q”");
        assert_eq!(
            decode_page(b"<meta charset=utf-16>a\xe9", None),
            "<meta charset=utf-16>a\u{fffd}"
        );
    }

    #[test]
    fn a_note_is_utf8_or_marked_utf16() {
        assert_eq!(decode_note(b"\xef\xbb\xbfok").unwrap(), "ok");
        assert_eq!(decode_note(b"\xfe\xff\0o\0k").unwrap(), "ok");
        assert!(decode_note(b"caf\xe9").is_err());
    }
}
