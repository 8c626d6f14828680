//! The hub's cache on disk.

use crate::{HubError, Name};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// One model's part of the cache.
pub(crate) struct Cache {
    root: PathBuf,
    locks: PathBuf,
}

impl Cache {
    pub(crate) fn new(cache: &Path, name: &Name) -> Self {
        let folder = format!("models--{}", name.repository.replace('/', "--"));
        Self {
            root: cache.join(&folder),
            locks: cache.join(".locks").join(folder),
        }
    }

    /// The commit that a revision stood for when it was last asked for.
    pub(crate) fn commit(&self, name: &Name) -> Option<String> {
        if name.is_commit() {
            return Some(name.revision.clone());
        }
        let commit = fs::read_to_string(self.root.join("refs").join(&name.revision)).ok()?;
        let commit = commit.trim();
        crate::name::is_word(commit).then(|| commit.to_owned())
    }

    /// Remembers what a revision stands for.
    pub(crate) fn remember(&self, name: &Name, commit: &str) -> Result<(), HubError> {
        let path = self.root.join("refs").join(&name.revision);
        match name.is_commit() {
            true => Ok(()),
            false => make_folder_of(&path)
                .and_then(|()| fs::write(&path, commit))
                .map_err(HubError::io(&path)),
        }
    }

    /// The directory with a commit's files.
    pub(crate) fn snapshot(&self, commit: &str) -> PathBuf {
        self.root.join("snapshots").join(commit)
    }

    /// Where contents are kept.
    pub(crate) fn blob(&self, etag: &str) -> PathBuf {
        self.root.join("blobs").join(etag)
    }

    /// Makes contents a file of a commit.
    pub(crate) fn link(&self, commit: &str, file: &str, etag: &str) -> Result<(), HubError> {
        let path = self.snapshot(commit).join(file);
        if path.exists() {
            return Ok(());
        }
        // A link to contents that somebody has deleted would be in the way.
        let _ = fs::remove_file(&path);
        make_folder_of(&path)
            .and_then(|()| link(&self.blob(etag), etag, &path))
            .map_err(HubError::io(&path))
    }

    /// Keeps other processes, Hugging Face's own too, from fetching the same contents; until it is dropped.
    pub(crate) fn lock(&self, etag: &str) -> Result<File, HubError> {
        let path = self.locks.join(format!("{etag}.lock"));
        make_folder_of(&path)
            .and_then(|()| File::create(&path))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(HubError::io(&path))
    }
}

/// Makes the folder that a file is to lie in.
pub(crate) fn make_folder_of(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

#[cfg(unix)]
fn link(_: &Path, etag: &str, path: &Path) -> std::io::Result<()> {
    // Relative, so that the cache may be moved.
    std::os::unix::fs::symlink(Path::new("../../blobs").join(etag), path)
}

#[cfg(not(unix))]
fn link(blob: &Path, _: &str, path: &Path) -> std::io::Result<()> {
    fs::copy(blob, path).map(|_| ())
}
