//! The column of vectors: a row for each block of [`becr_store::column`], changed with the records and found by LMDB's map.

use crate::apply::Writing;
use crate::engine::engine;
use crate::store::SIGNS;
use crate::transaction::Transaction;
use crate::{Snapshot, Store, env};
use becr_store::column::{self, Near, SignBlock, SignScan};
use becr_store::{Batch, Shape, StoreError};
use heed::Database;
use heed::types::Bytes;
use std::collections::BTreeMap;
use std::iter::from_fn;
use std::ops::Bound;
use std::time::{Duration, Instant};

/// A block in memory is scanned in a tenth of this: longer means waiting for the disk.
const PATIENCE: Duration = Duration::from_micros(50);
/// Blocks that are asked for together then: the system reads them in one go.
const AHEAD: usize = 128;

/// Words of the signs of a store's vectors.
pub(crate) fn words(shape: Shape) -> usize {
    usize::from(shape.vector.saturating_sub(1)).div_ceil(4)
}

impl Writing<'_> {
    /// Signs of what a batch puts, and none of what it deletes.
    pub(crate) fn column(&mut self, batch: &Batch, shape: Shape) -> heed::Result<()> {
        let Some(rows) = self.tables.signs.filter(|_| shape.is_relative()) else {
            return Ok(());
        };
        let mut changes: BTreeMap<u64, Option<Vec<u32>>> = BTreeMap::new();
        changes.extend(batch.deleted.iter().map(|gone| (gone.number, None)));
        let new = batch.documents.iter();
        changes.extend(new.map(|new| (new.number, column::record_signs(&new.record))));
        self.change_column(rows, changes, shape)
    }

    fn change_column(
        &mut self,
        rows: Database<Bytes, Bytes>,
        changes: BTreeMap<u64, Option<Vec<u32>>>,
        shape: Shape,
    ) -> heed::Result<()> {
        let mut changes = changes.into_iter().peekable();
        while let Some(&(number, _)) = changes.peek() {
            let key = column::key(number);
            let of_block = from_fn(|| changes.next_if(|(number, _)| column::key(*number) == key));
            let of_block: Vec<_> = of_block.collect();
            let key = key.to_be_bytes();
            let old = rows.get(&self.txn, &key)?;
            let had = old.is_some();
            let block = column::changed(old, words(shape), &of_block).map_err(|_| {
                heed::Error::Decoding("a block of vectors' signs is damaged".into())
            })?;
            match block {
                Some(block) => self.put_row(SIGNS, rows, &key, &block)?,
                None if had => self.delete_row(SIGNS, rows, &key)?,
                None => {}
            }
        }
        Ok(())
    }
}

impl Store {
    /// Gives a store of an earlier version the column of its documents' vectors. Whoever has the store open sees it after
    /// opening it again.
    pub fn add_column(&self) -> Result<(), StoreError> {
        let (engine, shape) = (engine(self.path()), self.header().shape);
        let snapshot = Snapshot::new(self, self.write_transaction()?);
        if self.tables().signs.is_some() {
            return Ok(());
        }
        let signs = snapshot.signs_of_records()?;
        let sums = snapshot.sums()?;
        let mut txn = snapshot.into_transaction().txn;
        let rows = self.create_signs(&mut txn).map_err(&engine)?;
        let mut writing = Writing {
            tables: self.tables(),
            path: self.path(),
            sums,
            txn,
        };
        let signs = signs
            .into_iter()
            .map(|(number, signs)| (number, Some(signs)));
        let changed = writing.change_column(rows, signs.collect(), shape);
        changed.and_then(|()| writing.finish()).map_err(&engine)
    }
}

impl<T: Transaction> Snapshot<T> {
    /// Whether there is a column of vectors.
    pub fn has_column(&self) -> bool {
        self.store.header().shape.is_relative() && self.store.tables().signs.is_some()
    }

    /// Bytes that a search of the column reads first, and the blocks that have them.
    pub fn column_bytes(&self) -> Result<(u64, u64), StoreError> {
        let (mut bytes, mut blocks) = (0, 0);
        self.each_block(|_, block| {
            bytes += block.len() as u64;
            blocks += 1;
            Ok(())
        })?;
        Ok((bytes, blocks))
    }

    /// Hands out the blocks of the column in order.
    pub fn each_block(
        &self,
        mut visit: impl FnMut(u64, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let Some(rows) = self.store.tables().signs else {
            return Ok(());
        };
        let engine = engine(self.store.path());
        for row in rows.iter(self.txn()).map_err(&engine)? {
            let (key, block) = row.map_err(&engine)?;
            let key = key.try_into().map(u64::from_be_bytes);
            visit(key.map_err(|_| self.damaged_column())?, block)?;
        }
        Ok(())
    }

    /// See [`becr_store::DocumentStore::nearest`].
    pub(crate) fn search_column(
        &self,
        vector: &[f32],
        wanted: usize,
    ) -> Result<Vec<Near>, StoreError> {
        let mut scan = SignScan::new(vector, wanted);
        let dim = 8 * usize::from(self.store.header().shape.vector.saturating_sub(1));
        if scan.is_empty() || vector.len() != dim {
            return Ok(Vec::new());
        }
        let (mut place, mut asked) = (0, 0);
        self.each_block(|key, block| {
            let begun = Instant::now();
            scan.block(key, block).map_err(|_| self.damaged_column())?;
            place += 1;
            if place > asked && begun.elapsed() > PATIENCE {
                asked = place + AHEAD;
                self.ask_for_blocks(key + 1);
            }
            Ok(())
        })?;
        let numbers = scan.candidates();
        self.prefetch(&numbers);
        let found = numbers
            .iter()
            .map(|&number| Ok((number, self.record_bytes(number)?)));
        let found: Vec<(u64, Option<&[u8]>)> = found.collect::<Result<_, StoreError>>()?;
        Ok(scan.nearest(
            found
                .into_iter()
                .filter_map(|(number, bytes)| Some((number, bytes?))),
        ))
    }

    /// Has the system read the next blocks without waiting for each. What goes wrong costs time alone.
    fn ask_for_blocks(&self, first: u64) {
        let Some(rows) = self.store.tables().signs else {
            return;
        };
        let first = first.to_be_bytes();
        let next = (Bound::Included(&first[..]), Bound::Unbounded);
        if let Ok(rows) = rows.range(self.txn(), &next) {
            rows.take(AHEAD)
                .flatten()
                .for_each(|(_, block)| env::will_need(block));
        }
    }

    /// What the column should be, by the records.
    fn signs_of_records(&self) -> Result<BTreeMap<u64, Vec<u32>>, StoreError> {
        let mut signs = BTreeMap::new();
        if self.store.header().shape.is_relative() {
            for row in self.records()? {
                let (number, record) = row?;
                signs.extend(column::record_signs(record).map(|signs| (number, signs)));
            }
        }
        Ok(signs)
    }

    /// Compares the column with the records: what is wrong, a sentence each.
    pub(crate) fn check_column(&self) -> Result<Vec<String>, StoreError> {
        let mut problems = Vec::new();
        if !self.has_column() {
            return Ok(problems);
        }
        let mut expected = self.signs_of_records()?;
        let (mut other, mut unreadable) = (0u64, 0u64);
        self.each_block(|key, bytes| {
            let Ok(block) = SignBlock::read(bytes) else {
                unreadable += 1;
                return Ok(());
            };
            for place in 0..column::BLOCK_DOCUMENTS {
                let number = key * column::BLOCK_DOCUMENTS as u64 + place as u64;
                other += u64::from(block.signs(place) != expected.remove(&number));
            }
            Ok(())
        })?;
        if unreadable > 0 {
            problems.push(format!(
                "the column of vectors: {unreadable} blocks cannot be read"
            ));
        }
        let other = other + expected.len() as u64;
        if other > 0 && unreadable == 0 {
            problems.push(format!(
                "the column of vectors: {other} documents have other signs than their records"
            ));
        }
        Ok(problems)
    }

    fn damaged_column(&self) -> StoreError {
        self.damaged("a block of the column of vectors".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_footprint::pack;
    use becr_store::{DocumentStore, Header, NewDocument};
    use std::path::Path;
    use twox_hash::XxHash3_64;

    const DIM: usize = 64;

    fn header() -> Header {
        let shape = Shape {
            vector: 1 + DIM as u16 / 8,
            ..Shape::new(1, 32)
        };
        Header::new("encoder-1", shape, 3)
    }

    fn vector(n: u64) -> Vec<f32> {
        let number = |i: u64| XxHash3_64::oneshot_with_seed(n, &i.to_le_bytes()) as i64 as f32;
        (0..DIM as u64).map(number).collect()
    }

    fn mean(n: u64) -> Vec<u8> {
        let packed = pack(&vector(n));
        packed.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn put(store: &Store, numbers: std::ops::Range<u64>) {
        let mut update = store.update().unwrap();
        for n in numbers {
            let (id, mean) = (format!("d{n}"), mean(n));
            let document = NewDocument {
                id: &id,
                mean: &mean,
                ..Default::default()
            };
            update.put(&document).unwrap();
        }
        update.commit().unwrap();
    }

    fn store(folder: &Path, has_column: bool) -> Store {
        Store::create_with(folder, &header(), has_column).unwrap()
    }

    fn nearest(store: &Store, n: u64) -> Option<u64> {
        let found = store.snapshot().unwrap().nearest(&vector(n), 1).unwrap();
        found.map(|found| found[0].number)
    }

    /// Blocks fill, change and empty; the check agrees, and a byte of a block is missed by none.
    #[test]
    fn the_column_follows_the_documents() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), true);
        put(&store, 0..1100);
        assert_eq!(store.snapshot().unwrap().column_bytes().unwrap().1, 3);
        assert_eq!(nearest(&store, 700), Some(700));
        let mut update = store.update().unwrap();
        let ids: Vec<String> = (0..512).map(|n| format!("d{n}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        update.delete_all(&ids).unwrap();
        update.commit().unwrap();
        put(&store, 700..701);
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.column_bytes().unwrap().1, 2);
        assert_eq!(nearest(&store, 700), Some(1100));
        let findings = snapshot.check_tables().unwrap();
        assert!(
            findings.problems.is_empty() && findings.has_column,
            "{findings:?}"
        );
    }

    #[test]
    fn damage_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), true);
        put(&store, 0..20);
        let rows = store.tables().signs.unwrap();
        let change = |at: usize| {
            let mut txn = store.env().write_txn().unwrap();
            let key = 0u64.to_be_bytes();
            let mut block = rows.get(&txn, &key).unwrap().unwrap().to_vec();
            block[at] ^= 1;
            rows.put(&mut txn, &key, &block).unwrap();
            txn.commit().unwrap();
            store.snapshot().unwrap().check_tables().unwrap().problems
        };
        let problems = change(112);
        assert!(
            problems.iter().any(|p| p.contains("table signs")),
            "{problems:?}"
        );
        assert!(
            problems
                .iter()
                .any(|p| p.contains("1 documents have other signs")),
            "{problems:?}"
        );
        let problems = change(0);
        assert!(
            problems
                .iter()
                .any(|p| p.contains("1 blocks cannot be read")),
            "{problems:?}"
        );
        assert!(store.snapshot().unwrap().nearest(&vector(1), 3).is_err());
    }

    #[test]
    fn a_store_of_an_earlier_version_gets_the_column() {
        let folder = tempfile::tempdir().unwrap();
        let old = store(folder.path(), false);
        put(&old, 0..600);
        let snapshot = old.snapshot().unwrap();
        assert!(!snapshot.can_search() && snapshot.nearest(&vector(3), 1).unwrap().is_none());
        assert!(!snapshot.check_tables().unwrap().has_column);
        drop(snapshot);
        old.add_column().unwrap();
        drop(old);
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(nearest(&store, 555), Some(555));
        put(&store, 600..601);
        let findings = store.snapshot().unwrap().check_tables().unwrap();
        assert!(
            findings.problems.is_empty() && findings.has_column,
            "{findings:?}"
        );
        let built = tempfile::tempdir().unwrap();
        let built = self::store(built.path(), true);
        put(&built, 0..601);
        let column = |store: &Store| {
            let mut blocks = Vec::new();
            let snapshot = store.snapshot().unwrap();
            let visited = snapshot.each_block(|key, block| {
                blocks.push((key, block.to_vec()));
                Ok(())
            });
            visited.map(|()| blocks).unwrap()
        };
        assert_eq!(column(&store), column(&built));
    }
}
