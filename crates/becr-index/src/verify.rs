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
pub struct Verification {
    /// Documents looked at.
    pub documents: u64,
    /// Token groups looked at.
    pub groups: u64,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
}

/// Reads everything in the index. Damage is in the verification; an error means that it could not be read on.
pub fn verify(dir: &Path) -> Result<Verification, IndexError> {
    let manifest = Manifest::read(dir)?;
    // An index with a model has a store, or has lost it.
    if manifest.model.is_none() {
        return Ok(Verification {
            documents: FirstStage::open(dir)?.ids()?.len() as u64,
            ..Verification::default()
        });
    }
    let store = Store::open(&manifest.store(dir))?;
    let snapshot = store.snapshot()?;
    let ids = FirstStage::of_snapshot(&manifest.first_stage(dir), &snapshot)?.ids()?;
    let findings = snapshot.verify()?;
    let mut found = Verification {
        documents: findings.documents,
        groups: findings.groups,
        problems: findings.problems,
    };
    // Changes that an earlier version of the program left to its next writer are no fault.
    let pending: HashSet<String> = snapshot.pending()?.into_iter().collect();
    for row in snapshot.documents()? {
        let (_, id) = row?;
        if !ids.contains(id) && !pending.contains(id) {
            found
                .problems
                .push(format!("document {id} is not in the first-stage index"));
        }
    }
    for id in &ids {
        if snapshot.number(id)?.is_none() && !pending.contains(id) {
            found
                .problems
                .push(format!("document {id} is in the first-stage index alone"));
        }
    }
    Ok(found)
}
