//! The stores that this process has open: one environment for each file.
//!
//! LMDB must not open a file twice in one process: closing the second environment would release the file locks of the first.
//! Comparing paths is not enough, since a folder may be reached by a link, renamed, or replaced by another: stores are
//! identified by the device and inode of their file.

use crate::engine::engine;
use crate::store::Inner;
use becr_store::StoreError;
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// Which file a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn of(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
        }
    }
}

/// A store that is open, or is being closed: then the weak reference is dead, but the files are still in use.
struct Entry {
    store: Weak<Inner>,
    /// The path that the engine knows it by.
    path: PathBuf,
}

type Entries = HashMap<FileId, Entry>;

static OPEN: Mutex<Option<Entries>> = Mutex::new(None);
static CLOSED: Condvar = Condvar::new();

fn entries() -> MutexGuard<'static, Option<Entries>> {
    // A panic elsewhere leaves the map whole: entries are put in and taken out in one step.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the store out of the map when it is dropped, which must be after its environment.
pub(crate) struct Registered(FileId);

impl Drop for Registered {
    fn drop(&mut self) {
        if let Some(open) = entries().as_mut() {
            open.remove(&self.0);
        }
        CLOSED.notify_all();
    }
}

/// The store in `folder`, if it is open already; else the one that `open` makes. `open` says which file it opened.
pub(crate) fn shared(
    folder: &Path,
    open: impl Fn() -> Result<Opening, OpenError>,
) -> Result<Arc<Inner>, StoreError> {
    let mut guard = entries();
    loop {
        let known = guard.get_or_insert_default();
        let file = std::fs::metadata(folder.join("data.mdb"));
        if let Some(entry) = file.ok().and_then(|file| known.get(&FileId::of(&file))) {
            match entry.store.upgrade() {
                Some(store) => return Ok(store),
                None => guard = wait(guard),
            }
            continue;
        }
        let opening = match open() {
            Ok(opening) => opening,
            Err(OpenError::Other(error)) => return Err(error),
            // The engine has a store open that once had this path.
            Err(OpenError::SamePath(error)) => {
                let path = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
                match known.values().find(|entry| entry.path == path) {
                    Some(entry) if entry.store.strong_count() > 0 => {
                        return Err(StoreError::Replaced(folder.to_owned()));
                    }
                    Some(_) => guard = wait(guard),
                    None => return Err(engine(folder)(error)),
                }
                continue;
            }
        };
        if let Some(entry) = known.get(&opening.file) {
            if entry.store.strong_count() > 0 {
                // Between `metadata` and `open` the folder was replaced by one that is open under another path. Closing
                // this second environment would release the locks of the first: leak it.
                std::mem::forget(opening);
            } else {
                // The entry is of a store whose file was deleted and whose environment is closed: the system has used its
                // inode again. Its entry goes in a moment.
                drop(opening);
                guard = wait(guard);
            }
            continue;
        }
        let (file, path) = (opening.file, opening.env.path().to_owned());
        let store = Arc::new(Inner::new(folder, opening, Registered(file)));
        let entry = Entry {
            store: Arc::downgrade(&store),
            path,
        };
        known.insert(file, entry);
        return Ok(store);
    }
}

fn wait(guard: MutexGuard<'static, Option<Entries>>) -> MutexGuard<'static, Option<Entries>> {
    CLOSED.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// A store as it was found in its folder.
pub(crate) struct Opening {
    pub(crate) file: FileId,
    pub(crate) env: heed::Env<heed::WithoutTls>,
    pub(crate) tables: crate::store::Tables,
    pub(crate) header: becr_store::Header,
}

/// Why a store could not be opened.
pub(crate) enum OpenError {
    /// This process has an environment open under the same path.
    SamePath(heed::Error),
    Other(StoreError),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        Self::Other(error)
    }
}
