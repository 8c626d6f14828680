//! Joining parts of one collection.

use crate::copy::{copy_documents, copy_groups};
use crate::live::LiveIndex;
use crate::manifest::Manifest;
use crate::staging::Staging;
use crate::{IndexError, Observer, Stage};
use becr_groups::GroupList;
use becr_lmdb::Store;
use becr_model::QueryMode;
use std::path::{Path, PathBuf};

/// Joins parts of one collection, built with the same model and the same list of token groups.
pub fn merge(
    parts: &[PathBuf],
    target: &Path,
    overwrite: bool,
    observer: &dyn Observer,
) -> Result<u64, IndexError> {
    let Some(first) = parts.first() else {
        return Err(IndexError::NoParts);
    };
    let of_first = Manifest::read(first)?;
    let (mode, precision) = (of_first.mode, of_first.precision());
    for (n, part) in parts.iter().enumerate() {
        let manifest = Manifest::read(part)?;
        if manifest.model.is_none() {
            return Err(IndexError::Lexical(part.clone()));
        }
        manifest.check_precision(part, precision)?;
        if manifest.mode != mode {
            return Err(IndexError::OtherMode {
                first: first.clone(),
                mode,
                other: part.clone(),
                found: manifest.mode,
            });
        }
        let same = |other: &PathBuf| other.canonicalize().ok() == part.canonicalize().ok();
        if parts[..n].iter().any(same) {
            return Err(IndexError::SamePart(part.clone()));
        }
    }
    let store = |part: &PathBuf| Ok(Store::open(&Manifest::read(part)?.store(part))?);
    let stores: Vec<Store> = parts.iter().map(store).collect::<Result<_, IndexError>>()?;
    let list = group_list(first, mode)?;
    for (part, store) in parts.iter().zip(&stores) {
        store.check_encoder(&stores[0].header().encoder_id)?;
        store.check_documents(stores[0].header().documents)?;
        let other = group_list(part, mode)?;
        if other.as_ref().map(GroupList::digest) != list.as_ref().map(GroupList::digest) {
            return Err(IndexError::OtherGroups {
                first: first.clone(),
                other: part.clone(),
            });
        }
    }
    let staging = Staging::create(target, overwrite)?;
    let mut index = LiveIndex::build(staging.path(), stores[0].header())?;
    if let Some(list) = &list {
        copy_groups(&stores[0].snapshot()?, list, &index)?;
    }
    let total: u64 = stores
        .iter()
        .map(|store| Ok(store.snapshot()?.totals()?.documents))
        .sum::<Result<u64, IndexError>>()?;
    observer.begin(Stage::Merging, Some(total));
    for (part, store) in parts.iter().zip(&stores) {
        copy_documents(part, &store.snapshot()?, &mut index, observer)?;
    }
    let documents = index.store().snapshot()?.totals()?.documents;
    index.finish()?;
    copy_rest(first, staging.path())?;
    staging.publish()?;
    Ok(documents)
}

/// The token groups of a part; `None` if it was built without.
fn group_list(part: &Path, mode: QueryMode) -> Result<Option<GroupList>, IndexError> {
    match mode {
        QueryMode::Composed => Ok(Some(GroupList::open(&part.join(crate::full::GROUP_LIST))?)),
        QueryMode::Encoded => Ok(None),
    }
}

/// Copies what an index holds beside store and first stage.
fn copy_rest(from: &Path, to: &Path) -> Result<(), IndexError> {
    let manifest = Manifest {
        edition: 0,
        ..Manifest::read(from)?
    };
    manifest.write(to)?;
    let copy = |from: PathBuf, to: PathBuf| {
        let copied = std::fs::read(&from).and_then(|bytes| std::fs::write(&to, bytes));
        copied.map_err(IndexError::io(&to, "cannot copy"))
    };
    let list = from.join(crate::full::GROUP_LIST);
    if list.is_file() {
        copy(list, to.join(crate::full::GROUP_LIST))?;
    }
    let model = from.join(crate::full::MODEL);
    if let Ok(entries) = std::fs::read_dir(&model) {
        let folder = to.join(crate::full::MODEL);
        std::fs::create_dir_all(&folder).map_err(IndexError::io(&folder, "cannot create"))?;
        for entry in entries.flatten() {
            copy(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    Ok(())
}
