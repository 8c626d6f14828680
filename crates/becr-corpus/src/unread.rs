//! Which documents may stand in what could not be read: whether they are still there cannot be told.

use std::collections::HashSet;
use std::path::Path;

use becr_basics::Folder;

use crate::format::Format;

/// The ids that documents of unread files of folders have, or may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    files: HashSet<String>,
    /// Ids of folders that could not be listed, with a `/` behind them; empty for all of a folder without a name.
    folders: Vec<String>,
    /// A file of many documents had a fault: any id may be one of its own, unless it is that of a file.
    has_collections: bool,
}

impl Unread {
    /// Whether a document of this id may be in what was not read.
    pub fn may_hold(&self, id: &str) -> bool {
        self.files.contains(id)
            || self.folders.iter().any(|folder| id.starts_with(folder))
            || (self.has_collections && Format::of_name(Path::new(id)) != Some(Format::Folder))
    }

    /// Notes a file of a folder, or a part of it, by the format that it is taken for.
    pub(crate) fn add_file(&mut self, folder: &Folder, path: &Path, format: Option<Format>) {
        if format != Some(Format::Folder) {
            self.has_collections = true;
        }
        self.files.insert(id(folder, path));
    }

    /// Notes a path below a folder that could be either.
    pub(crate) fn add_path(&mut self, folder: &Folder, path: &Path) {
        let id = id(folder, path);
        match id.as_str() {
            "" => self.folders.push(id),
            _ => {
                self.folders.push(format!("{id}/"));
                self.files.insert(id);
            }
        }
    }
}

fn id(folder: &Folder, path: &Path) -> String {
    folder.id(path.strip_prefix(&folder.path).unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_in_unread_files_is_kept() {
        let folder = Folder::alone("/n");
        let mut unread = Unread::default();
        assert!(!unread.may_hold("a.md"));
        unread.add_file(&folder, Path::new("/n/sub/a.md"), Some(Format::Folder));
        unread.add_path(&folder, Path::new("/n/locked"));
        for (id, expected) in [
            ("sub/a.md", true),
            ("a.md", false),
            ("locked/x/b.md", true),
            ("locked.md", false),
            ("d17", false),
        ] {
            assert_eq!(unread.may_hold(id), expected, "{id}");
        }
        unread.add_file(&folder, Path::new("/n/part.jsonl"), Some(Format::Jsonl));
        assert!(unread.may_hold("d17") && !unread.may_hold("a.md"));
    }
}
