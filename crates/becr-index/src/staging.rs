//! A directory that appears whole or not at all.
//!
//! A build works in `DIR.partial` beside its target. Publishing is one rename; replacing an existing
//! index exchanges the two directories in one step, so that whoever looks at `DIR` sees the old index
//! or the new one. A build that was killed leaves `DIR.partial` behind, which the next one clears.
//!
//! Only a directory that carries the mark of a build of the same target is ever cleared or removed. So the mark is on disk
//! before anything else is in `DIR.partial`, and an index that is about to be replaced is marked before it is moved there.
//! An index that is replaced has no writer meanwhile: publishing takes its writer's lock.

use crate::manifest::Manifest;
use crate::writers::{WriterLock, is_at};
use crate::{IndexError, durable, leftovers, place};
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A directory under construction.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    partial: PathBuf,
    /// Whether an index that is there may be replaced.
    overwrite: bool,
    /// Held for the life of the build: two builds of one target must not share `DIR.partial`.
    lock: File,
    /// Whether what is there should outlive this value: published, or to be gone on with.
    keep: bool,
}

/// The mark of a build, and its lock.
pub(crate) const MARK: &str = "becr.build";
/// What a build that can be gone on with says of itself.
pub(crate) const FINGERPRINT: &str = "build.json";
/// How long a finished build waits for a writer of the index that it replaces.
const PATIENCE: Duration = Duration::from_secs(30);

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
            // It may have ended just before it was published.
            Manifest::undo_renumbering(&staging.partial)?;
            return Ok(staging);
        }
        staging.start_over(overwrite)?;
        durable::replace(&path, fingerprint.as_bytes())
            .map_err(IndexError::io(&path, "cannot write"))?;
        staging.keep = true;
        Ok(staging)
    }

    /// Clears what an earlier build left, but not hours of work that could be gone on with, unless told to.
    fn start_over(&mut self, overwrite: bool) -> Result<(), IndexError> {
        let is_begun = self.partial.join(FINGERPRINT).exists();
        if is_begun && !overwrite && leftovers::hold_work(&self.partial) {
            self.keep = true;
            return Err(IndexError::Unfinished(self.partial.clone()));
        }
        empty(&self.partial)
    }

    fn lock(target: &Path, overwrite: bool) -> Result<Self, IndexError> {
        let target = &place::resolve(target)?;
        if Manifest::is_in(target) {
            if !overwrite {
                return Err(IndexError::Exists(target.to_owned()));
            }
        } else if !is_absent_or_empty(target)? {
            return Err(IndexError::NotOurs(target.to_owned()));
        }
        if place::is_mount_point(target) {
            return Err(IndexError::MountPoint(target.to_owned()));
        }
        let partial = beside(target, ".partial");
        let mark = mark_of(target);
        if !is_ours(&partial, &mark)? {
            return Err(IndexError::NotOurBuild(partial));
        }
        durable::create_folders(&partial).map_err(IndexError::io(&partial, "cannot create"))?;
        let lock = marked(&partial, &mark, target)?;
        Ok(Self {
            target: target.to_owned(),
            partial,
            overwrite,
            lock,
            keep: false,
        })
    }

    /// Where to build.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Ends a build that failed. Where it had done nothing that the next try could use, nothing of it stays: whoever mends
    /// a path, or a document, starts a build with another fingerprint.
    pub fn fail(mut self) {
        self.keep &= leftovers::hold_work(&self.partial);
    }

    /// Ends a build that nobody will want to go on with: nothing of it stays.
    pub fn abandon(mut self) {
        self.keep = false;
    }

    /// Puts the directory in its place, everything in it on disk before it appears.
    pub fn publish(self) -> Result<(), IndexError> {
        self.publish_within(PATIENCE)
    }

    fn publish_within(mut self, patience: Duration) -> Result<(), IndexError> {
        let replaces = Manifest::is_in(&self.target);
        if replaces && !self.overwrite {
            return Err(IndexError::Exists(self.target.clone()));
        }
        // What a writer does from here on would be lost, or end up in the new index.
        let writer = match replaces {
            true => Some(WriterLock::acquire_within(&self.target, patience)?),
            false => None,
        };
        if replaces {
            self.renumber()?;
        }
        Manifest::read(&self.partial)?.seal(&self.partial)?;
        durable::sync_tree(&self.partial)
            .map_err(IndexError::io(&self.partial, "cannot sync the index"))?;
        self.forget_fingerprint()?;
        match replaces {
            true => self.exchange()?,
            false => {
                fs::rename(&self.partial, &self.target).map_err(IndexError::io(
                    &self.target,
                    "cannot put the index in place",
                ))?;
                self.keep = true;
                self.sync_place()?;
            }
        }
        drop(writer);
        // A mark that stays in an index is no harm.
        let _ = fs::remove_file(self.target.join(MARK));
        Ok(())
    }

    /// From here on the build is not gone on with, but an index; and what was a build's once must not be taken for one that
    /// can be gone on with, when it is replaced one day.
    fn forget_fingerprint(&self) -> Result<(), IndexError> {
        let path = self.partial.join(FINGERPRINT);
        if path.exists() {
            fs::remove_file(&path)
                .and_then(|()| durable::sync_folder(&self.partial))
                .map_err(IndexError::io(&path, "cannot remove"))?;
        }
        Ok(())
    }

    /// Puts the new index in the place of the old one, and removes that.
    fn exchange(&mut self) -> Result<(), IndexError> {
        let stale = self.target.join(FINGERPRINT);
        if stale.exists() {
            fs::remove_file(&stale).map_err(IndexError::io(&stale, "cannot remove"))?;
        }
        // The old index, which the user gave up, is marked before it comes to be where builds work: whoever dies from now
        // on leaves something that the next build may go on with removing.
        let old = marked(&self.target, &mark_of(&self.target), &self.target)?;
        if let Err(error) = exchange(&self.partial, &self.target) {
            let _ = fs::remove_file(self.target.join(MARK));
            return Err(IndexError::io(
                &self.target,
                "cannot put the new index in place",
            )(error));
        }
        self.keep = true;
        // The old index goes when the new one is there to stay.
        self.sync_place()?;
        remove(&self.partial)?;
        drop(old);
        Ok(())
    }

    fn sync_place(&self) -> Result<(), IndexError> {
        durable::sync_parent(&self.target)
            .map_err(IndexError::io(&self.target, "cannot sync the folder of"))
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
            let _ = remove(&self.partial);
        }
        let _ = self.lock.unlock();
    }
}

/// What to say of an index that is not there: its build is under way, or was interrupted.
pub(crate) fn unfinished(target: &Path) -> Option<IndexError> {
    if target.exists() {
        return None;
    }
    let target = place::resolve(target).ok()?;
    let partial = beside(&target, ".partial");
    if fs::read(partial.join(MARK)).ok()? != mark_of(&target) {
        return None;
    }
    let lock = File::open(partial.join(MARK)).ok()?;
    Some(match lock.try_lock() {
        Ok(()) => IndexError::InterruptedBuild(target),
        Err(_) => IndexError::BeingBuilt(target),
    })
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
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        Err(e) => Err(IndexError::io(target, "cannot look into the target")(e)),
    }
}

/// What the mark of a build says: for which target it is, so that it is worth nothing under another name.
fn mark_of(target: &Path) -> Vec<u8> {
    let name = target.file_name().unwrap_or_default();
    [b"a build of becr: ", name.as_encoded_bytes(), b"\n"].concat()
}

/// Whether a build may work in `partial`: there is nothing, or an empty directory, or one that carries the mark.
fn is_ours(partial: &Path, mark: &[u8]) -> Result<bool, IndexError> {
    let io = || IndexError::io(partial, "cannot look at");
    match fs::symlink_metadata(partial) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(e) => return Err(io()(e)),
        Ok(meta) if !meta.is_dir() => return Ok(false),
        Ok(_) => {}
    }
    let path = partial.join(MARK);
    let found = fs::read(&path).ok();
    let mut names = fs::read_dir(partial).map_err(io())?.flatten();
    let is_bare = names.all(|entry| entry.file_name() == MARK);
    // A mark may be half-written where nothing else has been.
    Ok(is_bare || found.as_deref() == Some(mark))
}

/// Marks a directory as a build's, on disk, and locks it.
fn marked(partial: &Path, mark: &[u8], target: &Path) -> Result<File, IndexError> {
    let path = partial.join(MARK);
    let lock = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path);
    let mut lock = lock.map_err(IndexError::io(&path, "cannot create"))?;
    // A build that ended between our look and our lock has taken the file with it.
    if lock.try_lock().is_err() || !is_at(&lock, &path) {
        return Err(IndexError::Busy(target.to_owned()));
    }
    let mut write = || {
        let mut found = Vec::new();
        lock.read_to_end(&mut found)?;
        if found != mark {
            lock.set_len(0)?;
            lock.rewind()?;
            lock.write_all(mark)?;
        }
        lock.sync_all()?;
        durable::sync_folder(partial)
    };
    write().map_err(IndexError::io(&path, "cannot write"))?;
    Ok(lock)
}

/// Removes a marked directory, its mark last: a power cut must not leave files without the mark, which no later build
/// would touch.
fn remove(dir: &Path) -> Result<(), IndexError> {
    empty(dir)?;
    durable::sync_folder(dir).map_err(IndexError::io(dir, "cannot sync"))?;
    let mark = dir.join(MARK);
    fs::remove_file(&mark).map_err(IndexError::io(&mark, "cannot remove"))?;
    fs::remove_dir(dir).map_err(IndexError::io(dir, "cannot remove"))
}

/// Removes what an earlier build left in `dir`, but for the mark.
fn empty(dir: &Path) -> Result<(), IndexError> {
    for entry in fs::read_dir(dir).map_err(IndexError::io(dir, "cannot read"))? {
        let path = entry.map_err(IndexError::io(dir, "cannot read"))?.path();
        let removed = match () {
            () if path.ends_with(MARK) => Ok(()),
            () if path.is_dir() && !path.is_symlink() => fs::remove_dir_all(&path),
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
        let killed = Staging::create(&target, false).unwrap();
        fs::create_dir(killed.path().join("deep")).unwrap();
        fs::write(killed.path().join("stale"), "x").unwrap();
        // As a kill does it: the lock is gone, the files stay.
        killed.lock.unlock().unwrap();
        std::mem::forget(killed);
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

    /// A build that was killed at the end, when it had the names of its place already.
    #[test]
    fn a_build_that_was_about_to_be_published_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        build(&target, false, "old").unwrap();
        let staging = Staging::resume(&target, true, "a").unwrap();
        let first = Manifest::default();
        fs::create_dir(first.store(staging.path())).unwrap();
        fs::write(first.store(staging.path()).join("data"), "new").unwrap();
        first.write(staging.path()).unwrap();
        staging.renumber().unwrap();
        assert!(!first.store(staging.path()).exists());
        drop(staging);
        let staging = Staging::resume(&target, true, "a").unwrap();
        assert!(first.store(staging.path()).join("data").exists());
        assert_eq!(Manifest::read(staging.path()).unwrap().edition, 0);
        staging.publish().unwrap();
        let new = Manifest::read(&target).unwrap();
        assert_eq!(new.edition, 1);
        assert!(new.store(&target).join("data").exists());
        assert!(!target.join(FINGERPRINT).exists() && !target.join(MARK).exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// A writer of the old index keeps it from being replaced, and the build's work stays.
    #[test]
    fn a_writer_and_a_new_index_keep_out_of_each_others_way() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        build(&target, false, "old").unwrap();
        let writer = File::create(target.join(crate::writers::FILE)).unwrap();
        writer.lock().unwrap();
        let staging = Staging::resume(&target, true, "a").unwrap();
        fs::write(staging.path().join("data"), "new").unwrap();
        Manifest::default().write(staging.path()).unwrap();
        let refused = staging.publish_within(Duration::ZERO);
        assert!(matches!(refused, Err(IndexError::SecondWriter(_))));
        assert_eq!(fs::read_to_string(target.join("data")).unwrap(), "old");
        drop(writer);
        let staging = Staging::resume(&target, true, "a").unwrap();
        assert!(staging.path().join("data").exists(), "gone on with");
        staging.publish().unwrap();
        assert_eq!(fs::read_to_string(target.join("data")).unwrap(), "new");
    }

    /// Where there was nothing when the build began, what came meanwhile is left alone.
    #[test]
    fn an_index_that_came_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (target, other) = (folder.path().join("index"), folder.path().join("other"));
        build(&other, false, "restored").unwrap();
        let staging = Staging::create(&target, false).unwrap();
        Manifest::default().write(staging.path()).unwrap();
        fs::rename(&other, &target).unwrap();
        assert!(matches!(staging.publish(), Err(IndexError::Exists(_))));
        assert_eq!(fs::read_to_string(target.join("data")).unwrap(), "restored");
    }

    /// What is left when a build is killed, or the power fails, after it put its index in place of another.
    #[test]
    fn an_index_that_was_replaced_is_cleared_by_the_next_build() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        build(&target, false, "old").unwrap();
        let mut staging = Staging::create(&target, true).unwrap();
        Manifest::default().write(staging.path()).unwrap();
        // The mark is in the old index before that is where builds work.
        drop(marked(&target, &mark_of(&target), &target).unwrap());
        exchange(staging.path(), &target).unwrap();
        staging.keep = true;
        drop(staging);
        build(&target, true, "newer").unwrap();
        assert_eq!(fs::read_to_string(target.join("data")).unwrap(), "newer");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// A build that was killed before it had done anything, because its path was wrong say, is not in the way of another.
    #[test]
    fn what_is_no_work_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        let begin = |fingerprint| Staging::resume(&target, false, fingerprint);
        let killed = begin("a").unwrap();
        fs::create_dir(killed.path().join("model")).unwrap();
        fs::write(killed.path().join("documents.unfinished"), "x").unwrap();
        drop(killed);
        let other = begin("b").unwrap();
        assert!(!other.path().join("model").exists());
        fs::write(other.path().join("documents.spool"), "x").unwrap();
        other.fail();
        assert!(matches!(begin("a"), Err(IndexError::Unfinished(_))));
        fs::remove_file(beside(&target, ".partial").join("documents.spool")).unwrap();
        begin("b").unwrap().fail();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
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
            Err(IndexError::NotOurs(_))
        ));
        assert!(file.is_file());
    }

    /// Whatever stands where a build would work and was not put there by one: before, while and after.
    #[test]
    fn other_peoples_partial_things_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        let partial = folder.path().join("index.partial");
        let refused = || {
            for attempt in [build(&target, false, "x"), build(&target, true, "x")] {
                let Err(IndexError::NotOurBuild(path)) = attempt else {
                    panic!("{attempt:?}");
                };
                assert_eq!(path, partial);
            }
        };
        fs::write(&partial, "a file").unwrap();
        refused();
        assert_eq!(fs::read_to_string(&partial).unwrap(), "a file");
        fs::remove_file(&partial).unwrap();
        fs::create_dir(&partial).unwrap();
        fs::write(partial.join("thesis.txt"), "years of work").unwrap();
        refused();
        // The mark of a build of another name.
        fs::write(partial.join(MARK), mark_of(Path::new("other"))).unwrap();
        refused();
        assert!(partial.join("thesis.txt").exists());
        // A link may lead anywhere.
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&partial, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &partial).unwrap();
        refused();
        assert!(elsewhere.join("thesis.txt").exists());
        // An empty folder holds nothing to lose.
        fs::remove_file(&partial).unwrap();
        fs::create_dir(&partial).unwrap();
        build(&target, false, "one").unwrap();
        assert!(!partial.exists());
    }

    /// A link stays a link, and the index is where it leads to.
    #[test]
    fn links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (link, real) = (folder.path().join("link"), folder.path().join("disk/real"));
        fs::create_dir(folder.path().join("disk")).unwrap();
        std::os::unix::fs::symlink("disk/real", &link).unwrap();
        for (text, overwrite) in [("one", false), ("two", true)] {
            build(&link, overwrite, text).unwrap();
            assert!(link.is_symlink());
            assert_eq!(fs::read_to_string(real.join("data")).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert_eq!(fs::read_dir(folder.path().join("disk")).unwrap().count(), 1);
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("link", &link).unwrap();
        assert!(matches!(
            build(&link, false, "x"),
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
