//! Files that are there after a power cut.
//!
//! A file's bytes are on disk once the file is synced, its name once the folder is that has it. Where a system cannot sync
//! folders, nothing can be done about it; any other failure to do so is one, and is told.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Writes a file in the place of another, whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    write(&new, bytes)?;
    fs::rename(&new, path)?;
    sync_parent(path)
}

/// Writes a file and waits until it is on disk.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(path, bytes)?;
    File::open(path)?.sync_all()
}

/// Waits until all files and folders below `dir` are on disk.
pub(crate) fn sync_tree(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => sync_tree(&entry.path())?,
            false => File::open(entry.path())?.sync_all()?,
        }
    }
    sync_folder(dir)
}

/// Creates a folder and those that it is in, with names that last.
pub(crate) fn create_folders(dir: &Path) -> io::Result<()> {
    let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.exists();
    let missing: Vec<PathBuf> = dir
        .ancestors()
        .take_while(is_missing)
        .map(Path::to_owned)
        .collect();
    fs::create_dir_all(dir)?;
    missing.iter().try_for_each(|dir| sync_parent(dir))
}

/// Makes a rename, a removal or a new file last.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    sync_folder(parent.unwrap_or(Path::new(".")))
}

/// Makes what was created, renamed and removed in a folder last.
pub(crate) fn sync_folder(dir: &Path) -> io::Result<()> {
    match File::open(dir) {
        Ok(dir) => sync_opened(&dir),
        // Windows opens no folders, and elsewhere one may be written to that must not be read: then it cannot be synced.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(e) => Err(e),
    }
}

#[cfg(unix)]
fn sync_opened(dir: &File) -> io::Result<()> {
    match rustix::fs::fsync(dir) {
        Err(errno) if is_unsupported(errno) => Ok(()),
        result => Ok(result?),
    }
}

/// Whether an error of syncing a folder says that the file system has no such operation: EINVAL (network file systems, some of
/// user space), EBADF (where a folder would have to be open for writing), ENOTSUP and ENOSYS.
#[cfg(unix)]
fn is_unsupported(errno: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    [Errno::INVAL, Errno::BADF, Errno::NOTSUP, Errno::NOSYS].contains(&errno)
}

#[cfg(not(unix))]
fn sync_opened(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_created_and_synced() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        create_folders(&deep).unwrap();
        create_folders(&deep).unwrap();
        replace(&deep.join("file"), b"one").unwrap();
        replace(&deep.join("file"), b"two").unwrap();
        assert_eq!(fs::read(deep.join("file")).unwrap(), b"two");
        sync_tree(folder.path()).unwrap();
    }

    /// A failure to sync is told, but for those that mean that it cannot be done here.
    #[test]
    #[cfg(unix)]
    fn failures_to_sync_folders_are_told() {
        use rustix::io::Errno;
        let gone = Path::new("/nothing/of/this/name");
        assert_eq!(
            sync_folder(gone).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert!(sync_parent(gone).is_err());
        for errno in [Errno::IO, Errno::NOSPC, Errno::DQUOT, Errno::ROFS] {
            assert!(!is_unsupported(errno), "{errno}");
        }
        assert!(is_unsupported(Errno::INVAL));
    }
}
