//! From bytes of unknown encoding to text. What cannot be decoded becomes U+FFFD; a user's own file may be no text at all.

use std::borrow::Cow;

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, WINDOWS_1258};

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

/// Text of a user's own file, and the encoding that it had to be converted from, if it is not UTF-8. A byte order mark decides;
/// then the zeros of UTF-16; then what letters and words are likely in. `None` for what is not text: the place of the byte
/// that says so.
pub(crate) fn decode_note(bytes: &[u8]) -> Result<(Cow<'_, str>, Option<&'static str>), usize> {
    let marked = Encoding::for_bom(bytes).filter(|(encoding, _)| *encoding != UTF_8);
    if let Some((encoding, mark)) = marked.or_else(|| unmarked_utf16(bytes).map(|it| (it, 0))) {
        let text = encoding.decode_without_bom_handling(&bytes[mark..]).0;
        return Ok((text, Some(encoding.name())));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok((Cow::Borrowed(text), None));
    }
    if let Some(at) = memchr::memchr(0, bytes) {
        return Err(at);
    }
    let controls = bytes.iter().filter(|&&byte| is_control(byte)).count();
    if controls * 100 > bytes.len() {
        return Err(bytes.iter().position(|&byte| is_control(byte)).unwrap_or(0));
    }
    if is_mostly_utf8(bytes) {
        return Ok((String::from_utf8_lossy(bytes), Some(DAMAGED)));
    }
    let mut detector = EncodingDetector::new();
    detector.feed(bytes, true);
    let mut encoding = detector.guess(None, false);
    // The two differ in a few letters; a handful of accents says nothing for the one of Vietnam.
    if encoding == WINDOWS_1258 && bytes.iter().filter(|byte| !byte.is_ascii()).count() < 20 {
        encoding = WINDOWS_1252;
    }
    let text = encoding.decode_without_bom_handling(bytes).0;
    Ok((text, Some(encoding.name())))
}

/// What UTF-8 with a few bad bytes is said to be.
const DAMAGED: &str = "UTF-8 with bytes that are not";

/// Whether the beginning of a file looks like text.
pub(crate) fn looks_like_text(head: &[u8]) -> bool {
    // A character may be cut at the end of what was read.
    !head.is_empty() && decode_note(head).is_ok_and(|(text, _)| !text.contains('\0'))
}

/// UTF-16 without a mark: in texts of the alphabets of Europe most letters have a zero in the same half.
fn unmarked_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(PRESCAN) & !1];
    let zeros = |half: usize| {
        head.iter()
            .skip(half)
            .step_by(2)
            .filter(|&&b| b == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    let (many, few) = (head.len() / 5, head.len() / 100);
    match (even, odd) {
        _ if head.len() < 4 || bytes.len() % 2 == 1 => None,
        (even, odd) if odd > many && even <= few => Some(UTF_16LE),
        (even, odd) if even > many && odd <= few => Some(UTF_16BE),
        _ => None,
    }
}

/// A byte that no text has: neither a blank nor an escape of a terminal.
fn is_control(byte: u8) -> bool {
    byte < 0x20
        && !matches!(
            byte,
            b'\t' | b'\n' | b'\r' | 0x08 | 0x0b | 0x0c | 0x1a | 0x1b
        )
}

/// Whether there are more characters of several bytes than bytes that fit nowhere: in other encodings that does not happen.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > bad
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
    fn a_note_is_text_in_any_encoding() {
        let read = |bytes: &[u8]| decode_note(bytes).map(|(text, from)| (text.into_owned(), from));
        let russian = encoding_rs::KOI8_R
            .encode("Сова охотится ночью на мышей, а днём спит.")
            .0;
        for (bytes, text, from) in [
            (&b"\xef\xbb\xbfok"[..], "ok", None),
            (b"\xfe\xff\0o\0k", "ok", Some("UTF-16BE")),
            (b"o\0w\0l\0s\0", "owls", Some("UTF-16LE")),
            (
                b"un caf\xe9 cr\xe8me",
                "un café crème",
                Some("windows-1252"),
            ),
            (
                &russian,
                "Сова охотится ночью на мышей, а днём спит.",
                Some("KOI8-U"),
            ),
            ("Müll, Öl \u{fffd}".as_bytes(), "Müll, Öl \u{fffd}", None),
            (
                b"M\xc3\xbcll, \xc3\x96l \xff",
                "Müll, Öl \u{fffd}",
                Some(DAMAGED),
            ),
        ] {
            assert_eq!(read(bytes), Ok((text.to_owned(), from)));
        }
        for (bytes, at) in [(&b"\x7fELF\x02\0\xff"[..], 5), (b"ab\xff\x01\x02", 3)] {
            assert_eq!(read(bytes), Err(at));
        }
    }
}
