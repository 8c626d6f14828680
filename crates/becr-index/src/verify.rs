//! Checking a whole index: the store against itself, the first stage against the store.

use crate::IndexError;
use crate::first_stage::FirstStage;
use crate::manifest::Manifest;
use becr_lmdb::Store;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Documents looked at.
    pub documents: u64,
    /// Token groups looked at.
    pub groups: u64,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
}

/// Reads everything in the index. Damage is in the report; an error means that it could not be read on.
pub fn verify(dir: &Path) -> Result<Report, IndexError> {
    let manifest = Manifest::read(dir)?;
    let first_stage = FirstStage::open(dir)?;
    let ids = first_stage.ids()?;
    // An index with a model has a store, or has lost it.
    if manifest.model.is_none() {
        return Ok(Report {
            documents: ids.len() as u64,
            ..Report::default()
        });
    }
    let store = Store::open(&crate::live::store_folder(dir))?;
    let snapshot = store.snapshot()?;
    let findings = snapshot.verify()?;
    let mut report = Report {
        documents: findings.documents,
        groups: findings.groups,
        problems: findings.problems,
    };
    // Changes that the first stage has yet to commit are no fault: the next writer makes up for them.
    let pending: HashSet<String> = snapshot.pending()?.into_iter().collect();
    for row in snapshot.documents()? {
        let (_, id) = row?;
        if !ids.contains(id) && !pending.contains(id) {
            report
                .problems
                .push(format!("document {id} is not in the first-stage index"));
        }
    }
    for id in &ids {
        if snapshot.number(id)?.is_none() && !pending.contains(id) {
            report
                .problems
                .push(format!("document {id} is in the first-stage index alone"));
        }
    }
    Ok(report)
}
