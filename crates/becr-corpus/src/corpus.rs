//! Many files of many formats as one stream of documents.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::document::Document;
use crate::error::{CorpusError, ErrorKind, Fault, Place};
use crate::format::Format;
use crate::hashed::AlreadyHashed;
use crate::input::Input;
use crate::jsonl::Jsonl;
use crate::lines::Lines;
use crate::msmarco::MsMarco;
use crate::note::Note;
use crate::progress::Progress;
use crate::records::{Content, Found, Records};
use crate::rewind::Rewind;
use crate::sgml::TrecSgml;
use crate::side::{SideFiles, SideScores};
use crate::skip::{OnError, SkipReport};
use crate::walk::{Source, sources};
use crate::warc::Warc;

/// How to read a collection.
#[derive(Clone, Debug)]
pub struct CorpusOptions {
    /// The format of all paths; told from each path's content and name where `None`.
    pub format: Option<Format>,
    /// Whether a bad document ends the reading or is counted and left out.
    pub on_error: OnError,
    /// Whether to look for ids that come twice. Costs 20 to 39 bytes of memory per document (a 128-bit hash each in a
    /// hash set that doubles): 1.1 GB for 50 million documents, half as much again while it grows.
    pub check_duplicates: bool,
    /// Scores by document id that become features.
    pub side: SideFiles,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        Self {
            format: None,
            on_error: OnError::Stop,
            check_duplicates: true,
            side: SideFiles::default(),
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
    side: SideScores,
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
    pub fn open<P: AsRef<Path>>(paths: &[P], options: &CorpusOptions) -> Result<Self, CorpusError> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
        let (sources, others) = sources(&paths, options.format)?;
        let total = sources.iter().map(|source| source.size).sum();
        let mut report = SkipReport::default();
        report.add_left_out(OTHER_FILE, others);
        let side = SideScores::read(&options.side, options.on_error, &mut report)?;
        Ok(Self {
            waiting: sources.into_iter(),
            current: None,
            on_error: options.on_error,
            seen: options.check_duplicates.then(HashSet::default),
            side,
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
        let Some(format) = source.format.or(told) else {
            self.finish(size);
            let found = shown(input.head());
            return Err(CorpusError {
                path: source.path,
                place: Place::File,
                kind: ErrorKind::UnknownFormat { found },
            });
        };
        let records = records(format, input, &source);
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
        let mut document = match found.content {
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
        if let Some(seen) = &mut self.seen
            && !seen.insert(xxh3_128(document.id.as_bytes()))
        {
            return Err(fault(ErrorKind::DuplicateId { id: document.id }));
        }
        if !self.side.apply(&mut document) {
            self.report.add_left_out(SPAM, 1);
            return Ok(None);
        }
        Ok(Some(document))
    }

    /// Real collections have documents without a word. They are kept, so that ids in runs and judgements stay
    /// known, and the caller is told.
    fn remark_if_empty(
        &mut self,
        result: &Result<Option<Document>, CorpusError>,
        path: &Path,
        place: Place,
    ) {
        if let Ok(Some(document)) = result
            && document.is_empty()
        {
            let kind = ErrorKind::Empty {
                id: document.id.clone(),
            };
            self.report.add_empty(&Fault { place, kind }.at(path));
        }
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
                    let place = found.place;
                    let result = self.accept(found).map_err(|fault| fault.at(&path));
                    self.remark_if_empty(&result, &path, place);
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

const SPAM: &str = "document below the spam threshold";
const OTHER_FILE: &str = "file of another kind in a folder";

/// The reader of a format.
fn records(format: Format, input: Input, source: &Source) -> Box<dyn Records> {
    match format {
        Format::Jsonl => Box::new(Jsonl::new(Lines::new(input))),
        Format::MsMarco => Box::new(MsMarco::new(Lines::new(input))),
        Format::TrecSgml => Box::new(TrecSgml::new(Lines::new(input))),
        Format::Warc => Box::new(Warc::new(Rewind::new(input))),
        Format::Folder => Box::new(Note::new(input, &source.path, source.folder.as_deref())),
    }
}

/// The beginning of a file, fit for an error message.
fn shown(head: &[u8]) -> String {
    match head {
        [] => "an empty file".to_owned(),
        head => format!("{:?}", String::from_utf8_lossy(&head[..head.len().min(40)])),
    }
}
