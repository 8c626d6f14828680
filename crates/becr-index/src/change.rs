//! Changing a living index: add, update, delete, compact, merge.

use crate::IndexError;
use crate::first_stage::Writer;
use crate::full::{BatchWriter, DocumentEncoder, Observer, Stage};
use crate::live::{Change, LiveIndex, store_folder};
use crate::manifest::Manifest;
use crate::staging::Staging;
use becr_corpus::Corpus;
use becr_groups::GroupList;
use becr_lmdb::{Snapshot, Store};
use becr_store::NewDocument;
use std::path::{Path, PathBuf};

/// What to do with a document whose id the index has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Stop: adding is for new documents.
    Refuse,
    /// Put the new one in its place.
    Replace,
}

/// What a change did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Changed {
    /// Documents that are new.
    pub added: u64,
    /// Documents that took the place of another.
    pub replaced: u64,
    /// Documents deleted.
    pub deleted: u64,
}

/// Adds the documents of a corpus to an index, in batches that are committed as they come.
pub fn add(
    index: &mut LiveIndex,
    encoder: &DocumentEncoder<'_>,
    mut corpus: Corpus,
    existing: Existing,
    observer: &dyn Observer,
) -> Result<Changed, IndexError> {
    observer.begin(Stage::EncodingDocuments, Some(&corpus), None);
    let store = index.store().clone();
    let keep_text = keeps_text(&store.snapshot()?)?;
    let mut changed = Changed::default();
    let known = store.snapshot()?;
    let documents = corpus.by_ref().map(|document| {
        let document = document?;
        match (known.number(&document.id)?, existing) {
            (None, _) => changed.added += 1,
            (Some(_), Existing::Replace) => changed.replaced += 1,
            (Some(_), Existing::Refuse) => return Err(IndexError::KnownId(document.id)),
        }
        observer.advance(1);
        Ok(document)
    });
    let mut writer = BatchWriter::new(index, keep_text)?;
    encoder.footprints_for(&store, documents, |document, footprints| {
        writer.push(document, footprints)
    })?;
    writer.flush()?;
    drop(known);
    index.commit()?;
    observer.read(&corpus);
    Ok(changed)
}

/// Deletes documents; returns the ids that the index did not have.
pub fn delete(index: &mut LiveIndex, ids: &[String]) -> Result<(Changed, Vec<String>), IndexError> {
    let snapshot = index.store().snapshot()?;
    let mut unknown = Vec::new();
    for id in ids {
        if snapshot.number(id)?.is_none() {
            unknown.push(id.clone());
        }
    }
    drop(snapshot);
    let changes: Vec<Change<'_>> = ids.iter().map(|id| Change::Delete(id)).collect();
    let deleted = index.apply(&changes)? as u64;
    index.commit()?;
    Ok((
        Changed {
            deleted,
            ..Changed::default()
        },
        unknown,
    ))
}

/// Rewrites an index without free space and deleted documents, in one step at the end. Readers that have the
/// old one open keep it. Returns its size in bytes before and after.
pub fn compact(dir: &Path) -> Result<(u64, u64), IndexError> {
    let mut index = LiveIndex::open(dir)?;
    let before = crate::build::size_of_tree(dir);
    index.commit()?;
    let staging = Staging::create(dir, true)?;
    index
        .store()
        .copy_compacted(&store_folder(staging.path()))?;
    // The first stage is written anew from the records: merging in place would leave its old files until
    // every reader is gone.
    let writer = Writer::create(staging.path())?;
    let snapshot = index.store().snapshot()?;
    for row in snapshot.documents()? {
        let (number, id) = row?;
        let (title, body) = crate::live::words_of(&snapshot, number)?;
        writer.add(id, &title, &body)?;
    }
    drop(snapshot);
    writer.finish()?;
    copy_rest(dir, staging.path())?;
    staging.publish()?;
    Ok((before, crate::build::size_of_tree(dir)))
}

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
    for (n, part) in parts.iter().enumerate() {
        if Manifest::read(part)?.model.is_none() {
            return Err(IndexError::Lexical(part.clone()));
        }
        let same = |other: &PathBuf| other.canonicalize().ok() == part.canonicalize().ok();
        if parts[..n].iter().any(same) {
            return Err(IndexError::SamePart(part.clone()));
        }
    }
    let stores: Vec<Store> = parts
        .iter()
        .map(|part| Store::open(&store_folder(part)))
        .collect::<Result<_, _>>()?;
    let list = GroupList::open(&first.join(crate::full::GROUP_LIST))?;
    for (part, store) in parts.iter().zip(&stores) {
        store.check_encoder(&stores[0].header().encoder_id)?;
        store.check_documents(stores[0].header().documents)?;
        let other = GroupList::open(&part.join(crate::full::GROUP_LIST))?;
        if other.digest() != list.digest() {
            return Err(IndexError::OtherGroups {
                first: first.clone(),
                other: part.clone(),
            });
        }
    }
    let staging = Staging::create(target, overwrite)?;
    let mut index = LiveIndex::build(staging.path(), stores[0].header())?;
    copy_groups(&stores[0].snapshot()?, &list, &index)?;
    let total: u64 = stores
        .iter()
        .map(|store| Ok(store.snapshot()?.totals()?.documents))
        .sum::<Result<u64, IndexError>>()?;
    observer.begin(Stage::Merging, None, Some(total));
    for (part, store) in parts.iter().zip(&stores) {
        copy_documents(part, &store.snapshot()?, &mut index, observer)?;
    }
    let documents = index.store().snapshot()?.totals()?.documents;
    index.finish()?;
    copy_rest(first, staging.path())?;
    staging.publish()?;
    Ok(documents)
}

/// Groups committed together.
const GROUPS: usize = 10_000;
/// Documents committed together.
const DOCUMENTS: usize = 64;

fn copy_groups(from: &Snapshot, list: &GroupList, index: &LiveIndex) -> Result<(), IndexError> {
    let mut groups = list.iter()?.peekable();
    while groups.peek().is_some() {
        let batch: Vec<_> = groups.by_ref().take(GROUPS).collect::<Result<_, _>>()?;
        index.update_store(|update| {
            for entry in &batch {
                if let Some(record) = from.group(&entry.group)? {
                    update.put_group(&entry.group, record.footprints())?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn copy_documents(
    part: &Path,
    from: &Snapshot,
    index: &mut LiveIndex,
    observer: &dyn Observer,
) -> Result<(), IndexError> {
    let names = from.feature_names()?;
    let rows: Vec<(u64, &str)> = from.documents()?.collect::<Result<_, _>>()?;
    for batch in rows.chunks(DOCUMENTS) {
        let mut copies = Vec::with_capacity(batch.len());
        for &(number, id) in batch {
            let Some(record) = from.record(number)? else {
                continue;
            };
            if index.store().snapshot()?.number(id)?.is_some() {
                let (id, part) = (id.to_owned(), part.to_owned());
                return Err(IndexError::Overlap { id, part });
            }
            let (title, body) = crate::live::words_of(from, number)?;
            let text = from.text(number)?;
            let keep_text = text.is_some();
            let (title, body) = text.map_or((title, body), |text| (text.title, text.text));
            let named = |(name, value): (u32, f32)| {
                (names.get(name as usize).cloned().unwrap_or_default(), value)
            };
            let features: Vec<(String, f32)> = record.features().map(named).collect();
            copies.push((id, title, body, keep_text, features, record));
        }
        let changes: Vec<Change<'_>> = copies
            .iter()
            .map(|(id, title, text, keep_text, features, record)| {
                Change::Put(NewDocument {
                    id,
                    title,
                    text,
                    keep_text: *keep_text,
                    tokens: record.tokens() as u32,
                    cls: record.cls(),
                    footprints: record.footprints(),
                    mean: record.mean(),
                    share: record.share(),
                    lengths: record.lengths(),
                    features,
                })
            })
            .collect();
        index.apply(&changes)?;
        observer.advance(batch.len() as u64);
    }
    Ok(())
}

/// Copies what an index holds beside store and first stage.
fn copy_rest(from: &Path, to: &Path) -> Result<(), IndexError> {
    Manifest::read(from)?.write(to)?;
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

/// An index keeps all texts or none: the first document tells.
fn keeps_text(snapshot: &Snapshot) -> Result<bool, IndexError> {
    match snapshot.documents()?.next() {
        Some(row) => Ok(snapshot.text(row?.0)?.is_some()),
        None => Ok(true),
    }
}
