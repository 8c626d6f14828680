//! JSON lines: one object a line with `id` or `_id`, `title`, `text`; other numbers become features.

use crate::error::{ErrorKind, Fault};
use crate::json::Fields;
use crate::lines::Lines;
use crate::records::{Found, Records};
use becr_basics::Document;

const ID: [&str; 2] = ["id", "_id"];
/// `contents` is what Lucene-based tools write, `body` what crawls do.
const TEXT: [&str; 3] = ["text", "contents", "body"];
const TITLE: [&str; 1] = ["title"];

/// Documents of a JSON lines file.
pub(crate) struct Jsonl {
    lines: Lines,
}

impl Jsonl {
    pub(crate) fn new(lines: Lines) -> Self {
        Self { lines }
    }
}

impl Records for Jsonl {
    fn next(&mut self) -> Option<Result<Found, Fault>> {
        loop {
            let (number, line) = match self.lines.next_text()? {
                Ok(line) => line,
                Err(fault) => return Some(Err(fault)),
            };
            if !line.trim_ascii().is_empty() {
                return Some(
                    document(line)
                        .map(|document| Found::line(number, document))
                        .map_err(|kind| Fault::line(number, kind)),
                );
            }
        }
    }
}

/// The document of one line.
fn document(line: &str) -> Result<Document, ErrorKind> {
    let mut repaired = String::new();
    let fields = Fields::parse(line, &mut repaired)?;
    Ok(Document {
        id: fields.id(&ID, "a field \"id\" or \"_id\" with a string or an integer")?,
        title: fields.text(&TITLE)?.to_owned(),
        text: fields.text(&TEXT)?.to_owned(),
        features: features(&fields)?,
    })
}

/// Every number that is not the document's id.
fn features(fields: &Fields<'_>) -> Result<Vec<(String, f32)>, ErrorKind> {
    let mut features = Vec::new();
    for (name, value) in &fields.0 {
        let Some(number) = value.number().filter(|_| !ID.contains(&name.as_ref())) else {
            continue;
        };
        let narrow = number as f32;
        if !narrow.is_finite() {
            return Err(ErrorKind::FeatureRange {
                field: name.clone().into_owned(),
                found: number,
            });
        }
        features.push((name.clone().into_owned(), narrow));
    }
    // The sort is stable, so of equal names the last one given ends up last and is the one kept.
    features.sort_by(|(a, _): &(String, f32), (b, _)| a.cmp(b));
    features.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 = later.1;
        }
        same
    });
    Ok(features)
}
