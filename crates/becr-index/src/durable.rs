//! Files that are there after a power cut.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Writes a file in the place of another, whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    write(&new, bytes)?;
    fs::rename(&new, path)?;
    sync_parent(path);
    Ok(())
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
    sync_folder(dir);
    Ok(())
}

/// Makes a rename or a new file last. Best effort: not every system can sync a folder.
pub(crate) fn sync_parent(path: &Path) {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    sync_folder(parent.unwrap_or(Path::new(".")));
}

fn sync_folder(dir: &Path) {
    if let Ok(dir) = File::open(dir) {
        let _ = dir.sync_all();
    }
}
