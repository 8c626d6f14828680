//! MS MARCO's tab-separated collections: passages `id, text` and documents `id, url, title, body`.

use crate::error::{ErrorKind, Fault};
use crate::lines::Lines;
use crate::records::{Found, Records};
use becr_basics::Document;

/// Documents of a tab-separated file.
pub(crate) struct MsMarco {
    lines: Lines,
    /// Columns of the first good line: the others must agree, so that a stray tab does not make a title of a text.
    columns: Option<usize>,
}

impl MsMarco {
    pub(crate) fn new(lines: Lines) -> Self {
        Self {
            lines,
            columns: None,
        }
    }
}

impl Records for MsMarco {
    fn next(&mut self) -> Option<Result<Found, Fault>> {
        loop {
            let (number, line) = match self.lines.next_text()? {
                Ok(line) => line,
                Err(fault) => return Some(Err(fault)),
            };
            if !line.trim_ascii().is_empty() {
                return Some(
                    document(line, &mut self.columns)
                        .map(|document| Found::line(number, document))
                        .map_err(|kind| Fault::line(number, kind)),
                );
            }
        }
    }
}

fn document(line: &str, columns: &mut Option<usize>) -> Result<Document, ErrorKind> {
    let found = memchr::memchr_iter(b'\t', line.as_bytes()).count() + 1;
    let expected = match columns {
        None => "2 (id, text) or 4 (id, url, title, body)",
        Some(2) => "2 (id, text) as on the lines before",
        Some(_) => "4 (id, url, title, body) as on the lines before",
    };
    let mut cells = line.split('\t');
    let mut cell = || cells.next().unwrap_or_default();
    let document = match (found, columns.unwrap_or(found)) {
        (2, 2) => Document {
            id: cell().trim().to_owned(),
            text: cell().to_owned(),
            ..Document::default()
        },
        (4, 4) => {
            let (id, _url, title, text) = (cell(), cell(), cell(), cell());
            Document {
                id: id.trim().to_owned(),
                title: title.to_owned(),
                text: text.to_owned(),
                ..Document::default()
            }
        }
        _ => return Err(ErrorKind::Columns { expected, found }),
    };
    if document.id.is_empty() {
        return Err(ErrorKind::MissingId {
            expected: "the id in the first column",
        });
    }
    *columns = Some(found);
    Ok(document)
}
