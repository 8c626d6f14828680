//! One error type for corpora, side files and queries: where it happened, what is wrong, what to do.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// Something wrong in an input file. Its text reads `corpus.jsonl.gz:17: what is wrong; what to do`.
#[derive(Debug, Error)]
#[error("{}{place}: {kind}", .path.display())]
pub struct CorpusError {
    /// The file or folder, as the caller named it; `-` is standard input.
    pub path: PathBuf,
    /// Where in the file.
    pub place: Place,
    /// What is wrong; already part of the error's text, so it is not its source as well.
    pub kind: ErrorKind,
}

/// A position inside an input file, after decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(u64),
    /// A WARC record, counted from 1, and the offset of its first byte.
    Record {
        /// Number of the record in its file.
        number: u64,
        /// Offset of its first byte in the uncompressed file.
        byte: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => Ok(()),
            Self::Line(line) => write!(f, ":{line}"),
            Self::Record { number, byte } => write!(f, ": record {number} (byte {byte})"),
        }
    }
}

/// What can be wrong with an input.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file could not be opened or read.
    #[error("cannot read: {0}")]
    Io(std::io::Error),
    /// The file ends in the middle of something.
    #[error("truncated: the file ends inside {inside}; copy or download it again")]
    Truncated {
        /// What was left unfinished.
        inside: &'static str,
    },
    /// The compressed stream is damaged.
    #[error("damaged {what} data ({detail}); copy or download the file again")]
    Damaged {
        /// The compression.
        what: &'static str,
        /// What the decoder said.
        detail: String,
    },
    /// Neither name nor content tells the format.
    #[error(
        "cannot tell the format: expected JSON lines, MS MARCO TSV, TREC SGML, WARC or a folder of .txt, .md, .html, \
         found {found}; name the format, or make texts of it"
    )]
    UnknownFormat {
        /// How the file begins.
        found: String,
    },
    /// A folder was given where the format needs a file, or holds nothing of the format.
    #[error("no {expected} files in this folder; check the path, or name the format")]
    NothingInFolder {
        /// The format looked for.
        expected: &'static str,
    },
    /// A line is not a JSON object.
    #[error("malformed JSON: {detail}; expected one JSON object on the line")]
    Json {
        /// What the JSON parser said, with the column.
        detail: String,
    },
    /// A field has the wrong type.
    #[error("field \"{field}\": expected {expected}, found {found}")]
    FieldType {
        /// Name of the field.
        field: String,
        /// The type it should have.
        expected: &'static str,
        /// The type it has.
        found: &'static str,
    },
    /// A number does not fit a feature.
    #[error("field \"{field}\": expected a number a 32-bit float can hold, found {found:e}")]
    FeatureRange {
        /// Name of the field.
        field: String,
        /// Its value.
        found: f64,
    },
    /// A line has the wrong number of columns.
    #[error("expected tab-separated columns, {expected}; found {found}")]
    Columns {
        /// What the format asks for.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A document or query has no identifier.
    #[error("missing id: expected {expected}")]
    MissingId {
        /// Where the id was looked for.
        expected: &'static str,
    },
    /// An identifier that no index can hold.
    #[error("the id has {bytes} bytes, at most {limit} are possible; give it a shorter one")]
    LongId {
        /// Its length.
        bytes: usize,
        /// The longest.
        limit: usize,
    },
    /// The same identifier a second time.
    #[error(
        "duplicate id \"{id}\": an earlier document or query has it; ids must be unique over all files"
    )]
    DuplicateId {
        /// The identifier.
        id: String,
    },
    /// A document has neither title nor text, or a query no words.
    #[error("\"{id}\" is empty: expected a title or a text with something in it")]
    Empty {
        /// The identifier.
        id: String,
    },
    /// A training pair has no query.
    #[error("\"{id}\" has no query: expected a field \"query\" with something in it")]
    NoQuery {
        /// Identifier of the pair's document.
        id: String,
    },
    /// Bytes that are not UTF-8.
    #[error("not UTF-8: byte {byte:#04x} at column {column}; convert the file with iconv")]
    NotUtf8 {
        /// The first bad byte.
        byte: u8,
        /// Its offset in the line, counted from 1.
        column: usize,
    },
    /// A PDF file that `pdftotext` could not read, or not in time.
    #[error(
        "no text of this PDF: {detail}; look at it with a viewer, or leave it out by a line in .becrignore"
    )]
    Pdf {
        /// What went wrong.
        detail: String,
    },
    /// A file that is not text in any encoding.
    #[error("not text: byte {byte:#04x} at offset {at}; a line in .becrignore leaves the file out")]
    NotText {
        /// The first byte that no text has.
        byte: u8,
        /// Its offset in the file.
        at: usize,
    },
    /// A line, record or file larger than the reader holds in memory.
    #[error("longer than {limit} bytes; split it, or check that this is the right format")]
    TooLong {
        /// The limit that was passed.
        limit: usize,
    },
    /// A record of TREC SGML, WARC or a topic file does not have the expected form.
    #[error("expected {expected}, found {found}")]
    Form {
        /// What the format asks for.
        expected: &'static str,
        /// What was there.
        found: String,
    },
}

impl ErrorKind {
    /// The class of the fault in a few words, for counting skips.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Io(_) => "unreadable",
            Self::Truncated { .. } => "truncated file",
            Self::Damaged { .. } => "damaged compression",
            Self::UnknownFormat { .. } | Self::NothingInFolder { .. } => "unknown format",
            Self::Json { .. } => "malformed JSON",
            Self::FieldType { .. } => "field of the wrong type",
            Self::FeatureRange { .. } => "number out of range",
            Self::Columns { .. } => "wrong number of columns",
            Self::MissingId { .. } => "missing id",
            Self::LongId { .. } => "id too long",
            Self::DuplicateId { .. } => "duplicate id",
            Self::Empty { .. } => "empty",
            Self::NoQuery { .. } => "no query",
            Self::NotUtf8 { .. } => "not UTF-8",
            Self::NotText { .. } => "not text",
            Self::Pdf { .. } => "unreadable PDF",
            Self::TooLong { .. } => "too long",
            Self::Form { .. } => "malformed record",
        }
    }
}

/// A fault inside a file whose name the caller adds.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) kind: ErrorKind,
}

impl Fault {
    pub(crate) fn line(line: u64, kind: ErrorKind) -> Self {
        Self {
            place: Place::Line(line),
            kind,
        }
    }

    pub(crate) fn at(self, path: &std::path::Path) -> CorpusError {
        CorpusError {
            path: path.to_owned(),
            place: self.place,
            kind: self.kind,
        }
    }
}

/// The error for bytes that are not UTF-8, pointing at the first bad one.
pub(crate) fn not_utf8(bytes: &[u8], error: std::str::Utf8Error) -> ErrorKind {
    let at = error.valid_up_to();
    ErrorKind::NotUtf8 {
        byte: bytes.get(at).copied().unwrap_or_default(),
        column: at + 1,
    }
}
