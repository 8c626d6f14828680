//! The hub's cache on disk.

use crate::{HubError, Name};
use std::fs::{self, File};
use std::io;
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
            false => self
                .replace(&path, |new| fs::write(new, commit))
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

    /// Whether a commit's file is there; a link to contents that somebody has deleted is none.
    pub(crate) fn has(&self, commit: &str, file: &str) -> bool {
        self.snapshot(commit).join(file).exists()
    }

    /// Whether a commit is known not to have a file.
    pub(crate) fn lacks(&self, commit: &str, file: &str) -> bool {
        self.marker(commit, file).exists()
    }

    /// Remembers that a commit has not got a file, as Hugging Face's tools do.
    pub(crate) fn mark_absent(&self, commit: &str, file: &str) {
        let path = self.marker(commit, file);
        // Where it cannot be written, in a cache that is for reading only, the hub is asked again next time: no more.
        let _ = make_folder_of(&path).and_then(|()| File::create(&path));
    }

    fn marker(&self, commit: &str, file: &str) -> PathBuf {
        self.root.join(".no_exist").join(commit).join(file)
    }

    /// Makes contents a file of a commit.
    pub(crate) fn link(&self, commit: &str, file: &str, etag: &str) -> Result<(), HubError> {
        let path = self.snapshot(commit).join(file);
        if path.exists() {
            return Ok(());
        }
        self.replace(&path, |new| link(&self.blob(etag), etag, new))
            .map_err(HubError::io(&path))
    }

    /// Makes a file under a name of its own, then gives it the right one: whoever else does the same at this moment is not
    /// in the way, nobody reads half of it, and a link to contents that somebody has deleted is replaced.
    fn replace(&self, path: &Path, make: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
        make_folder_of(path)?;
        // Not beside the file: Hugging Face's tools take all that lies there for refs or for files of the model.
        let made = tempfile::Builder::new()
            .prefix(".new-")
            .make_in(&self.root, make)?;
        Ok(made.into_temp_path().persist(path)?)
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
pub(crate) fn make_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

#[cfg(unix)]
fn link(_: &Path, etag: &str, path: &Path) -> io::Result<()> {
    // From the folder of a commit, wherever it is made. Relative, so that the cache may be moved.
    std::os::unix::fs::symlink(Path::new("../../blobs").join(etag), path)
}

#[cfg(not(unix))]
fn link(blob: &Path, _: &str, path: &Path) -> io::Result<()> {
    fs::copy(blob, path).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_may_link_and_remember_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let name: Name = "hf:a/b".parse().unwrap();
        let cache = Cache::new(folder.path(), &name);
        let blob = cache.blob("etag");
        make_folder_of(&blob).unwrap();
        fs::write(&blob, "contents").unwrap();
        for round in 0..50 {
            let commit = format!("commit{round}");
            // What is left of contents that were deleted.
            #[cfg(unix)]
            {
                let path = cache.snapshot(&commit).join("config.json");
                make_folder_of(&path).unwrap();
                std::os::unix::fs::symlink("../../blobs/gone", path).unwrap();
            }
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        cache.link(&commit, "config.json", "etag").unwrap();
                        assert!(cache.has(&commit, "config.json"));
                        cache.remember(&name, &commit).unwrap();
                        assert_eq!(cache.commit(&name).as_deref(), Some(commit.as_str()));
                    });
                }
            });
            let path = cache.snapshot(&commit).join("config.json");
            assert_eq!(fs::read_to_string(path).unwrap(), "contents");
        }
        let left = fs::read_dir(&cache.root).unwrap().flatten();
        let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["blobs", "refs", "snapshots"]);
    }
}
