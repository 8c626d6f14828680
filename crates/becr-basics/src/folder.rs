//! A folder whose files are documents, and what its documents are called.

use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// A folder of documents. Ids of its files are their paths inside of it, behind the folder's name where it has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// What its ids begin with, so that two folders may each hold a `README.md`. A folder alone needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether links in it to files elsewhere are read. Otherwise no file outside of it becomes a document.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follow_links: bool,
}

impl Folder {
    /// A folder alone.
    pub fn alone(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            name: None,
            follow_links: false,
        }
    }

    /// Folders that are read together: several have names, the shortest ends of their paths that tell them apart.
    pub fn together(paths: &[PathBuf]) -> Vec<Self> {
        let mut folders: Vec<Self> = paths.iter().map(Self::alone).collect();
        if folders.len() > 1 {
            let parts: Vec<Vec<String>> = paths.iter().map(|path| parts(path)).collect();
            for (folder, own) in folders.iter_mut().zip(&parts) {
                folder.name = Some(shortest(own, &parts));
            }
        }
        folders
    }

    /// The id of a file of this folder, given its path inside of it.
    pub fn id(&self, inside: &Path) -> String {
        let name = self.name.iter().cloned();
        name.chain(normal(inside)).collect::<Vec<_>>().join("/")
    }

    /// Where the file of a document is, if the id can be one of this folder's.
    pub fn file(&self, id: &str) -> Option<PathBuf> {
        let inside = match &self.name {
            None => id,
            Some(name) => id.strip_prefix(name.as_str())?.strip_prefix('/')?,
        };
        // An id is no path that leads out of the folder.
        let is_inside = Path::new(inside)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        (is_inside && !inside.is_empty()).then(|| self.path.join(inside))
    }
}

/// The names that a path is made of, links and `..` resolved where it exists.
fn parts(path: &Path) -> Vec<String> {
    let real = path.canonicalize().or_else(|_| std::path::absolute(path));
    normal(real.as_deref().unwrap_or(path)).collect()
}

fn normal(path: &Path) -> impl Iterator<Item = String> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
        _ => None,
    })
}

/// The shortest end of `own` that no other of `all` ends with; all of it if there is none.
fn shortest(own: &[String], all: &[Vec<String>]) -> String {
    let is_unique = |&length: &usize| {
        let end = &own[own.len() - length..];
        all.iter().filter(|other| other.ends_with(end)).count() == 1
    };
    let length = (1..=own.len()).find(is_unique).unwrap_or(own.len());
    own[own.len() - length..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_told_apart_by_the_ends_of_their_paths() {
        let names = |paths: &[&str]| -> Vec<Option<String>> {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            let folders = Folder::together(&paths).into_iter();
            folders.map(|folder| folder.name).collect()
        };
        let some = |names: &[&str]| -> Vec<Option<String>> {
            names.iter().map(|name| Some((*name).to_owned())).collect()
        };
        assert_eq!(names(&["/no/notes"]), [None]);
        assert_eq!(names(&["/no/notes", "/no/work/"]), some(&["notes", "work"]));
        assert_eq!(
            names(&["/no/a/notes", "/no/b/notes", "/no/c"]),
            some(&["a/notes", "b/notes", "c"])
        );
        assert_eq!(names(&["/no/x", "/no/x"]), some(&["no/x", "no/x"]));
    }

    #[test]
    fn ids_lead_back_to_files() {
        let folder = Folder {
            path: "/home/me/work".into(),
            name: Some("work".into()),
            follow_links: false,
        };
        assert_eq!(folder.id(Path::new("sub/a.md")), "work/sub/a.md");
        let file = folder.file("work/sub/a.md").unwrap();
        assert_eq!(file, Path::new("/home/me/work/sub/a.md"));
        for id in ["sub/a.md", "work", "work/", "workshop/a", "work/../secret"] {
            assert_eq!(folder.file(id), None, "{id}");
        }
        assert_eq!(Folder::alone("/x").file("/etc/passwd"), None);
        assert_eq!(Folder::alone("/x").file("a"), Some("/x/a".into()));
    }
}
