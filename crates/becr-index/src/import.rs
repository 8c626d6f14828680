//! An index directory from a store that is elsewhere, in a cluster say.

use crate::copy::{copy_documents, copy_groups};
use crate::live::LiveIndex;
use crate::manifest::Manifest;
use crate::staging::Staging;
use crate::{IndexError, Observer, Stage};
use becr_groups::GroupList;
use becr_store::{FetchBuffer, Question, StoreContents};
use std::path::{Component, Path, PathBuf};

/// A file of an index beside store and first stage: its path inside the index, and its contents.
pub type SmallFile = (String, Vec<u8>);

/// The files that an index in `dir` has beside store and first stage: what it says of itself, its model's head and
/// tokenizer, its list of token groups.
pub fn small_files(dir: &Path) -> Result<Vec<SmallFile>, IndexError> {
    let mut files = Vec::new();
    let mut add = |path: PathBuf| {
        let bytes = std::fs::read(&path).map_err(IndexError::io(&path, "cannot read"))?;
        let name = path.strip_prefix(dir).unwrap_or(&path);
        files.push((name.to_string_lossy().into_owned(), bytes));
        Ok::<_, IndexError>(())
    };
    add(Manifest::file(dir))?;
    let list = dir.join(crate::full::GROUP_LIST);
    if list.is_file() {
        add(list)?;
    }
    let model = dir.join(crate::full::MODEL);
    let entries = std::fs::read_dir(&model).map_err(IndexError::io(&model, "cannot read"))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .into_iter()
        .filter(|path| path.is_file())
        .try_for_each(add)?;
    Ok(files)
}

/// Makes an index directory of a store and the small files that belong to it. Returns how many documents it has.
pub fn import(
    from: &impl StoreContents,
    files: &[SmallFile],
    target: &Path,
    overwrite: bool,
    observer: &dyn Observer,
) -> Result<u64, IndexError> {
    let name = from.path();
    let manifest = Manifest {
        edition: 0,
        files: Vec::new(),
        ..manifest_of(files, name)?
    };
    let staging = Staging::create(target, overwrite)?;
    let mut index = LiveIndex::build(staging.path(), from.header())?;
    write_files(files, staging.path())?;
    let list = staging.path().join(crate::full::GROUP_LIST);
    if list.is_file() {
        copy_groups(from, &GroupList::open(&list)?, &index)?;
    }
    let mut buffer = FetchBuffer::default();
    let totals = (from.look_up(&Question::default(), &mut buffer)?).totals;
    let documents = totals.documents;
    observer.begin(Stage::Merging, Some(documents));
    copy_documents(name, from, &mut index, observer)?;
    index.finish()?;
    manifest.write(staging.path())?;
    staging.publish()?;
    Ok(documents)
}

/// What an index says of itself whose small files these are.
pub fn manifest_of(files: &[SmallFile], name: &Path) -> Result<Manifest, IndexError> {
    let file = Manifest::file(Path::new(""));
    let found = files.iter().find(|(path, _)| Path::new(path) == file);
    let (_, bytes) = found.ok_or_else(|| IndexError::NotAnIndex {
        path: name.to_owned(),
        reason: "its files came without becr.json; export it again".into(),
    })?;
    Manifest::parse(bytes, name)
}

/// Writes files into a folder; a path that leads out of it is refused.
fn write_files(files: &[SmallFile], folder: &Path) -> Result<(), IndexError> {
    for (name, bytes) in files {
        let name = Path::new(name);
        let is_inside = name
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_inside {
            return Err(IndexError::DamagedFile {
                path: name.to_owned(),
                reason: "its path leads out of the index".into(),
            });
        }
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(IndexError::io(parent, "cannot create"))?;
        }
        std::fs::write(&path, bytes).map_err(IndexError::io(&path, "cannot write"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_inside_the_index() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| (name.to_owned(), b"x".to_vec());
        write_files(&[file("model/head.json")], folder.path()).unwrap();
        assert!(folder.path().join("model/head.json").is_file());
        for outside in ["../x", "/tmp/x", "model/../../x", "./x"] {
            let error = write_files(&[file(outside)], folder.path()).unwrap_err();
            assert!(
                error.to_string().contains("leads out"),
                "{outside}: {error}"
            );
        }
    }

    #[test]
    fn an_index_without_a_manifest_is_none() {
        let error = manifest_of(&[], Path::new("redis://a/x")).unwrap_err();
        assert!(error.to_string().contains("becr.json"), "{error}");
    }
}
