//! Where the bytes are.

use crate::Snapshot;
use crate::engine::engine;
use crate::transaction::Transaction;
use becr_store::StoreError;
use heed::DatabaseStat;

/// Size of one table.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TableSize {
    /// What the table holds.
    pub name: &'static str,
    /// Rows.
    pub rows: u64,
    /// Bytes of its pages.
    pub bytes: u64,
}

impl<T: Transaction> Snapshot<T> {
    /// Rows and bytes of every table.
    pub fn sizes(&self) -> Result<Vec<TableSize>, StoreError> {
        let tables = self.store.tables();
        // Several records are in one row.
        let records = self.sums()?.map(|sums| sums.records());
        let size = |name, stat: heed::Result<DatabaseStat>| {
            let stat = stat.map_err(engine(self.store.path()))?;
            let pages = stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
            let bytes = pages as u64 * u64::from(stat.page_size);
            Ok(TableSize {
                name,
                rows: stat.entries as u64,
                bytes,
            })
        };
        let signs = tables
            .signs
            .map(|signs| ("vectors' signs", signs.stat(self.txn())));
        [
            ("records", tables.records.stat(self.txn())),
            ("texts", tables.texts.stat(self.txn())),
            ("document ids", tables.ids.stat(self.txn())),
            ("document numbers", tables.numbers.stat(self.txn())),
            ("token groups", tables.groups.stat(self.txn())),
            ("pair frequencies", tables.pairs.stat(self.txn())),
            ("words", tables.words.stat(self.txn())),
            ("spellings", tables.spellings.stat(self.txn())),
            ("stems", tables.stems.stat(self.txn())),
            ("pending", tables.pending.stat(self.txn())),
        ]
        .into_iter()
        .chain(signs)
        .map(|(name, stat)| size(name, stat))
        .map(|table: Result<TableSize, StoreError>| {
            let table = table?;
            let rows = records.filter(|_| table.name == "records");
            Ok(TableSize {
                rows: rows.unwrap_or(table.rows),
                ..table
            })
        })
        .collect()
    }
}
