//! From the paths a user gives to the files to read, in an order that does not depend on the file system.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{CorpusError, ErrorKind, Place};
use crate::format::Format;
use crate::input::{Input, is_stdin};
use crate::progress::Progress;
use crate::skip::{OnError, SkipReport};

/// One file to read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    /// The format, where the user decides it.
    pub(crate) format: Option<Format>,
    /// The given folder it was found in: other files may stand in a folder, whereas a file named by the user must be right.
    pub(crate) folder: Option<PathBuf>,
    /// Bytes as stored; `None` for standard input.
    pub(crate) size: Option<u64>,
}

pub(crate) const OTHER_FILE: &str = "file of another kind in a folder";
const INDEX: &str = "index of this program in a folder";
/// Files that only a directory of an index, or of a build of one, has.
const INDEX_FILES: [&str; 2] = ["becr.json", "becr.build"];

/// Finds the files to read.
pub(crate) struct Finder<'r> {
    pub(crate) format: Option<Format>,
    pub(crate) on_error: OnError,
    /// What was passed over, and why.
    pub(crate) report: &'r mut SkipReport,
}

impl Finder<'_> {
    /// All files to read.
    pub(crate) fn sources(&mut self, paths: &[PathBuf]) -> Result<Vec<Source>, CorpusError> {
        let mut sources = Vec::new();
        for path in paths {
            if is_stdin(path) {
                let format = self.format.or(Some(Format::Jsonl));
                sources.push(Source {
                    path: path.clone(),
                    format,
                    folder: None,
                    size: None,
                });
                continue;
            }
            let metadata = fs::metadata(path).map_err(|error| unreadable(path, error))?;
            if metadata.is_dir() {
                self.add_folder(path, &mut sources)?;
            } else {
                sources.push(Source {
                    path: path.clone(),
                    format: self.format,
                    folder: None,
                    size: Some(metadata.len()),
                });
            }
        }
        Ok(sources)
    }

    fn add_folder(&mut self, root: &Path, sources: &mut Vec<Source>) -> Result<(), CorpusError> {
        let before = sources.len();
        for (path, size) in self.walk(root)? {
            let holds = match self.may_hold(&path) {
                Ok(holds) => holds,
                Err(error) => {
                    self.settle(error)?;
                    continue;
                }
            };
            if !holds {
                self.report.add_file(OTHER_FILE, &path);
                continue;
            }
            sources.push(Source {
                path,
                format: self.format,
                folder: Some(root.to_owned()),
                size: Some(size),
            });
        }
        match sources.len() - before {
            0 => Err(nothing(
                root,
                self.format.map_or("collection", Format::name),
            )),
            _ => Ok(()),
        }
    }

    /// Whether a file of a folder may hold documents, of the format if one was given. Names tell; TREC and WARC files have
    /// all sorts of names and are told by content.
    fn may_hold(&self, path: &Path) -> Result<bool, CorpusError> {
        match self.format {
            Some(Format::TrecSgml | Format::Warc) => Ok(true),
            Some(by_name) => Ok(Format::of_name(path) == Some(by_name)),
            None if Format::of_name(path).is_some() => Ok(true),
            None => {
                let input = Input::open(path, Progress::default())?;
                Ok(Format::of_content(input.head()).is_some())
            }
        }
    }

    /// All regular files under a folder with their sizes, sorted by name at each level; hidden ones and linked folders are
    /// left alone, and so are indexes, which are named.
    fn walk(&mut self, root: &Path) -> Result<Vec<(PathBuf, u64)>, CorpusError> {
        let mut files = Vec::new();
        let mut waiting = vec![root.to_owned()];
        while let Some(path) = waiting.pop() {
            let is_link = path != root && path.is_symlink();
            let metadata = match fs::metadata(&path) {
                Ok(metadata) => metadata,
                // A link to nowhere is not a document.
                Err(_) if is_link => continue,
                Err(error) => {
                    self.settle(unreadable(&path, error))?;
                    continue;
                }
            };
            if metadata.is_file() {
                files.push((path, metadata.len()));
            } else if metadata.is_dir() && !is_link {
                if INDEX_FILES.iter().any(|name| path.join(name).is_file()) {
                    self.report.add_file(INDEX, &path);
                    continue;
                }
                match entries(&path) {
                    // The last in the list is the next to be visited.
                    Ok(entries) => waiting.extend(entries.into_iter().rev()),
                    Err(error) => self.settle(unreadable(&path, error))?,
                }
            }
        }
        Ok(files)
    }

    /// Counts what cannot be read and goes on, or stops with it.
    fn settle(&mut self, error: CorpusError) -> Result<(), CorpusError> {
        match self.on_error {
            OnError::Stop => Err(error),
            OnError::Skip => {
                self.report.add_fault(&error);
                Ok(())
            }
        }
    }
}

/// What is in a folder and not hidden, in order.
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            entries.push(entry.path());
        }
    }
    entries.sort();
    Ok(entries)
}

fn nothing(root: &Path, expected: &'static str) -> CorpusError {
    CorpusError {
        path: root.to_owned(),
        place: Place::File,
        kind: ErrorKind::NothingInFolder { expected },
    }
}

fn unreadable(path: &Path, error: std::io::Error) -> CorpusError {
    CorpusError {
        path: path.to_owned(),
        place: Place::File,
        kind: ErrorKind::Io(error),
    }
}
