//! Many files of many formats as one stream of documents.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::document::Document;
use crate::error::{CorpusError, ErrorKind, Fault, Place};
use crate::format::Format;
use crate::input::Input;
use crate::jsonl::Jsonl;
use crate::lines::Lines;
use crate::msmarco::MsMarco;
use crate::progress::Progress;
use crate::records::{Content, Found, Records};
use crate::skip::{OnError, SkipReport};
use crate::walk::{Source, sources};

/// How to read a collection.
#[derive(Clone, Debug)]
pub struct CorpusOptions {
    /// The format of all paths; told from each path's content and name where `None`.
    pub format: Option<Format>,
    /// Whether a bad document ends the reading or is counted and left out.
    pub on_error: OnError,
    /// Whether to look for ids that come twice. Costs 17 to 34 bytes of memory per document (a 128-bit hash each in a
    /// hash set that doubles): about 1.1 GB for 50 million documents.
    pub check_duplicates: bool,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        Self {
            format: None,
            on_error: OnError::Stop,
            check_duplicates: true,
        }
    }
}

/// A stream of documents. Holds one document and a few buffers in memory, whatever the size of the files.
///
/// After an error the stream ends. With [`OnError::Skip`] only a file that cannot be opened or a failing disk is an error.
pub struct Corpus {
    waiting: std::vec::IntoIter<Source>,
    current: Option<Open>,
    on_error: OnError,
    seen: Option<HashSet<u128, BuildHasherDefault<AlreadyHashed>>>,
    report: SkipReport,
    progress: Progress,
    /// Stored bytes of the files that are done.
    finished: u64,
    stopped: bool,
}

/// The file being read.
struct Open {
    path: PathBuf,
    size: u64,
    records: Box<dyn Records>,
}

impl Corpus {
    /// Opens files and folders as one collection; `-` is standard input (JSON lines unless another format is named).
    ///
    /// # Errors
    /// If a path does not exist or cannot be read, or if nothing of the format is in a folder.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: CorpusOptions) -> Result<Self, CorpusError> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
        let (sources, others) = sources(&paths, options.format)?;
        let total = sources.iter().map(|source| source.size).sum();
        let mut report = SkipReport::default();
        report.add_left_out(OTHER_FILE, others);
        Ok(Self {
            waiting: sources.into_iter(),
            current: None,
            on_error: options.on_error,
            seen: options.check_duplicates.then(HashSet::default),
            report,
            progress: Progress::new(total),
            finished: 0,
            stopped: false,
        })
    }

    /// A handle for a progress bar: bytes read, bytes in all, documents handed out.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// What has been passed over so far.
    pub fn skipped(&self) -> SkipReport {
        self.report.clone()
    }

    /// Opens the next file; false if there is none.
    fn open_next(&mut self) -> Result<bool, CorpusError> {
        let Some(source) = self.waiting.next() else {
            return Ok(false);
        };
        let input = Input::open(&source.path, self.progress.clone())?;
        let size = source.size.unwrap_or_default();
        let told = Format::detect(&source.path, input.head());
        if source.folder.is_some() && told != source.format {
            self.report.add_left_out(OTHER_FILE, 1);
            self.finish(size);
            return Ok(true);
        }
        let readable = |format| matches!(format, Format::Jsonl | Format::MsMarco);
        let Some(format) = source.format.or(told).filter(|&format| readable(format)) else {
            self.finish(size);
            let found = shown(input.head());
            return Err(CorpusError {
                path: source.path,
                place: Place::File,
                kind: ErrorKind::UnknownFormat { found },
            });
        };
        let records = records(format, input);
        self.current = Some(Open {
            path: source.path,
            size,
            records,
        });
        Ok(true)
    }

    fn finish(&mut self, size: u64) {
        self.finished += size;
        self.progress.set_bytes(self.finished);
    }

    /// Checks a record against the rules that span the collection.
    fn accept(&mut self, found: Found) -> Result<Option<Document>, Fault> {
        let document = match found.content {
            Content::Document(document) => document,
            Content::LeftOut(rule) => {
                self.report.add_left_out(rule, 1);
                return Ok(None);
            }
        };
        let fault = |kind| Fault {
            place: found.place,
            kind,
        };
        if document.is_empty() {
            return Err(fault(ErrorKind::Empty { id: document.id }));
        }
        if let Some(seen) = &mut self.seen
            && !seen.insert(xxh3_128(document.id.as_bytes()))
        {
            return Err(fault(ErrorKind::DuplicateId { id: document.id }));
        }
        Ok(Some(document))
    }

    /// Counts a fault and goes on, or stops with it.
    fn settle(&mut self, error: CorpusError) -> Option<CorpusError> {
        if self.on_error == OnError::Skip && !matches!(error.kind, ErrorKind::Io(_)) {
            self.report.add_fault(&error);
            return None;
        }
        self.stopped = true;
        Some(error)
    }
}

impl Iterator for Corpus {
    type Item = Result<Document, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.stopped {
            let Some(open) = &mut self.current else {
                match self.open_next() {
                    Ok(true) => continue,
                    Ok(false) => return None,
                    Err(error) => match self.settle(error) {
                        None => continue,
                        Some(error) => return Some(Err(error)),
                    },
                }
            };
            let result = match open.records.next() {
                None => {
                    let size = open.size;
                    self.current = None;
                    self.finish(size);
                    continue;
                }
                Some(Ok(found)) => {
                    let path = std::mem::take(&mut open.path);
                    let result = self.accept(found).map_err(|fault| fault.at(&path));
                    if let Some(open) = &mut self.current {
                        open.path = path;
                    }
                    result
                }
                Some(Err(fault)) => Err(fault.at(&open.path)),
            };
            match result {
                Ok(None) => {}
                Ok(Some(document)) => {
                    self.progress.add_document();
                    return Some(Ok(document));
                }
                Err(error) => {
                    if let Some(error) = self.settle(error) {
                        return Some(Err(error));
                    }
                }
            }
        }
        None
    }
}

const OTHER_FILE: &str = "file of another kind in a folder";

/// The reader of a format.
fn records(format: Format, input: Input) -> Box<dyn Records> {
    match format {
        Format::Jsonl => Box::new(Jsonl::new(Lines::new(input))),
        _ => Box::new(MsMarco::new(Lines::new(input))),
    }
}

/// The beginning of a file, fit for an error message.
fn shown(head: &[u8]) -> String {
    match head {
        [] => "an empty file".to_owned(),
        head => format!("{:?}", String::from_utf8_lossy(&head[..head.len().min(40)])),
    }
}

/// The ids are hashed already: their low half serves as it is.
#[derive(Default)]
struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes
            .iter()
            .take(8)
            .fold(0, |value, &byte| value << 8 | u64::from(byte));
    }

    fn write_u128(&mut self, hash: u128) {
        self.0 = hash as u64;
    }
}
