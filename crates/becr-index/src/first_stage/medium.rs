//! The engine's files on a medium that may be read-only.

use std::io;
use std::path::Path;
use std::sync::Arc;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

/// A folder of memory-mapped files that can be read where nothing can be written.
///
/// The engine locks its files while it opens them, so that no writer clears them away meanwhile. A read-only
/// file system takes no lock, and has no writer either.
#[derive(Debug, Clone)]
pub(super) struct Medium(MmapDirectory);

impl Medium {
    pub(super) fn open(folder: &Path) -> tantivy::Result<Self> {
        Ok(Self(MmapDirectory::open(folder)?))
    }
}

impl Directory for Medium {
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        match self.0.acquire_lock(lock) {
            Err(LockError::IoError(e)) if e.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                Ok(DirectoryLock::from(Box::new(())))
            }
            result => result,
        }
    }

    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.0.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.0.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.0.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.0.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.0.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.0.sync_directory()
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.0.watch(callback)
    }
}
