//! The engine's files: where its commits go, and when files that it no longer needs are removed.
//!
//! The engine publishes a commit by writing `meta.json`, the list of its segments. In a full index the document store
//! publishes: the list goes into the store's own commit, so that both appear in one step. Until then the list is kept
//! in memory, and files of the commit before are kept on disk, since that one is still the published state.

use crate::durable;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, META_LOCK, MmapDirectory, WatchCallback,
    WatchHandle, WritePtr,
};

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
    /// Files that the newest list does not need, and the published one may.
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

    /// The newest list of segments, if commits are held and there is one.
    pub(super) fn meta(&self) -> Option<Vec<u8>> {
        self.with_held(|held| held.meta.clone()).flatten()
    }

    /// The list is published: its file may follow, and what it does not need may go. Both are a convenience, for
    /// other tools and for the disk's space: a failure is made up for by the next writer.
    pub(super) fn published(&self) {
        let Some((meta, unneeded)) =
            self.with_held(|held| (held.meta.clone(), std::mem::take(&mut held.unneeded)))
        else {
            return;
        };
        if let Some(meta) = meta {
            let _ = durable::replace(&self.folder.join(META), &meta);
        }
        for path in unneeded {
            let _ = self.files.delete(&path);
        }
    }

    fn with_held<T>(&self, use_it: impl FnOnce(&mut Held) -> T) -> Option<T> {
        let held = self.held.as_ref()?;
        // Nothing that holds the lock panics.
        Some(use_it(
            &mut held.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }
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
