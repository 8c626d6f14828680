//! The files of an index that do not change once it is built, with their sizes and checksums: what `verify` compares
//! them with. The document store and a first stage that can change look after themselves.

use crate::IndexError;
use crate::manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::Path;
use twox_hash::XxHash3_64;

/// Bytes read at a time.
const PIECE: usize = 1 << 20;

/// A file as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSum {
    /// Its path inside the index.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// XXH3 of 64 bits over its bytes, in hexadecimal.
    pub checksum: String,
}

/// The checksum of bytes, as the manifest has it.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(bytes))
}

/// Size and checksum of a file, read piece by piece.
fn measure(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let (mut hasher, mut piece, mut bytes) = (XxHash3_64::new(), vec![0; PIECE], 0);
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok((bytes, format!("{:016x}", hasher.finish()))),
            Ok(length) => {
                hasher.write(&piece[..length]);
                bytes += length as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// All files in `dir` that nobody will change, sorted by path.
pub(crate) fn list(dir: &Path, manifest: &Manifest) -> Result<Vec<FileSum>, IndexError> {
    let mut files = Vec::new();
    walk(dir, dir, manifest, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn walk(
    root: &Path,
    dir: &Path,
    manifest: &Manifest,
    files: &mut Vec<FileSum>,
) -> Result<(), IndexError> {
    for entry in fs::read_dir(dir).map_err(IndexError::io(dir, "cannot read"))? {
        let path = entry.map_err(IndexError::io(dir, "cannot read"))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let changes = path == manifest.store(root)
            || (manifest.model.is_some() && path == manifest.first_stage(root));
        if path.is_dir() && !changes {
            walk(root, &path, manifest, files)?;
        }
        // Segments of the first stage carry checksums of their own.
        let is_segment = dir == manifest.first_stage(root) && !name.ends_with(".json");
        if !path.is_file() || is_passing(&name) || is_segment {
            continue;
        }
        let (bytes, checksum) = measure(&path).map_err(IndexError::io(&path, "cannot read"))?;
        let relative = path.strip_prefix(root).unwrap_or(&path);
        files.push(FileSum {
            path: relative.to_string_lossy().into_owned(),
            bytes,
            checksum,
        });
    }
    Ok(())
}

/// Whether a file is no part of what was built: the manifest itself, locks, marks of a build.
fn is_passing(name: &str) -> bool {
    name.starts_with("becr.") || name.ends_with(".lock") || name == crate::staging::FINGERPRINT
}

/// What is wrong with the files that the manifest lists, a sentence each.
pub(crate) fn check(dir: &Path, manifest: &Manifest) -> Vec<String> {
    let mut problems = Vec::new();
    for file in &manifest.files {
        let path = dir.join(&file.path);
        let problem = match measure(&path) {
            Err(e) => e.to_string(),
            Ok((bytes, _)) if bytes != file.bytes => {
                format!("it has {bytes} bytes, {} were written", file.bytes)
            }
            Ok((_, checksum)) if checksum != file.checksum => {
                "its bytes are not those that were written".to_owned()
            }
            Ok(_) => continue,
        };
        problems.push(format!("{}: {problem}", path.display()));
    }
    problems
}
