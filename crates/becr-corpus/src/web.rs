//! From a WARC record to a document.

use crate::charset::decode_page;
use crate::error::ErrorKind;
use crate::html::page;
use crate::http::{Headers, Response};
use crate::records::Content;
use crate::warc::LONGEST_RECORD;
use becr_basics::Document;

const NOT_A_PAGE: &str = "web record that is not a text page";
const NO_TEXT: &str = "web page without text";

/// What a record holds; `None` for records about the crawl itself.
pub(crate) fn content(record: &Headers, body: &[u8]) -> Option<Result<Content, ErrorKind>> {
    match record.get("WARC-Type") {
        Some("response") => Some(match Response::parse(body, LONGEST_RECORD) {
            Some(response) if (200..300).contains(&response.status) => {
                document(record, &response.headers, &response.content)
            }
            _ => Ok(Content::LeftOut(NOT_A_PAGE)),
        }),
        // What is stored without a request has no HTTP header: its type stands in the record's own.
        Some("resource" | "conversion") => Some(document(record, record, body)),
        _ => None,
    }
}

/// The document of a record whose content is described by these headers.
fn document(record: &Headers, described: &Headers, content: &[u8]) -> Result<Content, ErrorKind> {
    let decoded = || decode_page(content, described.charset());
    let (title, text) = match described.media_type().as_str() {
        "" | "text/html" | "application/xhtml+xml" => {
            let page = page(&decoded());
            (page.title, page.text)
        }
        "text/plain" => (String::new(), decoded().into_owned()),
        _ => return Ok(Content::LeftOut(NOT_A_PAGE)),
    };
    let id = record
        .get("WARC-TREC-ID")
        .or_else(|| record.get("WARC-Record-ID"));
    let id = id.unwrap_or_default().trim_matches(['<', '>']).to_owned();
    if id.is_empty() {
        return Err(ErrorKind::MissingId {
            expected: "a WARC-TREC-ID or WARC-Record-ID header",
        });
    }
    let document = Document {
        id,
        title,
        text,
        ..Document::default()
    };
    // Frames, redirects and pages of pictures are common in a crawl and nobody's mistake.
    Ok(if document.is_blank() {
        Content::LeftOut(NO_TEXT)
    } else {
        Content::Document(document)
    })
}
