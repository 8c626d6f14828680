//! What an index takes on disk beside its store.

use crate::build::size_of_tree;
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
    pub fn measure(dir: &Path) -> Self {
        let list = std::fs::metadata(dir.join(crate::full::GROUP_LIST));
        Self {
            first_stage: size_of_tree(&dir.join(crate::first_stage::FOLDER)),
            group_list: list.map_or(0, |meta| meta.len()),
            model: size_of_tree(&dir.join(crate::full::MODEL)),
        }
    }
}
