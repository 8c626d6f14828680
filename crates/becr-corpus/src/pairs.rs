//! Training pairs: JSON lines with a query and the document that answers it.

use std::path::{Path, PathBuf};

use crate::error::{CorpusError, ErrorKind, Fault};
use crate::input::Input;
use crate::json::Fields;
use crate::lines::Lines;
use crate::progress::Progress;
use crate::skip::{OnError, SkipReport};

/// A query and a document that answers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// Identifier of the document.
    pub id: String,
    /// What was asked.
    pub query: String,
    /// Title of the document; empty where it has none.
    pub title: String,
    /// Its text.
    pub text: String,
}

/// A stream of pairs, one JSON object a line with `id`, `query`, `title` and `text`, plain or compressed.
///
/// A pair without a query, or whose document has neither title nor text, is a fault. Ids may come twice: a document
/// may answer several queries.
pub struct Pairs {
    lines: Lines,
    path: PathBuf,
    on_error: OnError,
    report: SkipReport,
    stopped: bool,
}

impl Pairs {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path, on_error: OnError) -> Result<Self, CorpusError> {
        Ok(Self {
            lines: Lines::new(Input::open(path, Progress::default())?),
            path: path.to_owned(),
            on_error,
            report: SkipReport::default(),
            stopped: false,
        })
    }

    /// What has been passed over so far.
    pub fn skipped(&self) -> &SkipReport {
        &self.report
    }

    fn advance(&mut self) -> Option<Result<Pair, Fault>> {
        loop {
            match self.lines.next_text()? {
                Err(fault) => return Some(Err(fault)),
                Ok((_, line)) if line.trim_ascii().is_empty() => {}
                Ok((number, line)) => {
                    return Some(pair(line).map_err(|kind| Fault::line(number, kind)));
                }
            }
        }
    }
}

impl Iterator for Pairs {
    type Item = Result<Pair, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.stopped {
            let error = match self.advance()? {
                Ok(pair) => return Some(Ok(pair)),
                Err(fault) => fault.at(&self.path),
            };
            if self.on_error == OnError::Stop || matches!(error.kind, ErrorKind::Io(_)) {
                self.stopped = true;
                return Some(Err(error));
            }
            self.report.add_fault(&error);
        }
        None
    }
}

fn pair(line: &str) -> Result<Pair, ErrorKind> {
    let mut repaired = String::new();
    let fields = Fields::parse(line, &mut repaired)?;
    let text = |name| fields.text(&[name]).map(|text| text.trim().to_owned());
    let pair = Pair {
        id: fields.id(
            &["id", "_id"],
            "a field \"id\" or \"_id\" with a string or an integer",
        )?,
        query: text("query")?,
        title: text("title")?,
        text: text("text")?,
    };
    if pair.query.is_empty() {
        return Err(ErrorKind::NoQuery { id: pair.id });
    }
    if pair.title.is_empty() && pair.text.is_empty() {
        return Err(ErrorKind::Empty { id: pair.id });
    }
    Ok(pair)
}
