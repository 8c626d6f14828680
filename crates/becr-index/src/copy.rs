//! Documents and token groups from any store into an index that is being built.

use crate::live::{Change, LiveIndex};
use crate::observer::check_stop;
use crate::{IndexError, Observer};
use becr_groups::GroupList;
use becr_store::{
    DocumentStore, FetchBuffer, NewDocument, Question, Record, StoreContents, StoreError, Table,
};
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::Path;

/// Groups committed together.
const GROUPS: usize = 10_000;
/// Documents committed together.
const DOCUMENTS: usize = 1024;

/// Copies the token groups of a list, as far as the store has them.
pub(crate) fn copy_groups(
    from: &impl DocumentStore,
    list: &GroupList,
    index: &LiveIndex,
) -> Result<(), IndexError> {
    let mut buffer = FetchBuffer::default();
    let mut groups = list.iter()?.peekable();
    while groups.peek().is_some() {
        let batch = groups.by_ref().take(GROUPS).map(|entry| Ok(entry?.group));
        let batch: Vec<_> = batch.collect::<Result<_, IndexError>>()?;
        let question = Question {
            groups: &batch,
            ..Question::default()
        };
        let answer = from.look_up(&question, &mut buffer)?;
        index.update_store(|update| {
            for (group, record) in batch.iter().zip(&answer.groups) {
                if let Some(record) = record {
                    update.put_group(group, record.footprints())?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Copies all documents. `part` is what errors call the store; an id that the index has already is one.
pub(crate) fn copy_documents(
    part: &Path,
    from: &impl StoreContents,
    index: &mut LiveIndex,
    observer: &dyn Observer,
) -> Result<(), IndexError> {
    let mut buffer = FetchBuffer::default();
    let names = (from.look_up(&Question::default(), &mut buffer)?).feature_names;
    for batch in all_ids(from)?.chunks(DOCUMENTS) {
        let known = index.store().snapshot()?;
        for (_, id) in batch {
            if known.number(id)?.is_some() {
                let (id, part) = (id.clone(), part.to_owned());
                return Err(IndexError::Overlap { id, part });
            }
        }
        drop(known);
        let copies = copies(from, batch, &names)?;
        let changes: Vec<Change<'_>> = copies.iter().map(Copied::change).collect();
        index.apply(&changes)?;
        observer.advance(batch.len() as u64);
        check_stop(observer)?;
    }
    Ok(())
}

/// A document on its way, as the store had it.
struct Copied<'a> {
    id: &'a str,
    title: String,
    text: String,
    keep_text: bool,
    features: Vec<(String, f32)>,
    tokens: u32,
    cls: f32,
    footprints: Vec<u8>,
    mean: Vec<u8>,
    share: f32,
    lengths: Vec<u8>,
}

impl Copied<'_> {
    fn change(&self) -> Change<'_> {
        Change::Put(NewDocument {
            id: self.id,
            title: &self.title,
            text: &self.text,
            keep_text: self.keep_text,
            tokens: self.tokens,
            cls: self.cls,
            footprints: &self.footprints,
            mean: &self.mean,
            share: self.share,
            lengths: &self.lengths,
            features: &self.features,
        })
    }
}

/// Numbers and ids of all documents, by number.
fn all_ids(from: &impl StoreContents) -> Result<Vec<(u64, String)>, IndexError> {
    let (mut ids, mut is_sound) = (Vec::new(), true);
    from.scan(Table::Ids, &mut |key, id| {
        let number = key.try_into().map(u64::from_be_bytes).ok();
        let id = std::str::from_utf8(id).ok();
        match number.zip(id) {
            Some((number, id)) => {
                ids.push((number, id.to_owned()));
                ControlFlow::Continue(())
            }
            None => {
                is_sound = false;
                ControlFlow::Break(())
            }
        }
    })?;
    match is_sound {
        true => Ok(ids),
        false => Err(damaged(from, "the ids of documents").into()),
    }
}

/// Reads some documents: three questions to the store, however many they are.
fn copies<'a>(
    from: &impl StoreContents,
    batch: &'a [(u64, String)],
    names: &[String],
) -> Result<Vec<Copied<'a>>, IndexError> {
    let numbers: Vec<u64> = batch.iter().map(|(number, _)| *number).collect();
    let texts = from.texts(&numbers)?;
    let mut copies = Vec::with_capacity(batch.len());
    // Words of documents whose texts were not kept, by place among the copies.
    let mut unwritten = Vec::new();
    let mut fault = None;
    from.fetch(
        &numbers,
        &mut FetchBuffer::default(),
        &mut |first, found| {
            for (place, found) in (first..).zip(found) {
                let Some(found) = found else { continue };
                let record = match found.check() {
                    Ok(record) => record,
                    Err(error) => {
                        fault = Some(error);
                        return ControlFlow::Break(());
                    }
                };
                let mut copy = copied(&batch[place].1, &record, names);
                match &texts[place] {
                    Some(text) => {
                        copy.keep_text = true;
                        copy.title.clone_from(&text.title);
                        copy.text.clone_from(&text.text);
                    }
                    None => unwritten.push((copies.len(), record.forward().words())),
                }
                copies.push(copy);
            }
            ControlFlow::Continue(())
        },
    )?;
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    let all = unwritten.iter().flat_map(|(_, words)| {
        let title = words.title.iter();
        title.chain(&words.body).copied()
    });
    let spelled = spellings(from, &all.collect())?;
    let joined = |numbers: &[u32]| {
        let words = numbers.iter().map(|number| spelled[number].as_str());
        words.collect::<Vec<_>>().join(" ")
    };
    for (place, words) in &unwritten {
        let copy: &mut Copied<'_> = &mut copies[*place];
        copy.title = joined(&words.title);
        copy.text = joined(&words.body);
    }
    Ok(copies)
}

/// What a record alone tells.
fn copied<'a>(id: &'a str, record: &Record<'_>, names: &[String]) -> Copied<'a> {
    let named =
        |(name, value): (u32, f32)| (names.get(name as usize).cloned().unwrap_or_default(), value);
    Copied {
        id,
        title: String::new(),
        text: String::new(),
        keep_text: false,
        features: record.features().map(named).collect(),
        tokens: record.tokens() as u32,
        cls: record.cls(),
        footprints: record.footprints().to_vec(),
        mean: record.mean().to_vec(),
        share: record.share(),
        lengths: record.lengths().to_vec(),
    }
}

/// The spellings of words, each asked for once.
fn spellings(
    from: &impl StoreContents,
    words: &BTreeSet<u32>,
) -> Result<HashMap<u32, String>, IndexError> {
    let words: Vec<u32> = words.iter().copied().collect();
    let spellings = from.spellings(&words)?;
    let spelled = words.iter().zip(spellings).map(|(&word, spelling)| {
        let missing = || damaged(from, &format!("the spelling of word {word}"));
        Ok((word, spelling.ok_or_else(missing)?))
    });
    spelled.collect()
}

fn damaged(from: &impl DocumentStore, what: &str) -> StoreError {
    StoreError::Damaged {
        path: from.path().to_owned(),
        what: what.to_owned(),
        reason: "it cannot be read".into(),
    }
}
