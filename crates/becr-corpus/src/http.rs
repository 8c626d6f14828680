//! The HTTP response inside a WARC record: its header, and its content with transfer and content encodings undone.

use std::borrow::Cow;
use std::io::Read;

/// Header lines, names in any case.
#[derive(Debug, Default)]
pub(crate) struct Headers(Vec<(String, String)>);

impl Headers {
    /// Adds a `Name: value` line; other lines are no headers and are passed over.
    pub(crate) fn add(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        if let Some((name, value)) = line.split_once(':') {
            self.0
                .push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, value)| known.eq_ignore_ascii_case(name) && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// The media type without its parameters, in lower case.
    pub(crate) fn media_type(&self) -> String {
        let full = self.get("Content-Type").unwrap_or_default();
        full.split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
    }

    /// The encoding named in `Content-Type`.
    pub(crate) fn charset(&self) -> Option<&str> {
        let parameters = self.get("Content-Type")?.split(';').skip(1);
        parameters
            .filter_map(|parameter| parameter.split_once('='))
            .find_map(|(name, value)| {
                name.trim()
                    .eq_ignore_ascii_case("charset")
                    .then(|| value.trim().trim_matches(['"', '\'']))
            })
    }
}

/// A response as it was stored.
#[derive(Debug)]
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) content: Cow<'a, [u8]>,
}

impl<'a> Response<'a> {
    /// Reads a response; `None` if it does not begin with an HTTP status line. No content grows beyond `limit`.
    pub(crate) fn parse(bytes: &'a [u8], limit: usize) -> Option<Self> {
        let mut rest = bytes;
        let first = take_line(&mut rest);
        let line = std::str::from_utf8(first.strip_prefix(b"HTTP/")?).ok()?;
        let status = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
        let mut headers = Headers::default();
        while !rest.is_empty() {
            match take_line(&mut rest) {
                [] => break,
                line => headers.add(line),
            }
        }
        let mut content = Cow::Borrowed(rest);
        if headers
            .get("Transfer-Encoding")
            .is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
            && let Some(joined) = join_chunks(&content)
        {
            content = Cow::Owned(joined);
        }
        if content.starts_with(&[0x1f, 0x8b]) {
            content = Cow::Owned(gunzip(&content, limit));
        }
        Some(Self {
            status,
            headers,
            content,
        })
    }
}

/// The next line without its end.
fn take_line<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let (line, next) = match memchr::memchr(b'\n', rest) {
        Some(end) => (&rest[..end], &rest[end + 1..]),
        None => (*rest, &rest[rest.len()..]),
    };
    *rest = next;
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Undoes chunked transfer; `None` if the content is not in chunks after all, as crawlers often store it.
fn join_chunks(content: &[u8]) -> Option<Vec<u8>> {
    let (mut rest, mut joined) = (content, Vec::new());
    loop {
        let line = take_line(&mut rest);
        let digits = line.split(|&byte| byte == b';').next()?.trim_ascii();
        let size = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        if size == 0 {
            return Some(joined);
        }
        joined.extend_from_slice(&rest[..size.min(rest.len())]);
        rest = rest.get(size..).unwrap_or_default();
        take_line(&mut rest);
        if rest.is_empty() {
            return Some(joined);
        }
    }
}

/// What can be unpacked of a compressed page, up to `limit` bytes.
fn gunzip(content: &[u8], limit: usize) -> Vec<u8> {
    let mut page = Vec::new();
    // A page cut short still has its beginning: the error says no more than that.
    let _cut_short = flate2::read::MultiGzDecoder::new(content)
        .take(limit as u64)
        .read_to_end(&mut page);
    page
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn reads_status_headers_and_content() {
        let response = Response::parse(
            b"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; Charset=\"UTF-8\"\r\nodd line\r\n\r\nbody\r\n",
            100,
        )
        .unwrap();
        assert_eq!(response.status, 200);
        assert_eq!(response.headers.media_type(), "text/html");
        assert_eq!(response.headers.charset(), Some("UTF-8"));
        assert_eq!(&*response.content, b"body\r\n");
        assert!(Response::parse(b"<html>", 100).is_none());
    }

    #[test]
    fn undoes_chunks_and_gzip() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(b"packed page").unwrap();
        let packed = gzip.finish().unwrap();
        let (first, second) = packed.split_at(7);
        let mut bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7\r\n".to_vec();
        bytes.extend_from_slice(first);
        bytes.extend_from_slice(format!("\r\n{:x};x=y\r\n", second.len()).as_bytes());
        bytes.extend_from_slice(second);
        bytes.extend_from_slice(b"\r\n0\r\n\r\n");
        assert_eq!(
            &*Response::parse(&bytes, 100).unwrap().content,
            b"packed page"
        );
        assert_eq!(&*Response::parse(&bytes, 6).unwrap().content, b"packed");
        let plain = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<html>";
        assert_eq!(&*Response::parse(plain, 100).unwrap().content, b"<html>");
    }
}
