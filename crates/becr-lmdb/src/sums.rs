//! Sums over the rows of every table, kept up with each commit: what a check compares the tables with.
//!
//! A row is a hash over table, key and value; the rows of a table are added up, so that a change takes the old row off
//! and adds the new one, whatever their order. Damage that turns a table into another sound-looking one (a page
//! overwritten by its neighbour, a flipped bit of a key or of a text) shows in the sum.

use crate::engine::engine;
use crate::store::{SIGNS, Tables};
use crate::transaction::{Transaction, sealed::Readable};
use crate::{Snapshot, Store, blocks};
use becr_store::{StoreError, Table};
use heed::types::Bytes;
use heed::{Database, RoTxn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use twox_hash::XxHash3_64;

/// Where the sums are kept in the table `meta`.
pub(crate) const SUMS: &str = "sums";

/// The tables that are summed up, by the names that the sums are kept under.
const TABLES: [(&str, Table); 9] = [
    (RECORDS, Table::Records),
    ("numbers", Table::Numbers),
    ("ids", Table::Ids),
    ("texts", Table::Texts),
    ("words", Table::Words),
    ("spellings", Table::Spellings),
    ("stems", Table::Stems),
    ("pairs", Table::Pairs),
    ("groups", Table::Groups),
];
const META: &str = "meta";
/// The name of the table of records.
pub(crate) const RECORDS: &str = "records";

/// The rows of one table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RowSum {
    rows: u64,
    sum: u64,
}

impl RowSum {
    fn add(&mut self, name: &str, key: &[u8], value: &[u8]) {
        self.rows = self.rows.wrapping_add(1);
        self.sum = self.sum.wrapping_add(hash(name, key, value));
    }

    fn remove(&mut self, name: &str, key: &[u8], value: &[u8]) {
        self.rows = self.rows.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(hash(name, key, value));
    }
}

fn hash(name: &str, key: &[u8], value: &[u8]) -> u64 {
    let table = XxHash3_64::oneshot(name.as_bytes());
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot_with_seed(table, key), value)
}

pub(crate) fn name(table: Table) -> &'static str {
    let found = TABLES.iter().find(|(_, other)| *other == table);
    found.map_or("", |(name, _)| name)
}

/// The sums of all tables, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sums(BTreeMap<String, RowSum>);

impl Sums {
    pub(crate) fn add(&mut self, name: &str, key: &[u8], value: &[u8]) {
        self.entry(name).add(name, key, value);
    }

    pub(crate) fn remove(&mut self, name: &str, key: &[u8], value: &[u8]) {
        self.entry(name).remove(name, key, value);
    }

    fn entry(&mut self, name: &str) -> &mut RowSum {
        self.0.entry(name.to_owned()).or_default()
    }

    fn get(&self, name: &str) -> RowSum {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// How many records there are.
    pub(crate) fn records(&self) -> u64 {
        self.get(RECORDS).rows
    }

    /// Sums the few rows of `meta` up anew, but for the one that the sums are kept in.
    pub(crate) fn set_meta(&mut self, tables: &Tables, txn: &RoTxn<'_>) -> heed::Result<()> {
        let sum = sum_of_meta(tables, txn)?;
        *self.entry(META) = sum;
        Ok(())
    }

    pub(crate) fn bytes(&self) -> heed::Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| heed::Error::Encoding(e.into()))
    }
}

fn sum_of_meta(tables: &Tables, txn: &RoTxn<'_>) -> heed::Result<RowSum> {
    let mut sum = RowSum::default();
    for row in tables.meta.iter(txn)? {
        let (key, value) = row?;
        if key != SUMS {
            sum.add(META, key.as_bytes(), value);
        }
    }
    Ok(sum)
}

/// What walking all tables found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableFindings {
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
    /// Whether there were sums to compare with: stores of earlier versions have none until they are compacted.
    pub has_sums: bool,
    /// Whether documents' vectors are in a column, if there are any: stores of earlier versions have none until they are
    /// compacted.
    pub has_column: bool,
}

impl<T: Transaction> Snapshot<T> {
    pub(crate) fn sums(&self) -> Result<Option<Sums>, StoreError> {
        self.meta(SUMS)
    }

    /// Walks every table: keys in order, every row found by its key, and all rows those that were written.
    pub fn check_tables(&self) -> Result<TableFindings, StoreError> {
        let sums = self.sums()?;
        let mut problems = Vec::new();
        for (name, table) in TABLES {
            let rows = self.store.tables().rows(table);
            let sum = self.walk(name, rows, &mut problems)?;
            if let Some(sums) = &sums {
                compare(name, sum, sums.get(name), &mut problems);
            }
        }
        if let Some(rows) = self.store.tables().signs {
            let sum = self.walk(SIGNS, rows, &mut problems)?;
            if let Some(sums) = &sums {
                compare(SIGNS, sum, sums.get(SIGNS), &mut problems);
            }
            problems.extend(self.check_column()?);
        }
        if let Some(sums) = &sums {
            let sum = sum_of_meta(self.store.tables(), self.txn());
            let sum = sum.map_err(engine(self.store.path()))?;
            compare(META, sum, sums.get(META), &mut problems);
        }
        Ok(TableFindings {
            problems,
            has_sums: sums.is_some(),
            has_column: self.has_column() || !self.store.header().shape.is_relative(),
        })
    }

    fn walk(
        &self,
        name: &str,
        rows: Database<Bytes, Bytes>,
        problems: &mut Vec<String>,
    ) -> Result<RowSum, StoreError> {
        let engine = engine(self.store.path());
        let mut sum = RowSum::default();
        let mut before: Option<Vec<u8>> = None;
        let (mut unordered, mut lost, mut unreadable) = (0u64, 0u64, 0u64);
        for row in rows.iter(self.txn()).map_err(&engine)? {
            let (key, value) = row.map_err(&engine)?;
            match (name, key.first_chunk().map(|key| u64::from_be_bytes(*key))) {
                // A record counts by itself, wherever it is kept.
                (RECORDS, Some(key)) if key & blocks::BLOCK > 0 => match blocks::records(value) {
                    Ok(records) => {
                        for (number, record) in blocks::numbers(key).zip(records) {
                            if let Some(record) = record {
                                sum.add(name, &number.to_be_bytes(), record);
                            }
                        }
                    }
                    Err(_) => unreadable += 1,
                },
                _ => sum.add(name, key, value),
            }
            unordered += u64::from(before.as_deref().is_some_and(|before| before >= key));
            let found = rows.get(self.txn(), key).map_err(&engine)?;
            lost += u64::from(found.is_none_or(|found| found.as_ptr() != value.as_ptr()));
            before = Some(key.to_vec());
        }
        if unordered > 0 {
            problems.push(format!("the table {name}: {unordered} keys out of order"));
        }
        if unreadable > 0 {
            problems.push(format!(
                "the table {name}: {unreadable} blocks cannot be read"
            ));
        }
        if lost > 0 {
            let problem = format!("the table {name}: {lost} rows are not found by their keys");
            problems.push(problem);
        }
        Ok(sum)
    }
}

fn compare(name: &str, found: RowSum, written: RowSum, problems: &mut Vec<String>) {
    if found.rows != written.rows {
        problems.push(format!(
            "the table {name} has {} rows, {} were written",
            found.rows, written.rows
        ));
    } else if found.sum != written.sum {
        problems.push(format!(
            "the table {name}: its {} rows are not those that were written",
            found.rows
        ));
    }
}

impl Store {
    /// Gives a store of an earlier version the sums that [`Snapshot::check_tables`] compares with, as its rows are now.
    pub fn add_sums(&self) -> Result<(), StoreError> {
        let engine = engine(self.path());
        let snapshot = Snapshot::new(self, self.write_transaction()?);
        if snapshot.sums()?.is_some() {
            return Ok(());
        }
        let mut sums = Sums::default();
        for (name, table) in TABLES {
            *sums.entry(name) = snapshot.walk(name, self.tables().rows(table), &mut Vec::new())?;
        }
        let mut txn = snapshot.into_transaction();
        sums.set_meta(self.tables(), txn.txn()).map_err(&engine)?;
        let bytes = sums.bytes().map_err(&engine)?;
        let put = self.tables().meta.put(&mut txn.txn, SUMS, &bytes);
        put.and_then(|()| txn.txn.commit()).map_err(&engine)
    }
}
