//! From the paths a user gives to the files to read, in an order that does not depend on the file system.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{CorpusError, ErrorKind, Place};
use crate::format::Format;
use crate::input::{Input, is_stdin};
use crate::progress::Progress;

/// How many files of a folder are looked at to tell its format.
const SAMPLE: usize = 64;

/// One file to read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    /// The format, where the user or the folder decides it.
    pub(crate) format: Option<Format>,
    /// The given folder it was found in: other files may stand in a folder, whereas a file named by the user must be right.
    pub(crate) folder: Option<PathBuf>,
    /// Bytes as stored; `None` for standard input.
    pub(crate) size: Option<u64>,
}

/// All files to read, and how many files of the given folders are of other kinds by their names.
pub(crate) fn sources(
    paths: &[PathBuf],
    format: Option<Format>,
) -> Result<(Vec<Source>, u64), CorpusError> {
    let (mut sources, mut others) = (Vec::new(), 0);
    for path in paths {
        if is_stdin(path) {
            let format = format.or(Some(Format::Jsonl));
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
            others += add_folder(path, format, &mut sources)?;
        } else {
            sources.push(Source {
                path: path.clone(),
                format,
                folder: None,
                size: Some(metadata.len()),
            });
        }
    }
    Ok((sources, others))
}

fn add_folder(
    root: &Path,
    format: Option<Format>,
    sources: &mut Vec<Source>,
) -> Result<u64, CorpusError> {
    let files = walk(root)?;
    let format = match format {
        Some(format) => format,
        None => majority(&files)?.ok_or_else(|| nothing(root, "collection"))?,
    };
    let (before, total) = (sources.len(), files.len());
    for (path, size) in files.into_iter().filter(|(path, _)| may_hold(format, path)) {
        sources.push(Source {
            path,
            format: Some(format),
            folder: Some(root.to_owned()),
            size: Some(size),
        });
    }
    match sources.len() - before {
        0 => Err(nothing(root, format.name())),
        kept => Ok((total - kept) as u64),
    }
}

/// Whether a file of a folder may be of the format. TREC and WARC files have all sorts of names and are told by content.
fn may_hold(format: Format, path: &Path) -> bool {
    match format {
        Format::TrecSgml | Format::Warc => true,
        by_name => Format::of_name(path) == Some(by_name),
    }
}

/// The format most files have. A tie goes to notes, which is what a mixed folder most likely is.
fn majority(files: &[(PathBuf, u64)]) -> Result<Option<Format>, CorpusError> {
    let mut counts: BTreeMap<&'static str, (usize, Format)> = BTreeMap::new();
    for (path, _) in files.iter().take(SAMPLE) {
        let input = Input::open(path, Progress::default())?;
        if let Some(format) = Format::detect(path, input.head()) {
            counts.entry(format.name()).or_insert((0, format)).0 += 1;
        }
    }
    Ok(counts
        .into_values()
        .max_by_key(|&(count, format)| (count, format == Format::Folder))
        .map(|(_, format)| format))
}

/// All regular files under a folder with their sizes, sorted by name at each level; hidden ones and linked folders are left alone.
fn walk(root: &Path) -> Result<Vec<(PathBuf, u64)>, CorpusError> {
    let mut files = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let is_link = path != root && path.is_symlink();
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            // A link to nowhere is not a document.
            Err(_) if is_link => continue,
            Err(error) => return Err(unreadable(&path, error)),
        };
        if metadata.is_file() {
            files.push((path, metadata.len()));
        } else if metadata.is_dir() && !is_link {
            let first = waiting.len();
            for entry in fs::read_dir(&path).map_err(|error| unreadable(&path, error))? {
                let entry = entry.map_err(|error| unreadable(&path, error))?;
                if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                    waiting.push(entry.path());
                }
            }
            // The last in the list is the next to be visited.
            waiting[first..].sort_by(|a, b| b.cmp(a));
        }
    }
    Ok(files)
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
