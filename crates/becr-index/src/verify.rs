//! Checking a whole index: its files against their checksums, the store against itself, the first stage against the store.

use crate::first_stage::FirstStage;
use crate::manifest::Manifest;
use crate::{IndexError, files, first_stage, head_of};
use becr_lmdb::{Snapshot, Store};
use becr_text::pieces::WordPieces;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;

/// How often is looked again, where a writer has put something else in the place of what was looked at.
const ATTEMPTS: usize = 10;

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Documents looked at.
    pub documents: u64,
    /// Token groups looked at.
    pub groups: u64,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
    /// Nothing but the first stage is damaged: compacting the index writes that anew from the documents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compacting_repairs: bool,
    /// What could not be checked, since an earlier version of the program wrote the index: a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
}

/// Reads everything in the index. Damage is in the verification; an error means that it could not be read on.
///
/// What is read first is what others rely on: the pages of the store before its tables, checksums of the first stage's
/// files before these are opened. So damage ends in a report, not in a panic or a signal.
pub fn verify(dir: &Path) -> Result<Verification, IndexError> {
    let mut attempt = 0;
    loop {
        let manifest = Manifest::read(dir)?;
        let found = check(dir, &manifest);
        attempt += 1;
        let is_sound = found.as_ref().is_ok_and(|found| found.problems.is_empty());
        // A compaction, or a new build, may have put other files in the place of those that were looked at.
        let is_same = || Manifest::read(dir).is_ok_and(|newest| newest == manifest);
        if is_sound || attempt == ATTEMPTS || is_same() {
            return found;
        }
    }
}

fn check(dir: &Path, manifest: &Manifest) -> Result<Verification, IndexError> {
    let mut found = Verification {
        problems: files::check(dir, manifest),
        ..Verification::default()
    };
    if manifest.files.is_empty() {
        found.unchecked.push(
            "the manifest and the files of model and token groups, which have no checksums in an index of an earlier \
             version; build the index again for that"
                .to_owned(),
        );
    }
    let folder = manifest.first_stage(dir);
    if !folder.is_dir() {
        return Err(IndexError::NotAnIndex {
            path: dir.to_owned(),
            reason: format!("no folder {}", folder.display()),
        });
    }
    // An index with a model has a store, or has lost it.
    if manifest.model.is_none() {
        found.problems.extend(first_stage::check(&folder, None)?);
        if found.problems.is_empty() {
            found.documents = FirstStage::open(dir)?.ids()?.len() as u64;
        }
        return Ok(found);
    }
    let store = Store::open_checked(&manifest.store(dir))?;
    let snapshot = store.snapshot()?;
    check_store(&snapshot, &mut found)?;
    check_model(dir, &mut found);
    let first_stage = check_first_stage(&folder, &store, snapshot)?;
    found.compacting_repairs = found.problems.is_empty() && !first_stage.is_empty();
    found.problems.extend(first_stage);
    Ok(found)
}

/// What is wrong with the first stage, a sentence each. It belongs to a commit of the store, and files of that go when a
/// writer publishes the next: then it is that one which is looked at.
fn check_first_stage(
    folder: &Path,
    store: &Store,
    mut snapshot: Snapshot,
) -> Result<Vec<String>, IndexError> {
    let mut attempt = 0;
    loop {
        let problems = first_stage_problems(folder, &snapshot)?;
        attempt += 1;
        let newest = store.snapshot()?;
        if problems.is_empty()
            || attempt == ATTEMPTS
            || newest.generation()? == snapshot.generation()?
        {
            return Ok(problems);
        }
        snapshot = newest;
    }
}

fn first_stage_problems(folder: &Path, snapshot: &Snapshot) -> Result<Vec<String>, IndexError> {
    let checked = first_stage::check(folder, snapshot.companion()?);
    let compared = checked.and_then(|damaged| match damaged.is_empty() {
        true => compare(folder, snapshot),
        false => Ok(damaged),
    });
    match compared {
        Err(error @ IndexError::FirstStageDamaged { .. }) => Ok(vec![error.to_string()]),
        result => result,
    }
}

fn check_store(snapshot: &Snapshot, found: &mut Verification) -> Result<(), IndexError> {
    let tables = snapshot.check_tables()?;
    found.problems.extend(tables.problems);
    if !tables.has_sums {
        found.unchecked.push(
            "whether all rows of the store are those that were written, which a store of an earlier version does not \
             tell; compacting the index adds that"
                .to_owned(),
        );
    }
    if !tables.has_column {
        found.unchecked.push(
            "the column of vectors, which an index of an earlier version does not have; compacting the index adds it, and \
             searches then find documents by meaning, too"
                .to_owned(),
        );
    }
    let findings = snapshot.verify()?;
    found.documents = findings.documents;
    found.groups = findings.groups;
    found.problems.extend(findings.problems);
    Ok(())
}

/// Every document is in the store and in the first stage.
fn compare(folder: &Path, snapshot: &Snapshot) -> Result<Vec<String>, IndexError> {
    let mut problems = Vec::new();
    let ids = FirstStage::of_snapshot(folder, snapshot)?.ids()?;
    // Changes that an earlier version of the program left to its next writer are no fault.
    let pending: HashSet<String> = snapshot.pending()?.into_iter().collect();
    for row in snapshot.documents()? {
        let (_, id) = row?;
        if !ids.contains(id) && !pending.contains(id) {
            problems.push(format!("document {id} is not in the first-stage index"));
        }
    }
    for id in &ids {
        if snapshot.number(id)?.is_none() && !pending.contains(id) {
            problems.push(format!("document {id} is in the first-stage index alone"));
        }
    }
    Ok(problems)
}

/// Tokenizer and head can be read, which ranking takes.
fn check_model(dir: &Path, found: &mut Verification) {
    if let Err(error) = head_of(dir) {
        found.problems.push(error.to_string());
    }
    if let Err(error) = WordPieces::from_dir(&dir.join(crate::full::MODEL)) {
        found.problems.push(error.to_string());
    }
}
