//! From the paths a user gives to the files to read, in an order that does not depend on the file system.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use becr_basics::Folder;
use ignore::{DirEntry, WalkBuilder};

use crate::error::{CorpusError, ErrorKind, Place};
use crate::format::Format;
use crate::input::{Input, is_stdin};
use crate::pdf;
use crate::progress::Progress;
use crate::skip::{OnError, SkipReport};
use crate::unread::Unread;

/// One file to read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    /// The format, where the user decides it.
    pub(crate) format: Option<Format>,
    /// The given folder it was found in: other files may stand in a folder, whereas a file named by the user must be right.
    pub(crate) folder: Option<Folder>,
    /// Bytes as stored; `None` for standard input.
    pub(crate) size: Option<u64>,
}

pub(crate) const OTHER_FILE: &str = "file of another kind in a folder";
const LINK: &str = "link to a file of the same folder";
const LINK_OUT: &str = "link that leads out of its folder";
const INDEX: &str = "index of this program in a folder";
const PDF: &str =
    "PDF in a folder; they are read where `pdftotext` is installed (of poppler-utils)";
const RULE: &str = "rule of an ignore file that cannot be understood";
/// Beside `.gitignore`: for what git should keep and no index.
const IGNORE_FILE: &str = ".becrignore";
/// Files that only a directory of an index, or of a build of one, has.
const INDEX_FILES: [&str; 2] = ["becr.json", "becr.build"];

/// Finds the files to read.
pub(crate) struct Finder<'r> {
    pub(crate) format: Option<Format>,
    pub(crate) on_error: OnError,
    /// Whether a folder without documents is no error.
    pub(crate) allow_empty: bool,
    /// Whether links to files outside of a folder are read.
    pub(crate) follow_links: bool,
    /// What was passed over, and why.
    pub(crate) report: &'r mut SkipReport,
    /// What could not be read.
    pub(crate) unread: &'r mut Unread,
}

impl Finder<'_> {
    /// All files of folders.
    pub(crate) fn in_folders(&mut self, folders: &[Folder]) -> Result<Vec<Source>, CorpusError> {
        let mut sources = Vec::new();
        for folder in folders {
            self.add_folder(folder, &mut sources)?;
        }
        Ok(sources)
    }

    /// All files to read. Several folders have names that their documents' ids begin with.
    pub(crate) fn sources(&mut self, paths: &[PathBuf]) -> Result<Vec<Source>, CorpusError> {
        let folders: Vec<PathBuf> = paths.iter().filter(|path| path.is_dir()).cloned().collect();
        let mut folders = Folder::together(&folders);
        for folder in &mut folders {
            folder.follow_links = self.follow_links;
        }
        let mut folders = folders.into_iter();
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
                let folder = folders.next().unwrap_or_else(|| Folder::alone(path));
                self.add_folder(&folder, &mut sources)?;
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

    fn add_folder(
        &mut self,
        folder: &Folder,
        sources: &mut Vec<Source>,
    ) -> Result<(), CorpusError> {
        let before = sources.len();
        let root = &folder.path;
        for (path, size) in self.walk(folder)? {
            if is_pdf(&path) && !pdf::is_installed() {
                self.report.add_file(PDF, &path);
                // It may have been there before.
                self.unread.add_file(folder, &path, Some(Format::Folder));
                continue;
            }
            let holds = match self.may_hold(&path) {
                Ok(holds) => holds,
                Err(error) => {
                    self.settle(error, folder)?;
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
                folder: Some(folder.clone()),
                size: Some(size),
            });
        }
        match sources.len() - before {
            0 if !self.allow_empty => Err(nothing(
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
            Some(by_name) if Format::of_name(path) == Some(by_name) => Ok(true),
            None if Format::of_name(path).is_some() => Ok(true),
            None | Some(Format::Folder) => {
                let input = Input::open(path, Progress::default())?;
                let told = Format::detect_in_folder(path, input.head());
                Ok(told.is_some() && (self.format.is_none() || told == self.format))
            }
            Some(_) => Ok(false),
        }
    }

    /// All regular files under a folder with their sizes, sorted by name at each level. Hidden ones, linked folders and what
    /// `.gitignore` and `.becrignore` say are left alone, and so are indexes, which are named.
    fn walk(&mut self, folder: &Folder) -> Result<Vec<(PathBuf, u64)>, CorpusError> {
        let root = folder.path.as_path();
        fs::read_dir(root).map_err(|error| unreadable(root, error))?;
        if is_index(root) {
            self.report.add_file(INDEX, root);
            return Ok(Vec::new());
        }
        let (found, indexes) = mpsc::channel();
        let enter = move |entry: &DirEntry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_index = is_folder && is_index(entry.path());
            if is_index {
                let _ = found.send(entry.path().to_owned());
            }
            !is_index
        };
        let mut files = Vec::new();
        for entry in walker(root).filter_entry(enter).build() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.settle(not_walked(root, &error), folder)?;
                    continue;
                }
            };
            if let Some(error) = entry.error() {
                self.report.add_file(RULE, Path::new(&error.to_string()));
            }
            match entry.path().metadata() {
                Ok(metadata) if metadata.is_file() => {
                    let is_link = entry.path_is_symlink();
                    files.push((entry.into_path(), metadata.len(), is_link));
                }
                Ok(_) => {}
                // A link to nowhere is not a document.
                Err(_) if entry.path_is_symlink() => {}
                Err(error) => self.settle(unreadable(entry.path(), error), folder)?,
            }
        }
        indexes
            .try_iter()
            .for_each(|path| self.report.add_file(INDEX, &path));
        Ok(self.without_links(folder, files))
    }

    /// Takes out links to files that are there anyway, and those that lead out of the folder: a link that somebody else put
    /// there must not make the contents of any file of this machine searchable. A link to a file of the folder that is
    /// hidden or ignored is read, once.
    fn without_links(
        &mut self,
        folder: &Folder,
        files: Vec<(PathBuf, u64, bool)>,
    ) -> Vec<(PathBuf, u64)> {
        if files.iter().all(|(_, _, is_link)| !is_link) {
            return files
                .into_iter()
                .map(|(path, size, _)| (path, size))
                .collect();
        }
        let root = &folder.path;
        let real = root.canonicalize().unwrap_or_else(|_| root.clone());
        let inside = |path: &Path| real.join(path.strip_prefix(root).unwrap_or(path));
        let plain = files.iter().filter(|(_, _, is_link)| !is_link);
        let mut known: HashSet<PathBuf> = plain.map(|(path, _, _)| inside(path)).collect();
        let mut kept = Vec::new();
        for (path, size, is_link) in files {
            if is_link {
                let target = path.canonicalize().unwrap_or_else(|_| path.clone());
                if !folder.follow_links && !target.starts_with(&real) {
                    self.report.add_file(LINK_OUT, &path);
                    continue;
                }
                if !known.insert(target) {
                    self.report.add_file(LINK, &path);
                    continue;
                }
            }
            kept.push((path, size));
        }
        kept
    }

    /// Counts what cannot be read and goes on, or stops with it.
    fn settle(&mut self, error: CorpusError, folder: &Folder) -> Result<(), CorpusError> {
        match self.on_error {
            OnError::Stop => Err(error),
            OnError::Skip => {
                self.unread.add_path(folder, &error.path);
                self.report.add_fault(&error);
                Ok(())
            }
        }
    }
}

/// Walks a folder in the order of names.
fn walker(root: &Path) -> WalkBuilder {
    let mut walker = WalkBuilder::new(root);
    walker
        .standard_filters(false)
        .hidden(true)
        .git_ignore(true)
        .git_exclude(true)
        // Also where git is not used.
        .require_git(false)
        // Rules of the folders above hold inside of a repository. Elsewhere they may mean anything: some keep a
        // `.gitignore` of `*` at home.
        .parents(is_in_repository(root))
        .add_custom_ignore_filename(IGNORE_FILE)
        .sort_by_file_name(std::cmp::Ord::cmp);
    walker
}

fn is_in_repository(root: &Path) -> bool {
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let mut above = real.ancestors().skip(1);
    above.any(|folder| folder.join(".git").exists())
}

pub(crate) fn is_pdf(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    extension.eq_ignore_ascii_case("pdf")
}

fn is_index(folder: &Path) -> bool {
    INDEX_FILES.iter().any(|name| folder.join(name).is_file())
}

/// What the walk could not read.
fn not_walked(root: &Path, error: &ignore::Error) -> CorpusError {
    let (mut path, mut inner) = (root, error);
    loop {
        match inner {
            ignore::Error::WithPath { path: at, err } => (path, inner) = (at, err),
            ignore::Error::WithDepth { err, .. } => inner = err,
            _ => break,
        }
    }
    // Of the system's own error the walk makes one that names the path again.
    let cause = match inner {
        ignore::Error::Io(error) => error.raw_os_error().or_else(|| {
            let source = std::error::Error::source(error)?;
            source.downcast_ref::<std::io::Error>()?.raw_os_error()
        }),
        _ => None,
    };
    let cause = match cause {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => std::io::Error::other(inner.to_string()),
    };
    unreadable(path, cause)
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
