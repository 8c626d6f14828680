//! Many files of many formats as one stream of documents.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::error::{CorpusError, ErrorKind, Fault, Place};
use crate::format::Format;
use crate::hashed::AlreadyHashed;
use crate::input::{Input, is_stdin};
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
use crate::unread::Unread;
use crate::walk::{Finder, OTHER_FILE, Source};
use crate::warc::Warc;
use becr_basics::{Document, Folder};

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
    /// Whether a folder without documents is read as such, instead of being an error.
    pub allow_empty: bool,
    /// Whether links in a folder to files outside of it are read.
    pub follow_links: bool,
    /// Scores by document id that become features.
    pub side: SideFiles,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        Self {
            format: None,
            on_error: OnError::Stop,
            check_duplicates: true,
            allow_empty: false,
            follow_links: false,
            side: SideFiles::default(),
        }
    }
}

/// A stream of documents. Holds one document and a few buffers in memory, whatever the size of the files.
///
/// After an error the stream ends. With [`OnError::Skip`] only a path that was named and cannot be read is an error; what cannot be
/// read in a folder, and the rest of a file that cannot be read on, is counted.
pub struct Corpus {
    waiting: std::vec::IntoIter<Source>,
    current: Option<Open>,
    on_error: OnError,
    seen: Option<HashSet<u128, BuildHasherDefault<AlreadyHashed>>>,
    /// Contents of the files of folders that are a document each.
    contents: HashSet<u128, BuildHasherDefault<AlreadyHashed>>,
    side: SideScores,
    report: SkipReport,
    unread: Unread,
    progress: Progress,
    /// Stored bytes of the files that are done.
    finished: u64,
    stopped: bool,
    identity: Option<String>,
}

/// The file being read.
struct Open {
    path: PathBuf,
    size: u64,
    records: Box<dyn Records>,
    format: Format,
    folder: Option<Folder>,
    /// The rule by which it is left out if it begins with no document: a file of a folder that only its name speaks for.
    unless_document: Option<&'static str>,
}

impl Corpus {
    /// Opens files and folders as one collection; `-` is standard input (JSON lines unless another format is named).
    ///
    /// # Errors
    /// If a path does not exist or cannot be read, or if nothing of the format is in a folder.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: &CorpusOptions) -> Result<Self, CorpusError> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
        Self::found(options, |finder| finder.sources(&paths))
    }

    /// Opens folders as one collection, with the names that they have.
    ///
    /// # Errors
    /// If a folder does not exist or cannot be read, or if nothing is in it.
    pub fn open_folders(folders: &[Folder], options: &CorpusOptions) -> Result<Self, CorpusError> {
        Self::found(options, |finder| finder.in_folders(folders))
    }

    fn found(
        options: &CorpusOptions,
        find: impl FnOnce(&mut Finder<'_>) -> Result<Vec<Source>, CorpusError>,
    ) -> Result<Self, CorpusError> {
        let (mut report, mut unread) = (SkipReport::default(), Unread::default());
        let sources = find(&mut Finder {
            format: options.format,
            on_error: options.on_error,
            allow_empty: options.allow_empty,
            follow_links: options.follow_links,
            report: &mut report,
            unread: &mut unread,
        })?;
        let total = sources.iter().map(|source| source.size).sum();
        let side_files = options.side.pagerank.iter().chain(&options.side.spam);
        let files = sources.iter().map(|source| source.path.as_path());
        let identity = identity(files.chain(side_files.map(PathBuf::as_path)));
        let side = SideScores::read(&options.side, options.on_error, &mut report)?;
        Ok(Self {
            waiting: sources.into_iter(),
            current: None,
            on_error: options.on_error,
            seen: options.check_duplicates.then(HashSet::default),
            contents: HashSet::default(),
            side,
            report,
            unread,
            progress: Progress::new(total),
            finished: 0,
            stopped: false,
            identity,
        })
    }

    /// A handle for a progress bar: bytes read, bytes in all, documents handed out.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// What tells this collection from another, and from itself once it was changed, without reading it: paths, sizes and
    /// dates of the files that are part of it. `None` if standard input is among them.
    pub fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    /// What has been passed over so far.
    pub fn skipped(&self) -> SkipReport {
        self.report.clone()
    }

    /// What could not be read of folders so far, or was skipped: whether these documents are still there cannot be told.
    pub fn unread(&self) -> &Unread {
        &self.unread
    }

    /// Opens the next file; false if there is none.
    fn open_next(&mut self) -> Result<bool, CorpusError> {
        let Some(source) = self.waiting.next() else {
            return Ok(false);
        };
        let input = match Input::open(&source.path, self.progress.clone()) {
            Ok(input) => input,
            Err(error) => {
                if let Some(folder) = &source.folder {
                    let format = source.format.or_else(|| Format::of_name(&source.path));
                    self.unread.add_file(folder, &source.path, format);
                }
                return Err(error);
            }
        };
        let size = source.size.unwrap_or_default();
        let told = match source.folder {
            Some(_) => Format::detect_in_folder(&source.path, input.head()),
            None => Format::detect(&source.path, input.head()),
        };
        if source.folder.is_some() && source.format.is_some_and(|format| told != Some(format)) {
            self.report.add_file(OTHER_FILE, &source.path);
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
        let in_folder = source.folder.is_some() && source.format.is_none();
        self.current = Some(Open {
            unless_document: without_documents(format, &source.path).filter(|_| in_folder),
            path: source.path,
            size,
            records,
            format,
            folder: source.folder,
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
        if document.id.len() > MAX_ID_BYTES {
            return Err(fault(ErrorKind::LongId {
                bytes: document.id.len(),
                limit: MAX_ID_BYTES,
            }));
        }
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

    /// Whether a file of a folder has the bytes of one before it.
    fn is_copy(&mut self, found: &Found) -> bool {
        let in_folder = self
            .current
            .as_ref()
            .is_some_and(|open| open.folder.is_some());
        let content = found.bytes.filter(|_| in_folder);
        content.is_some_and(|content| !self.contents.insert(content))
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
            && document.is_blank()
        {
            let kind = ErrorKind::Empty {
                id: document.id.clone(),
            };
            self.report.add_empty(&Fault { place, kind }.at(path));
        }
    }

    /// Counts a fault and goes on, or stops with it.
    fn settle(&mut self, error: CorpusError) -> Option<CorpusError> {
        if self.on_error == OnError::Skip {
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
            let next = open.records.next();
            if let Some(rule) = open.unless_document.take()
                && matches!(&next, Some(Err(fault)) if is_other_content(&fault.kind))
            {
                let (path, size) = (std::mem::take(&mut open.path), open.size);
                self.report.add_file(rule, &path);
                self.current = None;
                self.finish(size);
                continue;
            }
            let result = match next {
                None => {
                    let size = open.size;
                    self.current = None;
                    self.finish(size);
                    continue;
                }
                Some(Ok(found)) => {
                    let path = std::mem::take(&mut open.path);
                    let place = found.place;
                    let result = match self.is_copy(&found) {
                        true => {
                            self.report.add_file(COPY, &path);
                            Ok(None)
                        }
                        false => {
                            if let Some(encoding) = found.converted {
                                self.report.add_converted(encoding, &path);
                            }
                            self.accept(found).map_err(|fault| fault.at(&path))
                        }
                    };
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
                    if let Some(open) = &self.current
                        && let Some(folder) = &open.folder
                    {
                        self.unread.add_file(folder, &open.path, Some(open.format));
                    }
                    if let Some(error) = self.settle(error) {
                        return Some(Err(error));
                    }
                }
            }
        }
        None
    }
}

const COPY: &str = "copy of another file, byte for byte";
const SPAM: &str = "document below the spam threshold";
/// The longest id, in bytes, that an index takes.
pub const MAX_ID_BYTES: usize = 4096;

/// The rule by which a file of a folder is left out if its first record is none, where its name may mean other things than a
/// collection: configurations are JSON too, and tables TSV.
fn without_documents(format: Format, path: &Path) -> Option<&'static str> {
    let is_json = || {
        let name = path.to_string_lossy().to_ascii_lowercase();
        name.ends_with(".json") || name.contains(".json.")
    };
    match format {
        Format::Jsonl if is_json() => Some("JSON without documents in a folder"),
        Format::MsMarco => Some("table without documents in a folder"),
        _ => None,
    }
}

/// Whether a fault means that a file holds something else, rather than that it cannot be read.
fn is_other_content(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Json { .. }
            | ErrorKind::MissingId { .. }
            | ErrorKind::FieldType { .. }
            | ErrorKind::Columns { .. }
    )
}

/// Paths, sizes and dates of files; `None` if standard input is among them.
fn identity<'p>(files: impl Iterator<Item = &'p Path>) -> Option<String> {
    let mut identity = String::new();
    for path in files {
        if is_stdin(path) {
            return None;
        }
        // What cannot be looked at is told of when it is read.
        let meta = path.metadata().ok();
        let date = meta.as_ref().and_then(|meta| meta.modified().ok());
        let date = date.and_then(|date| date.duration_since(std::time::UNIX_EPOCH).ok());
        let size = meta.map_or(0, |meta| meta.len());
        identity.push_str(&format!("{} {size} {date:?}\n", path.display()));
    }
    Some(identity)
}

/// The reader of a format.
fn records(format: Format, input: Input, source: &Source) -> Box<dyn Records> {
    match format {
        Format::Jsonl => Box::new(Jsonl::new(Lines::new(input))),
        Format::MsMarco => Box::new(MsMarco::new(Lines::new(input))),
        Format::TrecSgml => Box::new(TrecSgml::new(Lines::new(input))),
        Format::Warc => Box::new(Warc::new(Rewind::new(input))),
        Format::Folder => Box::new(Note::new(input, &source.path, source.folder.as_ref())),
    }
}

/// The beginning of a file, fit for an error message.
fn shown(head: &[u8]) -> String {
    match head {
        [] => "an empty file".to_owned(),
        head => format!("{:?}", String::from_utf8_lossy(&head[..head.len().min(40)])),
    }
}
