//! An index from a store that is elsewhere, in a cluster say.

use crate::live::{Change, LiveIndex};
use crate::manifest::Manifest;
use crate::merge::{copy_rest, group_list};
use crate::staging::Staging;
use crate::{IndexError, Observer, Stage};
use becr_groups::GroupList;
use becr_store::{FetchBuffer, NewDocument, Question, Record, StoreContents, StoreError, Table};
use becr_text::groups::TokenGroup;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

/// Groups, and documents, that are copied together.
const GROUPS: usize = 10_000;
const DOCUMENTS: usize = 256;

/// Writes the contents of a store into a new index in `target`, whose first stage is made from the documents' texts, or from
/// their words where texts are not kept. `files` is a folder with what an index has beside store and first stage.
/// Returns how many documents there are.
pub fn import(
    from: &impl StoreContents,
    files: &Path,
    target: &Path,
    overwrite: bool,
    observer: &dyn Observer,
) -> Result<u64, IndexError> {
    let manifest = Manifest::read(files)?;
    let list = group_list(files, manifest.mode)?;
    let staging = Staging::create(target, overwrite)?;
    let mut index = LiveIndex::build(staging.path(), from.header())?;
    if let Some(list) = &list {
        copy_groups(from, list, &index)?;
    }
    observer.begin(Stage::Importing, Some(from.rows(Table::Ids)?));
    let documents = copy_documents(from, &mut index, observer)?;
    index.finish()?;
    copy_rest(files, staging.path())?;
    staging.publish()?;
    Ok(documents)
}

fn copy_groups(
    from: &impl StoreContents,
    list: &GroupList,
    index: &LiveIndex,
) -> Result<(), IndexError> {
    let mut entries = list.iter()?.peekable();
    while entries.peek().is_some() {
        let batch: Vec<_> = entries.by_ref().take(GROUPS).collect::<Result<_, _>>()?;
        let groups: Vec<TokenGroup> = batch.into_iter().map(|entry| entry.group).collect();
        let question = Question {
            groups: &groups,
            ..Question::default()
        };
        let mut buffer = FetchBuffer::default();
        let answer = from.look_up(&question, &mut buffer)?;
        index.update_store(|update| {
            for (group, record) in groups.iter().zip(&answer.groups) {
                if let Some(record) = record {
                    update.put_group(group, record.footprints())?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A document on its way, without its record.
struct Copied {
    title: String,
    text: String,
    keep_text: bool,
    features: Vec<(String, f32)>,
}

fn copy_documents(
    from: &impl StoreContents,
    index: &mut LiveIndex,
    observer: &dyn Observer,
) -> Result<u64, IndexError> {
    let mut all = Vec::new();
    from.scan(Table::Ids, &mut |number, id| {
        let number = number
            .first_chunk()
            .map_or(u64::MAX, |n| u64::from_be_bytes(*n));
        all.push((number, String::from_utf8_lossy(id).into_owned()));
        ControlFlow::Continue(())
    })?;
    let mut buffer = FetchBuffer::default();
    let names = from
        .look_up(&Question::default(), &mut buffer)?
        .feature_names;
    for batch in all.chunks(DOCUMENTS) {
        let numbers: Vec<u64> = batch.iter().map(|(number, _)| *number).collect();
        let bytes = records(from, &numbers)?;
        let read = |(bytes, number): (&Vec<u8>, &u64)| {
            let record = Record::decode(bytes);
            let name = || format!("the record of document {number}");
            record
                .map_err(|reason| damaged(from, name(), reason))
                .map(|_| ())
        };
        bytes.iter().zip(&numbers).try_for_each(read)?;
        let records: Vec<Record<'_>> = bytes
            .iter()
            .filter_map(|bytes| Record::decode(bytes).ok())
            .collect();
        let copies = copies(from, &numbers, &records, &names)?;
        let rows: Vec<(Copied, &Record<'_>, &str)> = copies
            .into_iter()
            .zip(&records)
            .zip(batch)
            .map(|((copied, record), (_, id))| (copied, record, id.as_str()))
            .collect();
        let changes: Vec<Change<'_>> = rows
            .iter()
            .map(|(copied, record, id)| {
                Change::Put(NewDocument {
                    id,
                    title: &copied.title,
                    text: &copied.text,
                    keep_text: copied.keep_text,
                    tokens: record.tokens() as u32,
                    cls: record.cls(),
                    footprints: record.footprints(),
                    mean: record.mean(),
                    share: record.share(),
                    lengths: record.lengths(),
                    features: &copied.features,
                })
            })
            .collect();
        index.apply(&changes)?;
        observer.advance(batch.len() as u64);
    }
    Ok(all.len() as u64)
}

/// The bytes of records; one that is missing is an error.
fn records(from: &impl StoreContents, numbers: &[u64]) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut records = Vec::with_capacity(numbers.len());
    let mut missing = None;
    from.fetch(numbers, &mut FetchBuffer::default(), &mut |first, found| {
        for (at, found) in found.iter().enumerate() {
            match found {
                Some(found) => records.push(found.bytes().to_vec()),
                None => {
                    missing = Some(numbers[first + at]);
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    match missing {
        None => Ok(records),
        Some(number) => {
            let what = format!("the record of document {number}");
            Err(damaged(from, what, "it is missing"))
        }
    }
}

fn copies(
    from: &impl StoreContents,
    numbers: &[u64],
    records: &[Record<'_>],
    names: &[String],
) -> Result<Vec<Copied>, StoreError> {
    let texts = from.texts(numbers)?;
    // Words give the same words again, where the text was not kept.
    let spelled = texts.iter().zip(records).filter(|(text, _)| text.is_none());
    let mut words: Vec<u32> = spelled
        .flat_map(|(_, record)| record.forward().numbers().collect::<Vec<_>>())
        .collect();
    words.sort_unstable();
    words.dedup();
    let spellings: HashMap<u32, String> = words
        .iter()
        .copied()
        .zip(from.spellings(&words)?)
        .filter_map(|(word, spelling)| Some((word, spelling?)))
        .collect();
    let join = |words: &[u32]| {
        let words: Option<Vec<&str>> = words
            .iter()
            .map(|word| spellings.get(word).map(String::as_str))
            .collect();
        words.map(|words| words.join(" "))
    };
    let mut copies = Vec::with_capacity(records.len());
    for ((text, record), number) in texts.into_iter().zip(records).zip(numbers) {
        let named = |(name, value): (u32, f32)| {
            (names.get(name as usize).cloned().unwrap_or_default(), value)
        };
        let features = record.features().map(named).collect();
        copies.push(match text {
            Some(text) => Copied {
                title: text.title,
                text: text.text,
                keep_text: true,
                features,
            },
            None => {
                let words = record.forward().words();
                let (Some(title), Some(text)) = (join(&words.title), join(&words.body)) else {
                    let what = format!("a word of document {number}");
                    return Err(damaged(from, what, "it is missing"));
                };
                Copied {
                    title,
                    text,
                    keep_text: false,
                    features,
                }
            }
        });
    }
    Ok(copies)
}

fn damaged(from: &impl StoreContents, what: String, reason: &str) -> StoreError {
    StoreError::Damaged {
        path: from.path().to_owned(),
        what,
        reason: reason.into(),
    }
}
