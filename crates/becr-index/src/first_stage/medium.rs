//! The engine's files: where its commits go, and when files that it no longer needs are removed.
//!
//! The engine publishes a commit by writing `meta.json`, the list of its segments. In a full index the document store
//! publishes: the list goes into the store's own commit, so that both appear in one step. Until then the list is kept
//! in memory, and files of the commit before are kept on disk, since that one is still the published state.
//!
//! The engine merges segments in the background. A merge that ends after a list was taken, and before the store has
//! published it, replaces files that this list names. So what the engine deletes waits, and goes when a list is published
//! that does not name it: a newer list that does without it is not enough, nobody can read that one yet.

use super::{schema, writer::COMPONENTS};
use crate::durable;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, META_LOCK, MmapDirectory, WatchCallback,
    WatchHandle, WritePtr,
};
use tantivy::index::SegmentMeta;

/// The file that names the segments of a commit.
pub(super) const META: &str = "meta.json";

/// A folder of memory-mapped files that can be read where nothing can be written.
///
/// The engine locks its files while it opens them, so that no writer clears them away meanwhile. A read-only
/// file system takes no lock, and has no writer either.
#[derive(Debug, Clone)]
pub(super) struct Medium {
    files: MmapDirectory,
    folder: PathBuf,
    /// The list of segments that is read, and written, in the place of the file.
    held: Option<Arc<Mutex<Held>>>,
}

/// What waits for the store's commit.
#[derive(Debug, Default)]
struct Held {
    meta: Option<Vec<u8>>,
    /// Files that the newest list does not name, and the published one may.
    unneeded: Vec<PathBuf>,
}

impl Medium {
    /// The folder as it is, commits in its own file.
    pub(super) fn open(folder: &Path) -> tantivy::Result<Self> {
        Ok(Self {
            files: MmapDirectory::open(folder)?,
            folder: folder.to_owned(),
            held: None,
        })
    }

    /// The folder with commits held in memory, beginning with `meta`; without one, with the file's.
    pub(super) fn held(folder: &Path, meta: Option<&[u8]>) -> tantivy::Result<Self> {
        let held = Held {
            meta: meta.map(<[u8]>::to_vec),
            unneeded: Vec::new(),
        };
        Ok(Self {
            held: Some(Arc::new(Mutex::new(held))),
            ..Self::open(folder)?
        })
    }

    /// Whether somebody else publishes.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// The newest list of segments, if commits are held and there is one.
    pub(super) fn meta(&self) -> Option<Vec<u8>> {
        self.with_held(|held| held.meta.clone()).flatten()
    }

    /// This list is published: its file may follow, and what it does not name may go. Both are a convenience, for other
    /// tools and for the disk's space: a failure is made up for by the next writer.
    pub(super) fn published(&self, list: &[u8]) {
        let Some(unneeded) = self.with_held(|held| std::mem::take(&mut held.unneeded)) else {
            return;
        };
        let _ = durable::replace(&self.folder.join(META), list);
        // If the list cannot be read, everything stays.
        let named = self.files_named(list).ok();
        let (kept, removable): (Vec<_>, Vec<_>) = unneeded
            .into_iter()
            .partition(|path| named.as_ref().is_none_or(|named| named.contains(path)));
        self.with_held(|held| held.unneeded.extend(kept));
        for path in removable {
            let _ = self.files.delete(&path);
        }
    }

    /// The files of the segments that a list names.
    fn files_named(&self, list: &[u8]) -> tantivy::Result<HashSet<PathBuf>> {
        let held = Held {
            meta: Some(list.to_vec()),
            ..Held::default()
        };
        let of_list = Self {
            held: Some(Arc::new(Mutex::new(held))),
            ..self.clone()
        };
        segment_files(&schema::open(of_list)?.0)
    }

    fn with_held<T>(&self, use_it: impl FnOnce(&mut Held) -> T) -> Option<T> {
        let held = self.held.as_ref()?;
        // Nothing that holds the lock panics.
        Some(use_it(
            &mut held.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

/// The files of all segments of an index's commit.
pub(super) fn segment_files(index: &tantivy::Index) -> tantivy::Result<HashSet<PathBuf>> {
    let segments = index.searchable_segment_metas()?;
    let files = |segment: &SegmentMeta| COMPONENTS.map(|part| segment.relative_path(part));
    Ok(segments.iter().flat_map(files).collect())
}

impl Directory for Medium {
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let unlocked = || Ok(DirectoryLock::from(Box::new(())));
        // Where commits are held, files go only after the commit that needs them no more, and a reader that comes
        // too late for one reads the newer commit: nobody has to be kept out. Elsewhere nobody writes to an index that is
        // read. So readers need no permission to write.
        if lock.filepath == META_LOCK.filepath {
            return unlocked();
        }
        match self.files.acquire_lock(lock) {
            Err(LockError::IoError(e)) if e.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                unlocked()
            }
            result => result,
        }
    }

    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        match self.with_held(|held| held.unneeded.push(path.to_owned())) {
            Some(()) => Ok(()),
            None => self.files.delete(path),
        }
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        if path == Path::new(META) && self.meta().is_some() {
            return Ok(true);
        }
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.files.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        match self.meta().filter(|_| path == Path::new(META)) {
            Some(meta) => Ok(meta),
            None => self.files.atomic_read(path),
        }
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let held = (path == Path::new(META))
            .then(|| self.with_held(|held| held.meta = Some(data.to_vec())))
            .flatten();
        match held {
            Some(()) => Ok(()),
            // The engine's own way makes files that nobody but their owner can read.
            None => durable::replace(&self.folder.join(path), data),
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.files.sync_directory()
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}
