//! Query files: TSV, JSON lines, TREC topics.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use crate::error::{CorpusError, ErrorKind, Fault, Place, not_utf8};
use crate::format::Format;
use crate::input::Input;
use crate::json::Fields;
use crate::lines::{LONGEST, Lines};
use crate::progress::Progress;
use crate::skip::{OnError, SkipReport};
use crate::topics::topics;

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its identifier, as qrels and runs name it.
    pub id: String,
    /// Its words.
    pub text: String,
}

/// Which part of a TREC topic is the query. TSV and JSON lines have one text only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopicField {
    /// The title: a few key words.
    #[default]
    Title,
    /// The description: a sentence.
    Description,
    /// The title, then the description.
    Both,
}

/// How to read a query file.
#[derive(Clone, Debug, Default)]
pub struct QueryOptions {
    /// The part of a topic to take.
    pub topic_field: TopicField,
    /// Whether a bad query ends the reading or is counted and left out.
    pub on_error: OnError,
}

/// The queries of a file, in its order, and what was passed over.
#[derive(Clone, Debug, Default)]
pub struct Queries {
    /// The queries.
    pub queries: Vec<Query>,
    /// Faults skipped under [`OnError::Skip`].
    pub skipped: SkipReport,
}

/// Reads queries as `id TAB text` lines, as JSON lines (`id`, `_id` or `qid`; `text` or `query`), as TREC topics, or as
/// `number:text` lines, which the Web Track has its titles in; the content tells which. Plain or compressed; `-` is standard input.
///
/// # Errors
/// If the file cannot be read, and under [`OnError::Stop`] at the first query that is malformed, empty or a duplicate.
pub fn read_queries(path: &Path, options: &QueryOptions) -> Result<Queries, CorpusError> {
    let input = Input::open(path, Progress::default())?;
    let mut reading = Reading {
        path,
        options,
        seen: HashSet::new(),
        result: Queries::default(),
    };
    let start = input
        .head()
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(input.head())
        .trim_ascii_start();
    let named_tsv = Format::of_name(path) == Some(Format::MsMarco);
    match start.first() {
        Some(b'<') if !named_tsv => reading.topics(input)?,
        Some(b'{') if !named_tsv => reading.lines(input, json_query)?,
        _ if !named_tsv && is_numbered(start) => reading.lines(input, numbered_query)?,
        _ => reading.lines(input, tsv_query)?,
    }
    Ok(reading.result)
}

struct Reading<'a> {
    path: &'a Path,
    options: &'a QueryOptions,
    seen: HashSet<String>,
    result: Queries,
}

impl Reading<'_> {
    fn lines(
        &mut self,
        input: Input,
        parse: fn(&str) -> Result<Query, ErrorKind>,
    ) -> Result<(), CorpusError> {
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next_text() {
            match line {
                Ok((_, line)) if line.trim_ascii().is_empty() => {}
                Ok((number, line)) => self.settle(number, parse(line))?,
                Err(fault) => self.fault(fault)?,
            }
        }
        Ok(())
    }

    fn topics(&mut self, mut input: Input) -> Result<(), CorpusError> {
        let mut bytes = Vec::new();
        if let Err(error) = input.by_ref().take(LONGEST as u64).read_to_end(&mut bytes) {
            let kind = input.explain(error);
            // A topic file is small: nothing of a damaged one is used.
            return Err(Fault {
                place: Place::File,
                kind,
            }
            .at(self.path));
        }
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => {
                let line =
                    memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u64 + 1;
                return Err(Fault::line(line, not_utf8(&bytes, error)).at(self.path));
            }
        };
        for (line, topic) in topics(text, self.options.topic_field) {
            self.settle(line, topic)?;
        }
        Ok(())
    }

    /// Keeps a good query; counts a bad one or stops with it.
    fn settle(&mut self, line: u64, query: Result<Query, ErrorKind>) -> Result<(), CorpusError> {
        let checked = query.and_then(|query| {
            if query.text.trim().is_empty() {
                return Err(ErrorKind::Empty { id: query.id });
            }
            if !self.seen.insert(query.id.clone()) {
                return Err(ErrorKind::DuplicateId { id: query.id });
            }
            Ok(query)
        });
        match checked {
            Ok(query) => self.result.queries.push(query),
            Err(kind) => self.fault(Fault::line(line, kind))?,
        }
        Ok(())
    }

    fn fault(&mut self, fault: Fault) -> Result<(), CorpusError> {
        let error = fault.at(self.path);
        if self.options.on_error == OnError::Stop || matches!(error.kind, ErrorKind::Io(_)) {
            return Err(error);
        }
        self.result.skipped.add_fault(&error);
        Ok(())
    }
}

/// Whether the first line is `number:text`, without a tab.
fn is_numbered(start: &[u8]) -> bool {
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or(start);
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && line.get(digits) == Some(&b':') && !line.contains(&b'\t')
}

fn numbered_query(line: &str) -> Result<Query, ErrorKind> {
    match line.split_once(':') {
        Some((id, text)) if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(Query {
                id: id.to_owned(),
                text: text.trim().to_owned(),
            })
        }
        _ => Err(ErrorKind::MissingId {
            expected: "a number and a colon before the text, as in the first line",
        }),
    }
}

fn tsv_query(line: &str) -> Result<Query, ErrorKind> {
    let mut cells = line.split('\t');
    match (cells.next(), cells.next(), cells.next()) {
        (Some(id), Some(_), None) if id.trim().is_empty() => Err(ErrorKind::MissingId {
            expected: "the id in the first column",
        }),
        (Some(id), Some(text), None) => Ok(Query {
            id: id.trim().to_owned(),
            text: text.trim().to_owned(),
        }),
        _ => Err(ErrorKind::Columns {
            expected: "2 (id, text)",
            found: line.split('\t').count(),
        }),
    }
}

fn json_query(line: &str) -> Result<Query, ErrorKind> {
    let mut repaired = String::new();
    let fields = Fields::parse(line, &mut repaired)?;
    Ok(Query {
        id: fields.id(
            &["id", "_id", "qid"],
            "a field \"id\", \"_id\" or \"qid\" with a string or an integer",
        )?,
        text: fields.text(&["text", "query"])?.trim().to_owned(),
    })
}
