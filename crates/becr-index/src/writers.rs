//! One writer at a time: those of a process queue, another process is refused.

use crate::IndexError;
use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The file that is locked; the lock falls with the process.
pub(crate) const FILE: &str = "writer.lock";

/// How often a lock is asked for anew because the index was replaced meanwhile.
const ATTEMPTS: usize = 10;
/// Between two looks whether another process has ended writing.
const PAUSE: Duration = Duration::from_millis(20);

/// What tells a directory from others, whatever path leads to it.
type Identity = (u64, u64);

/// Directories that have a writer in this process.
static WRITTEN: LazyLock<(Mutex<HashSet<Identity>>, Condvar)> = LazyLock::new(Default::default);

/// The right to write to an index.
#[derive(Debug)]
pub(crate) struct WriterLock {
    identity: Identity,
    /// Dropped, and unlocked, before the next writer of this process has its turn.
    file: Option<File>,
}

impl WriterLock {
    /// Waits for the other writers of this process; refuses if another process writes.
    pub(crate) fn acquire(dir: &Path) -> Result<Self, IndexError> {
        for _ in 0..ATTEMPTS {
            let lock = Self::acquire_there(dir)?;
            if lock.is_of(dir) {
                return Ok(lock);
            }
        }
        Err(IndexError::SecondWriter(dir.to_owned()))
    }

    /// The same, and gives a writer of another process some time to end.
    pub(crate) fn acquire_within(dir: &Path, patience: Duration) -> Result<Self, IndexError> {
        let started = Instant::now();
        loop {
            match Self::acquire(dir) {
                Err(IndexError::SecondWriter(_)) if started.elapsed() < patience => {
                    std::thread::sleep(PAUSE);
                }
                result => return result,
            }
        }
    }

    /// Whether what is locked is still what is in `dir`: an index may have been replaced by another between a look at its
    /// folder and the lock, and a lock of the old one keeps nobody from writing to the new one.
    fn is_of(&self, dir: &Path) -> bool {
        let same_folder = identity(dir).is_ok_and(|identity| identity == self.identity);
        same_folder
            && self
                .file
                .as_ref()
                .is_some_and(|file| is_at(file, &dir.join(FILE)))
    }

    fn acquire_there(dir: &Path) -> Result<Self, IndexError> {
        let identity = identity(dir).map_err(IndexError::io(dir, "cannot open"))?;
        let (written, freed) = &*WRITTEN;
        let mut all = written.lock().unwrap_or_else(PoisonError::into_inner);
        while all.contains(&identity) {
            all = freed.wait(all).unwrap_or_else(PoisonError::into_inner);
        }
        all.insert(identity);
        drop(all);
        let mut lock = Self {
            identity,
            file: None,
        };
        lock.file = Some(lock_file(dir)?);
        Ok(lock)
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        self.file = None;
        let (written, freed) = &*WRITTEN;
        let mut all = written.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.identity);
        freed.notify_all();
    }
}

fn lock_file(dir: &Path) -> Result<File, IndexError> {
    let path = dir.join(FILE);
    let file = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .open(&path);
    let file = file.map_err(IndexError::io(&path, "cannot open for writing"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(IndexError::SecondWriter(dir.to_owned())),
        Err(TryLockError::Error(e)) => Err(IndexError::io(&path, "cannot lock")(e)),
    }
}

/// Whether an open file is the one that has this path.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(open), Ok(there)) = (file.metadata(), std::fs::metadata(path)) else {
        return false;
    };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

fn identity(dir: &Path) -> std::io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(dir)?;
    Ok((meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn writers_of_a_process_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, turns) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _lock = WriterLock::acquire(dir.path()).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        turns.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(turns.into_inner(), 80);
    }

    /// Whoever waits for a writer that replaces the index gets the lock of the new one, not of the one that is gone.
    #[test]
    fn a_lock_is_of_the_index_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, aside) = (folder.path().join("index"), folder.path().join("aside"));
        std::fs::create_dir(&dir).unwrap();
        let first = WriterLock::acquire(&dir).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| WriterLock::acquire(&dir).unwrap());
            // Time to look at the folder that is about to be replaced.
            std::thread::sleep(Duration::from_millis(20));
            std::fs::rename(&dir, &aside).unwrap();
            std::fs::create_dir(&dir).unwrap();
            drop(first);
            let second = second.join().unwrap();
            assert!(second.is_of(&dir) && !second.is_of(&aside));
        });
        let file = File::create(dir.join(FILE)).unwrap();
        file.lock().unwrap();
        let refused = WriterLock::acquire_within(&dir, Duration::from_millis(50));
        assert!(matches!(refused, Err(IndexError::SecondWriter(_))));
    }

    #[test]
    fn another_process_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        // A lock of the file that did not come through the queue, as another process has it.
        let file = File::create(dir.path().join(FILE)).unwrap();
        file.lock().unwrap();
        let refused = WriterLock::acquire(dir.path());
        assert!(matches!(refused, Err(IndexError::SecondWriter(_))));
        drop(file);
        WriterLock::acquire(dir.path()).unwrap();
        let gone = WriterLock::acquire(&dir.path().join("nothing"));
        assert!(matches!(gone, Err(IndexError::Io { .. })));
    }
}
