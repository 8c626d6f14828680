//! What was used, what was not, and why.

use super::DataError;
use becr_eval::Table;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The data of a training.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DataReport {
    /// What each set brought.
    pub sets: Vec<SetReport>,
    /// Documents in the index.
    pub documents: u64,
    /// What each training (each fold) uses; set by set, as in `sets`.
    pub trainings: Vec<Vec<UseReport>>,
    /// What of a folds file does not go with the queries; `None` if all of it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<FoldsReport>,
    /// The first few things that were wrong, word for word.
    pub examples: Vec<String>,
}

/// What of a folds file does not go with the queries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FoldsReport {
    /// The file.
    pub file: PathBuf,
    /// Ids that no query has.
    pub unknown: Vec<String>,
    /// Queries that are in no fold, and not used.
    pub missing: Vec<String>,
}

/// What a set brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SetReport {
    /// The set.
    pub name: String,
    /// Pairs or queries read.
    pub read: u64,
    /// Queries with relevant documents that came of them.
    pub queries: u64,
    /// Documents that were new to the pool.
    pub documents: u64,
    /// Why others were left out.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Queries that lost words by chance.
    pub shortened: u64,
    /// Queries that lost words because they had too many.
    pub too_long: u64,
}

/// What of a set one training uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UseReport {
    /// Queries it learns from.
    pub train: u64,
    /// Queries it validates with.
    pub validation: u64,
    /// Queries it is tested with.
    pub test: u64,
    /// Relevant documents of the queries it learns from.
    pub positives: u64,
    /// Irrelevant documents by kind.
    pub negatives: BTreeMap<NegativeKind, u64>,
    /// Documents that were too much like a relevant one to be negatives.
    pub near_duplicates: u64,
    /// Judged or retrieved documents that the index does not have.
    pub unknown_documents: u64,
    /// Why queries were left out.
    pub dropped: BTreeMap<&'static str, u64>,
}

/// Where an irrelevant document comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NegativeKind {
    /// The first stage found it.
    Bm25,
    /// It was judged.
    Judged,
    /// It has the same part before `#` in its id.
    Siblings,
    /// Any document.
    Random,
    /// It is relevant for another query.
    InBatch,
}

impl NegativeKind {
    /// Its name, as in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25",
            Self::Judged => "judged",
            Self::Siblings => "siblings",
            Self::Random => "random",
            Self::InBatch => "in_batch",
        }
    }
}

/// How many faults are told word for word.
const EXAMPLES: usize = 10;

impl DataReport {
    /// Writes the report into a work directory, for programs.
    pub(crate) fn write(&self, work: &Path) -> Result<(), DataError> {
        let path = work.join("data.json");
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from);
        let written = text.and_then(|text| std::fs::write(&path, text + "\n"));
        written.map_err(DataError::io(&path, "cannot write"))
    }

    /// Remembers one of the first faults.
    pub(crate) fn example(&mut self, text: impl FnOnce() -> String) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(text());
        }
    }
}

impl UseReport {
    pub(crate) fn drop(&mut self, reason: &'static str) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.positives += other.positives;
        self.near_duplicates += other.near_duplicates;
        self.unknown_documents += other.unknown_documents;
        for (kind, count) in &other.negatives {
            *self.negatives.entry(*kind).or_default() += count;
        }
        for (reason, count) in &other.dropped {
            *self.dropped.entry(reason).or_default() += count;
        }
    }
}

/// A table of the sets, a table for each training, and what was wrong.
impl fmt::Display for DataReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = [
            "set",
            "read",
            "queries",
            "documents",
            "shortened",
            "too long",
            "left out",
        ];
        let mut table = table(&header, 5);
        for set in &self.sets {
            let numbers = [
                set.read,
                set.queries,
                set.documents,
                set.shortened,
                set.too_long,
            ];
            table.row(row(&set.name, &numbers, vec![listed(&set.dropped)]));
        }
        write!(f, "{table}")?;
        for (number, training) in (1..).zip(&self.trainings) {
            let first = match self.trainings.len() {
                1 => "uses".to_owned(),
                _ => format!("fold {number}"),
            };
            write!(f, "\n{}", self.uses(&first, training))?;
        }
        if let Some(folds) = &self.folds {
            write!(f, "\n{folds}")?;
        }
        for example in &self.examples {
            writeln!(f, "  {example}")?;
        }
        Ok(())
    }
}

/// How many ids are named; the others are counted.
const NAMED: usize = 5;

impl fmt::Display for FoldsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (ids, what) in [
            (&self.unknown, "ids are of no query that can be used"),
            (&self.missing, "queries are in no fold and are not used"),
        ] {
            if !ids.is_empty() {
                let named = ids[..ids.len().min(NAMED)].join(", ");
                let more = if ids.len() > NAMED { ", …" } else { "" };
                let file = self.file.display();
                writeln!(f, "{file}: {} {what}: {named}{more}", ids.len())?;
            }
        }
        Ok(())
    }
}

impl DataReport {
    fn uses(&self, title: &str, training: &[UseReport]) -> Table {
        let header = [
            title,
            "train",
            "validation",
            "test",
            "positives",
            "near-duplicates",
            "unknown documents",
            "negatives",
            "left out",
        ];
        let mut table = table(&header, 6);
        for (set, used) in self.sets.iter().zip(training) {
            let numbers = [
                used.train,
                used.validation,
                used.test,
                used.positives,
                used.near_duplicates,
                used.unknown_documents,
            ];
            let kinds = used
                .negatives
                .iter()
                .map(|(kind, count)| (kind.name(), *count));
            let texts = vec![listed(&kinds.collect()), listed(&used.dropped)];
            table.row(row(&set.name, &numbers, texts));
        }
        table
    }
}

/// A table whose second to `numbers + 1`st columns are numbers.
fn table(header: &[&str], numbers: usize) -> Table {
    let header = header.iter().map(ToString::to_string).collect();
    Table::new(header, (1..=numbers).collect())
}

fn row(name: &str, numbers: &[u64], texts: Vec<String>) -> Vec<String> {
    let name = std::iter::once(name.to_owned());
    let numbers = numbers.iter().map(u64::to_string);
    name.chain(numbers).chain(texts).collect()
}

/// `3 empty, 2 no query`, or a dash.
fn listed(counts: &BTreeMap<&'static str, u64>) -> String {
    let counts = counts.iter().filter(|(_, count)| **count > 0);
    let parts: Vec<String> = counts
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    match parts.is_empty() {
        true => "–".into(),
        false => parts.join(", "),
    }
}
