//! A directory that appears whole or not at all.
//!
//! A build works in `DIR.partial` beside its target. Publishing is one rename; replacing an existing
//! index exchanges the two directories in one step, so that whoever looks at `DIR` sees the old index
//! or the new one. A build that was killed leaves `DIR.partial` behind, which the next one clears.

use crate::manifest::Manifest;
use crate::{IndexError, durable};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A directory under construction.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    partial: PathBuf,
    /// Held for the life of the build: two builds of one target must not share `DIR.partial`.
    lock: File,
    /// Whether what is there should outlive this value: published, or to be gone on with.
    keep: bool,
}

const LOCK: &str = "build.lock";
/// What a build that can be gone on with says of itself.
const FINGERPRINT: &str = "build.json";

impl Staging {
    /// Starts a build of `target`. An index that is there already stays until [`Staging::publish`], and
    /// is replaced only if `overwrite` says so; anything else that is there is never touched.
    pub fn create(target: &Path, overwrite: bool) -> Result<Self, IndexError> {
        let mut staging = Self::lock(target, overwrite)?;
        staging.start_over(overwrite)?;
        Ok(staging)
    }

    /// Starts a build of `target` or goes on with an interrupted one: with what a build of the same
    /// `fingerprint` left behind. Whatever happens, what has been done stays for the next try.
    pub fn resume(target: &Path, overwrite: bool, fingerprint: &str) -> Result<Self, IndexError> {
        let mut staging = Self::lock(target, overwrite)?;
        let path = staging.partial.join(FINGERPRINT);
        if fs::read_to_string(&path).is_ok_and(|found| found == fingerprint) {
            staging.keep = true;
            return Ok(staging);
        }
        staging.start_over(overwrite)?;
        fs::write(&path, fingerprint).map_err(IndexError::io(&path, "cannot write"))?;
        staging.keep = true;
        Ok(staging)
    }

    /// Clears what an earlier build left, but not hours of work that could be gone on with, unless told to.
    fn start_over(&mut self, overwrite: bool) -> Result<(), IndexError> {
        if self.partial.join(FINGERPRINT).exists() && !overwrite {
            self.keep = true;
            return Err(IndexError::Unfinished(self.partial.clone()));
        }
        clear(&self.partial)
    }

    fn lock(target: &Path, overwrite: bool) -> Result<Self, IndexError> {
        let target =
            &std::path::absolute(target).map_err(IndexError::io(target, "cannot resolve"))?;
        if Manifest::is_in(target) {
            if !overwrite {
                return Err(IndexError::Exists(target.to_owned()));
            }
        } else if !is_absent_or_empty(target)? {
            return Err(IndexError::NotOurs(target.to_owned()));
        }
        let partial = beside(target, ".partial");
        fs::create_dir_all(&partial).map_err(IndexError::io(&partial, "cannot create"))?;
        let lock_path = partial.join("build.lock");
        let lock = File::create(&lock_path).map_err(IndexError::io(&lock_path, "cannot create"))?;
        lock.try_lock()
            .map_err(|_| IndexError::Busy(target.to_owned()))?;
        Ok(Self {
            target: target.to_owned(),
            partial,
            lock,
            keep: false,
        })
    }

    /// Where to build.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Ends a build that nobody will want to go on with: nothing of it stays.
    pub fn abandon(mut self) {
        self.keep = false;
    }

    /// Puts the directory in its place, everything in it on disk before it appears.
    pub fn publish(mut self) -> Result<(), IndexError> {
        for name in [LOCK, FINGERPRINT] {
            let path = self.partial.join(name);
            if path.exists() {
                fs::remove_file(&path).map_err(IndexError::io(&path, "cannot remove"))?;
            }
        }
        let replaces = Manifest::is_in(&self.target);
        if replaces {
            self.renumber()?;
        }
        durable::sync_tree(&self.partial)
            .map_err(IndexError::io(&self.partial, "cannot sync the index"))?;
        if replaces {
            exchange(&self.partial, &self.target).map_err(IndexError::io(
                &self.target,
                "cannot put the new index in place",
            ))?;
            fs::remove_dir_all(&self.partial)
                .map_err(IndexError::io(&self.partial, "cannot remove the old index"))?;
        } else {
            fs::rename(&self.partial, &self.target).map_err(IndexError::io(
                &self.target,
                "cannot put the index in place",
            ))?;
        }
        self.keep = true;
        durable::sync_parent(&self.target);
        Ok(())
    }

    /// Gives the new index an edition of its own. Whoever has the old one open can then open the new one beside it: a
    /// process may have one environment of LMDB for a path.
    fn renumber(&self) -> Result<(), IndexError> {
        let Ok(old) = Manifest::read(&self.target) else {
            // Of another format, hence open nowhere in this process.
            return Ok(());
        };
        let new = Manifest::read(&self.partial)?;
        let renamed = Manifest {
            edition: old.edition + 1,
            ..new.clone()
        };
        let folders = [
            (new.store(&self.partial), renamed.store(&self.partial)),
            (
                new.first_stage(&self.partial),
                renamed.first_stage(&self.partial),
            ),
        ];
        for (from, to) in folders {
            if from.is_dir() {
                fs::rename(&from, &to).map_err(IndexError::io(&to, "cannot rename"))?;
            }
        }
        renamed.write(&self.partial)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.keep {
            // A failed build leaves nothing behind; if even that fails, the next build clears it.
            let _ = fs::remove_dir_all(&self.partial);
        }
        let _ = self.lock.unlock();
    }
}

fn beside(target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    target.with_file_name(name)
}

fn is_absent_or_empty(target: &Path) -> Result<bool, IndexError> {
    match fs::read_dir(target) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(e) => Err(IndexError::io(target, "cannot look into the target")(e)),
    }
}

/// Removes what an earlier build left in `dir`, but for the lock.
fn clear(dir: &Path) -> Result<(), IndexError> {
    for entry in fs::read_dir(dir).map_err(IndexError::io(dir, "cannot read"))? {
        let path = entry.map_err(IndexError::io(dir, "cannot read"))?.path();
        let removed = match () {
            () if path.ends_with(LOCK) => Ok(()),
            () if path.is_dir() => fs::remove_dir_all(&path),
            () => fs::remove_file(&path),
        };
        removed.map_err(IndexError::io(&path, "cannot remove"))?;
    }
    Ok(())
}

/// Exchanges two directories; at every moment there is one at `b`.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
        // Some network file systems cannot exchange.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => exchange_by_turns(a, b),
        result => Ok(result?),
    }
}

#[cfg(not(target_os = "linux"))]
fn exchange(a: &Path, b: &Path) -> std::io::Result<()> {
    exchange_by_turns(a, b)
}

/// Without help of the system there is a moment in which `b` is absent, but never half there.
fn exchange_by_turns(a: &Path, b: &Path) -> std::io::Result<()> {
    let aside = beside(b, ".old");
    fs::rename(b, &aside)?;
    fs::rename(a, b)?;
    fs::rename(&aside, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(target: &Path, overwrite: bool, text: &str) -> Result<(), IndexError> {
        let staging = Staging::create(target, overwrite)?;
        fs::write(staging.path().join("data"), text).unwrap();
        Manifest::default().write(staging.path())?;
        staging.publish()
    }

    #[test]
    fn appears_whole_and_is_replaced_in_one_step() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        build(&target, false, "one").unwrap();
        assert!(matches!(
            build(&target, false, "two"),
            Err(IndexError::Exists(_))
        ));
        build(&target, true, "two").unwrap();
        assert_eq!(fs::read_to_string(target.join("data")).unwrap(), "two");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn an_abandoned_build_leaves_the_old_index() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        build(&target, false, "one").unwrap();
        let staging = Staging::create(&target, true).unwrap();
        fs::write(staging.path().join("data"), "half").unwrap();
        assert!(matches!(
            Staging::create(&target, true),
            Err(IndexError::Busy(_))
        ));
        drop(staging);
        assert_eq!(fs::read_to_string(target.join("data")).unwrap(), "one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_killed_build_is_cleared_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        fs::create_dir_all(folder.path().join("index.partial/deep")).unwrap();
        fs::write(folder.path().join("index.partial/stale"), "x").unwrap();
        build(&target, false, "one").unwrap();
        assert!(!target.join("stale").exists() && !target.join("deep").exists());
    }

    #[test]
    fn a_build_is_gone_on_with_if_it_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        let begin = |fingerprint| Staging::resume(&target, false, fingerprint).unwrap();
        fs::write(begin("a").path().join("half"), "x").unwrap();
        assert!(begin("a").path().join("half").exists());
        let other = Staging::resume(&target, false, "b");
        assert!(matches!(other, Err(IndexError::Unfinished(_))));
        assert!(matches!(
            Staging::create(&target, false),
            Err(IndexError::Unfinished(_))
        ));
        assert!(
            begin("a").path().join("half").exists(),
            "nothing is lost by asking"
        );
        let other = Staging::resume(&target, true, "b").unwrap();
        assert!(!other.path().join("half").exists());
        drop(other);
        let staging = begin("b");
        Manifest::default().write(staging.path()).unwrap();
        staging.publish().unwrap();
        let names: Vec<_> = fs::read_dir(&target)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names, ["becr.json"]);
    }

    #[test]
    fn other_peoples_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
        assert!(matches!(
            build(folder.path(), true, "x"),
            Err(IndexError::NotOurs(_))
        ));
        assert!(folder.path().join("thesis.txt").exists());
        let file = folder.path().join("thesis.txt");
        assert!(matches!(
            build(&file, true, "x"),
            Err(IndexError::Io { .. })
        ));
    }

    #[test]
    fn exchanging_by_turns_ends_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        for dir in [&a, &b] {
            fs::create_dir(dir).unwrap();
            fs::write(dir.join("name"), dir.as_os_str().as_encoded_bytes()).unwrap();
        }
        exchange_by_turns(&a, &b).unwrap();
        assert_eq!(
            fs::read(b.join("name")).unwrap(),
            a.as_os_str().as_encoded_bytes()
        );
        assert_eq!(
            fs::read(a.join("name")).unwrap(),
            b.as_os_str().as_encoded_bytes()
        );
    }
}
