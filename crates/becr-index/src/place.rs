//! Where an index really goes: links followed, mount points told.

use crate::IndexError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// As many links in a row as systems follow.
const LINKS: usize = 40;

/// The place that a path stands for: a link to an index, or to where one shall be, is followed.
pub(crate) fn resolve(target: &Path) -> Result<PathBuf, IndexError> {
    // Nobody means a folder named "redis:".
    if ["redis:", "rediss:"]
        .iter()
        .any(|scheme| target.starts_with(scheme))
    {
        return Err(IndexError::Address);
    }
    let absolute = |path: &Path| std::path::absolute(path);
    let follow = || -> io::Result<PathBuf> {
        let mut place = absolute(target)?;
        for _ in 0..LINKS {
            if !place.is_symlink() {
                return Ok(place);
            }
            let leads_to = fs::read_link(&place)?;
            place = absolute(&place.parent().unwrap_or(Path::new("/")).join(leads_to))?;
        }
        Err(io::Error::other("too many links, or links in a circle"))
    };
    follow().map_err(IndexError::io(target, "cannot resolve"))
}

/// Whether a file system is mounted on a directory. Such a directory cannot be renamed, nor can another take its place.
pub(crate) fn is_mount_point(dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(real), Some(parent)) = (dir.canonicalize(), dir.parent()) else {
        return false;
    };
    let device = |path: &Path| fs::metadata(path).map(|meta| meta.dev()).ok();
    // A part of the same file system may be mounted, too: that is only in the system's list.
    device(&real) != device(parent) || is_listed(&real)
}

/// Whether Linux lists the path as a mount point; elsewhere there is no such list.
fn is_listed(real: &Path) -> bool {
    let list = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounted = list.lines().filter_map(|line| line.split(' ').nth(4));
    let real = real.to_string_lossy();
    mounted.map(unescaped).any(|place| place == real)
}

/// Blanks and the like stand as three octal digits in the list.
fn unescaped(place: &str) -> String {
    let codes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let replace = |text: String, (code, plain): (&str, &str)| text.replace(code, plain);
    codes.into_iter().fold(place.to_owned(), replace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_told_from_folders() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_mount_point(folder.path()));
        assert!(!is_mount_point(&folder.path().join("nothing")));
        #[cfg(target_os = "linux")]
        assert!(is_mount_point(Path::new("/proc")));
        assert_eq!(unescaped("/a\\040b"), "/a b");
    }
}
