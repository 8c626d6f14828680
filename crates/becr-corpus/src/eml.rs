//! Letters of electronic mail: the headers that people read, and the parts that are text (RFC 5322, 2045 to 2047).

use std::borrow::Cow;

use encoding_rs::Encoding;

use crate::charset::{decode_note, decode_page};
use crate::html;

/// Headers that are shown above the text.
const SHOWN: [&str; 5] = ["From", "To", "Cc", "Date", "Reply-To"];
/// Parts inside of parts; nobody nests deeper on purpose.
const DEEPEST: usize = 16;

/// Title and text of a letter: its subject; sender, receivers and date, then the parts that are text. Of alternatives with the
/// same content the plain one is taken. Attachments are named.
pub(crate) fn letter(bytes: &[u8]) -> (String, String) {
    let part = Part::of(bytes);
    let title = part.header("Subject").map(|value| decode_words(&value));
    let mut pieces: Vec<String> = SHOWN
        .iter()
        .filter_map(|name| Some(format!("{name}: {}", decode_words(&part.header(name)?))))
        .collect();
    let head = pieces.join("\n");
    pieces = vec![head];
    part.texts(&mut pieces, 0);
    let pieces = pieces.iter().map(|piece| piece.trim());
    let pieces: Vec<&str> = pieces.filter(|piece| !piece.is_empty()).collect();
    (one_line(&title.unwrap_or_default()), pieces.join("\n\n"))
}

/// A letter, or a part of one.
struct Part<'a> {
    headers: Vec<(String, String)>,
    body: &'a [u8],
}

impl<'a> Part<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (line, next) = rest.split_at(end);
            rest = next;
            let line = line.trim_ascii_end();
            if line.is_empty() {
                break;
            }
            let text = match decode_note(line) {
                Ok((text, _)) => text,
                Err(_) => String::from_utf8_lossy(line),
            };
            match (line[0], headers.last_mut()) {
                // A long header goes on in the next line.
                (b' ' | b'\t', Some((_, value))) => {
                    value.push(' ');
                    value.push_str(text.trim());
                }
                _ => {
                    if let Some((name, value)) = text.split_once(':') {
                        headers.push((name.trim().to_owned(), value.trim().to_owned()));
                    }
                }
            }
        }
        Self {
            headers,
            body: rest,
        }
    }

    fn header(&self, name: &str) -> Option<String> {
        let is = |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        self.headers.iter().find(is).map(|(_, value)| value.clone())
    }

    /// Type and parameters, lower case but for the values of parameters.
    fn kind(&self) -> (String, Vec<(String, String)>) {
        parameters(&self.header("Content-Type").unwrap_or_default())
    }

    /// Adds the texts of this part and of those inside.
    fn texts(&self, pieces: &mut Vec<String>, depth: usize) {
        let (kind, parameters) = self.kind();
        let value = |name: &str| {
            let found = parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        let name = self
            .attachment()
            .or_else(|| value("name").map(str::to_owned));
        let is_attached = name.is_some();
        pieces.extend(name.map(|name| decode_words(&name)));
        // What is attached without a type may be anything.
        if is_attached && kind.is_empty() {
            return;
        }
        let charset = value("charset");
        match kind.as_str() {
            "" | "text/plain" => pieces.push(self.decoded(charset)),
            "text/html" => {
                let content = self.content();
                pieces.push(html::page(&decode_page(&content, charset)).text);
            }
            "message/rfc822" if depth < DEEPEST => {
                let content = self.content();
                let (title, text) = letter(&content);
                pieces.extend([title, text]);
            }
            kind if kind.starts_with("multipart/") && depth < DEEPEST => {
                let parts = value("boundary").map_or_else(Vec::new, |mark| split(self.body, mark));
                let parts: Vec<Part<'_>> = parts.into_iter().map(Part::of).collect();
                let plain = parts.iter().find(|part| {
                    let kind = part.kind().0;
                    kind.is_empty() || kind == "text/plain"
                });
                match plain.filter(|_| kind == "multipart/alternative") {
                    Some(plain) => plain.texts(pieces, depth + 1),
                    None => parts.iter().for_each(|part| part.texts(pieces, depth + 1)),
                }
            }
            _ => {}
        }
    }

    /// The file name of an attachment.
    fn attachment(&self) -> Option<String> {
        let (disposition, parameters) = parameters(&self.header("Content-Disposition")?);
        let name = parameters.into_iter().find(|(name, _)| name == "filename");
        match (disposition.as_str(), name) {
            (_, Some((_, name))) => Some(name),
            ("attachment", None) => Some(String::new()),
            _ => None,
        }
    }

    fn decoded(&self, charset: Option<&str>) -> String {
        let content = self.content();
        let labelled = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
        match labelled {
            Some(encoding) => encoding.decode(&content).0.into_owned(),
            None => match decode_note(&content) {
                Ok((text, _)) => text.into_owned(),
                Err(_) => String::from_utf8_lossy(&content).into_owned(),
            },
        }
    }

    /// The body, its transfer encoding undone.
    fn content(&self) -> Cow<'a, [u8]> {
        let encoding = self.header("Content-Transfer-Encoding").unwrap_or_default();
        match encoding.trim().to_ascii_lowercase().as_str() {
            "base64" => Cow::Owned(base64(self.body)),
            "quoted-printable" => Cow::Owned(quoted_printable(self.body, false)),
            _ => Cow::Borrowed(self.body),
        }
    }
}

/// `text/plain; charset="utf-8"`: what stands before, and the parameters. Continued ones (`name*0=`) are joined by their base name.
fn parameters(value: &str) -> (String, Vec<(String, String)>) {
    let mut parts = value.split(';');
    let kind = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let mut found: Vec<(String, String)> = Vec::new();
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        let name = name.trim().to_ascii_lowercase();
        let base = name.split('*').next().unwrap_or(&name).to_owned();
        let value = value.trim().trim_matches('"');
        match found.iter_mut().find(|(known, _)| *known == base) {
            Some((_, all)) if name.contains('*') => all.push_str(value),
            _ => found.push((base, value.to_owned())),
        }
    }
    (kind, found)
}

/// The parts between lines of `--boundary`.
fn split<'a>(body: &'a [u8], boundary: &str) -> Vec<&'a [u8]> {
    let mark = format!("--{boundary}");
    let (mut parts, mut begun) = (Vec::new(), None);
    let mut at = 0;
    for line in body.split_inclusive(|&byte| byte == b'\n') {
        if let Some(rest) = line.strip_prefix(mark.as_bytes())
            && matches!(rest.trim_ascii(), b"" | b"--")
        {
            if let Some(start) = begun {
                parts.push(&body[start..at]);
            }
            begun = (rest.trim_ascii() != b"--").then_some(at + line.len());
        }
        at += line.len();
    }
    // A letter that was cut short.
    parts.extend(begun.map(|start| &body[start..]));
    parts
}

/// What can be read of base64; everything else is passed over, as the standard says.
fn base64(text: &[u8]) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for &byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            _ => continue,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}

/// Undoes `=E9` and line ends behind `=`; in headers `_` is a blank.
fn quoted_printable(text: &[u8], in_header: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'_' if in_header => bytes.push(b' '),
            b'=' => {
                let digits = after
                    .get(..2)
                    .and_then(|pair| std::str::from_utf8(pair).ok());
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                let line = after
                    .strip_prefix(b"\r\n")
                    .or_else(|| after.strip_prefix(b"\n"));
                match (byte, line) {
                    (Some(byte), _) => {
                        bytes.push(byte);
                        rest = &after[2..];
                    }
                    (None, Some(line)) => rest = line,
                    (None, None) => bytes.push(b'='),
                }
            }
            byte => bytes.push(byte),
        }
    }
    bytes
}

/// Undoes `=?utf-8?Q?caf=C3=A9?=` in a header.
fn decode_words(value: &str) -> String {
    let (mut text, mut rest) = (String::new(), value);
    let mut was_word = false;
    while let Some(at) = rest.find("=?") {
        let word = rest[at + 2..]
            .split_once("?=")
            .and_then(|_| encoded_word(&rest[at..]));
        let before = &rest[..at];
        let Some((decoded, length)) = word else {
            text.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            was_word = false;
            continue;
        };
        // Blanks between two such words are not part of the text.
        if !(was_word && before.trim().is_empty()) {
            text.push_str(before);
        }
        text.push_str(&decoded);
        rest = &rest[at + length..];
        was_word = true;
    }
    text + rest
}

/// The encoded word that begins here, and its length.
fn encoded_word(text: &str) -> Option<(String, usize)> {
    let mut parts = text[2..].splitn(4, '?');
    let (charset, encoding, content, rest) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    rest.strip_prefix('=')?;
    let bytes = match encoding {
        "Q" | "q" => quoted_printable(content.as_bytes(), true),
        "B" | "b" => base64(content.as_bytes()),
        _ => return None,
    };
    let encoding = Encoding::for_label(charset.split('*').next()?.as_bytes())?;
    let length = 2 + charset.len() + 1 + 1 + 1 + content.len() + 2;
    Some((encoding.decode(&bytes).0.into_owned(), length))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_and_texts() {
        let source = "Received: no\r\nSubject: =?utf-8?Q?Caf=C3=A9_?=\r\n =?iso-8859-1?B?6XTp?= tonight\r\nFrom: A <a@b.c>\r\n\
                      Content-Type: multipart/mixed; boundary=\"x y\"\r\n\r\nno\r\n--x y\r\nContent-Type: multipart/alternative; boundary=z\r\n\r\n\
                      --z\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nd=E9j=\r\n=E0 vu\r\n\
                      --z\r\nContent-Type: text/html\r\n\r\n<p>no</p>\r\n--z--\r\n--x y\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n\
                      PGI+b3dsPC9i\r\nPjxicj5taWNl\r\n--x y\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"barn.pdf\"\r\n\r\nno\r\n--x y--\r\nno\r\n";
        let (title, text) = letter(source.as_bytes());
        assert_eq!(title, "Café été tonight");
        assert_eq!(text, "From: A <a@b.c>\n\ndéjà vu\n\nowl\nmice\n\nbarn.pdf");
        let (title, text) = letter(b"subject: x =?no =?utf-8?X?a?=\n\ncaf\xe9 cr\xe8me");
        assert_eq!(
            (title.as_str(), text.as_str()),
            ("x =?no =?utf-8?X?a?=", "café crème")
        );
    }

    proptest! {
        #[test]
        fn takes_anything(pieces in prop::collection::vec(prop::sample::select(vec![
            "Subject: ", "Content-Type: multipart/mixed; boundary=a\n", "Content-Type: message/rfc822\n", "--a\n", "--a--\n", "\n", "=?utf-8?Q?",
            "=?", "?=", "=", "é", "Content-Transfer-Encoding: base64\n", "a", " ", "filename*0=", ";", "Content-Disposition: x; ",
        ]), 0..40)) {
            letter(pieces.concat().as_bytes());
        }
    }
}
