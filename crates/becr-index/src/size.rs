//! What an index takes on disk beside its store.

use crate::IndexError;
use crate::manifest::Manifest;
use std::path::Path;

/// Bytes of the parts of an index directory that lie outside of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSizes {
    /// The first-stage index.
    pub first_stage: u64,
    /// The list of the chosen token groups.
    pub group_list: u64,
    /// The model's small files.
    pub model: u64,
}

impl FileSizes {
    /// Measures the index in `dir`; what is not there counts as nothing.
    pub fn measure(dir: &Path) -> Result<Self, IndexError> {
        let list = std::fs::metadata(dir.join(crate::full::GROUP_LIST));
        Ok(Self {
            first_stage: size_of_tree(&Manifest::read(dir)?.first_stage(dir)),
            group_list: list.map_or(0, |meta| meta.len()),
            model: size_of_tree(&dir.join(crate::full::MODEL)),
        })
    }
}

/// Bytes of all files below `dir`; what cannot be read counts as nothing.
pub(crate) fn size_of_tree(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size_of_tree(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
