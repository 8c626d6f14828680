//! Writing: a batch into the tables, as a whole.

use crate::engine::engine;
use crate::store::{COMPANION, Tables};
use crate::sums::{self, RECORDS, SUMS, Sums};
use crate::transaction::WriteTransaction;
use crate::{Snapshot, Store, blocks};
use becr_store::{
    Batch, DocumentFrequency, GroupRecord, MISCOUNTED, Stem, StoreError, Table, WriteStore, keys,
};
use heed::types::Bytes;
use heed::{Database, RwTxn};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::iter::from_fn;
use std::path::Path;

impl WriteStore for Store {
    type Snapshot = Snapshot;
    type Transaction<'s> = Snapshot<WriteTransaction<'s>>;

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.snapshot()
    }

    /// There is one writer at a time, of all processes: this waits for another's end.
    fn begin(&self) -> Result<Self::Transaction<'_>, StoreError> {
        Ok(Snapshot::new(self, self.write_transaction()?))
    }

    fn apply(&self, transaction: Self::Transaction<'_>, batch: &Batch) -> Result<(), StoreError> {
        let found = transaction.generation()?;
        if found != batch.base {
            return Err(StoreError::Conflict {
                path: self.path().to_owned(),
                found,
                expected: batch.base,
            });
        }
        let path = self.path();
        let sums = transaction.sums()?;
        let mut writing = Writing {
            tables: self.tables(),
            path,
            sums,
            txn: transaction.into_transaction().txn,
        };
        writing.documents(batch).map_err(engine(path))?;
        let shape = self.header().shape;
        writing.column(batch, shape).map_err(engine(path))?;
        writing.stems(batch)?;
        writing.groups(batch).map_err(engine(path))?;
        writing.pairs(batch)?;
        writing.meta(batch).map_err(engine(path))?;
        writing.txn.commit().map_err(|error| match error {
            // The engine's word for a write that came back short.
            heed::Error::Io(e) if e.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                let action = "a write failed or came back short, as on a full disk; what was \
                              committed before is safe";
                StoreError::io(path, action)(e)
            }
            error => engine(path)(error),
        })
    }
}

impl Snapshot<WriteTransaction<'_>> {
    /// Strikes notes of documents off which the first stage had yet to commit, as indexes of earlier versions have them.
    pub fn settle(&mut self, ids: &[String]) -> Result<(), StoreError> {
        let pending = self.store.tables().pending;
        for id in ids {
            pending
                .delete(&mut self.transaction.txn, &keys::of_text(id))
                .map_err(engine(self.store.path()))?;
        }
        Ok(())
    }
}

pub(crate) struct Writing<'s> {
    pub(crate) tables: &'s Tables,
    pub(crate) path: &'s Path,
    pub(crate) txn: RwTxn<'s>,
    /// `None` in stores of earlier versions, which have none to keep up.
    pub(crate) sums: Option<Sums>,
}

impl Writing<'_> {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> heed::Result<()> {
        self.put_row(sums::name(table), self.tables.rows(table), key, value)
    }

    pub(crate) fn put_row(
        &mut self,
        name: &str,
        rows: Database<Bytes, Bytes>,
        key: &[u8],
        value: &[u8],
    ) -> heed::Result<()> {
        if let Some(sums) = &mut self.sums {
            if let Some(old) = rows.get(&self.txn, key)? {
                sums.remove(name, key, old);
            }
            sums.add(name, key, value);
        }
        rows.put(&mut self.txn, key, value)
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> heed::Result<()> {
        self.delete_row(sums::name(table), self.tables.rows(table), key)
    }

    pub(crate) fn delete_row(
        &mut self,
        name: &str,
        rows: Database<Bytes, Bytes>,
        key: &[u8],
    ) -> heed::Result<()> {
        if let Some(sums) = &mut self.sums
            && let Some(old) = rows.get(&self.txn, key)?
        {
            sums.remove(name, key, old);
        }
        rows.delete(&mut self.txn, key).map(drop)
    }

    fn documents(&mut self, batch: &Batch) -> heed::Result<()> {
        self.records(batch)?;
        for document in &batch.deleted {
            let number = document.number.to_be_bytes();
            self.delete(Table::Numbers, &keys::of_text(&document.id))?;
            for table in [Table::Ids, Table::Texts] {
                self.delete(table, &number)?;
            }
        }
        for document in &batch.documents {
            let number = document.number.to_be_bytes();
            self.put(Table::Numbers, &keys::of_text(&document.id), &number)?;
            self.put(Table::Ids, &number, document.id.as_bytes())?;
            if let Some(text) = &document.text {
                self.put(Table::Texts, &number, text)?;
            }
        }
        for new in &batch.words {
            let number = u64::from(new.number).to_be_bytes();
            self.put(Table::Words, &keys::of_text(&new.word), &number)?;
            self.put(Table::Spellings, &number, new.word.as_bytes())?;
        }
        Ok(())
    }

    /// Long records one by one, the others block by block.
    fn records(&mut self, batch: &Batch) -> heed::Result<()> {
        let mut changes: BTreeMap<u64, Option<&[u8]>> = BTreeMap::new();
        changes.extend(batch.deleted.iter().map(|gone| (gone.number, None)));
        let new = batch.documents.iter();
        changes.extend(new.map(|new| (new.number, Some(new.record.as_slice()))));
        let mut changes = changes.into_iter().peekable();
        while let Some(&(number, _)) = changes.peek() {
            let key = blocks::key(number);
            let of_block = from_fn(|| changes.next_if(|(number, _)| blocks::key(*number) == key));
            let of_block: Vec<_> = of_block.collect();
            self.block(key, &of_block)?;
        }
        Ok(())
    }

    /// Changes records whose place is in one block.
    fn block(&mut self, key: u64, changes: &[(u64, Option<&[u8]>)]) -> heed::Result<()> {
        let rows = self.tables.records;
        let damaged = || heed::Error::Decoding("a block of records cannot be read".into());
        let old = rows.get(&self.txn, &key)?.map(<[u8]>::to_vec);
        let had = old.is_some();
        let mut records = match &old {
            Some(old) => blocks::records(old).map_err(|_| damaged())?,
            None => blocks::Records::default(),
        };
        for &(number, record) in changes {
            let own_key = number.to_be_bytes();
            if let Some(old) = records[blocks::place(number)].take()
                && let Some(sums) = &mut self.sums
            {
                sums.remove(RECORDS, &own_key, old);
            }
            match record.filter(|record| record.len() > blocks::LONGEST) {
                Some(long) => self.put(Table::Records, &own_key, long)?,
                None => self.delete(Table::Records, &own_key)?,
            }
            if let Some(record) = record.filter(|record| record.len() <= blocks::LONGEST) {
                records[blocks::place(number)] = Some(record);
                if let Some(sums) = &mut self.sums {
                    sums.add(RECORDS, &own_key, record);
                }
            }
        }
        match blocks::block(&records) {
            Some(block) => rows.put(&mut self.txn, &key, &block),
            None if had => rows.delete(&mut self.txn, &key).map(drop),
            None => Ok(()),
        }
    }

    fn stems(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let (stems, engine) = (self.tables.stems, engine(self.path));
        for change in &batch.stems {
            let key = keys::of_text(&change.stem);
            let mut stem = match stems.get(&self.txn, &key).map_err(&engine)? {
                Some(bytes) => Stem::read(bytes)
                    .ok_or_else(|| self.damaged(format!("the stem {}", change.stem)))?,
                None => Stem::default(),
            };
            stem.change(change)
                .ok_or_else(|| self.miscounted(format!("the stem {}", change.stem)))?;
            self.put(Table::Stems, &key, &stem.bytes())
                .map_err(&engine)?;
        }
        Ok(())
    }

    fn groups(&mut self, batch: &Batch) -> heed::Result<()> {
        for stored in &batch.groups {
            let key = keys::of_text(&stored.group.key()).into_owned();
            self.put(Table::Groups, &key, &stored.value)?;
            let is_pair = GroupRecord::slots(&stored.group) == 2;
            if is_pair && self.tables.pairs.get(&self.txn, &key)?.is_none() {
                let nothing = DocumentFrequency::default().bytes();
                self.put(Table::Pairs, &key, &nothing)?;
            }
        }
        Ok(())
    }

    /// Only pairs that are token groups are counted.
    fn pairs(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let (pairs, engine) = (self.tables.pairs, engine(self.path));
        for changed in &batch.pairs {
            let key = keys::of_text(&changed.pair);
            let Some(bytes) = pairs.get(&self.txn, &key).map_err(&engine)? else {
                continue;
            };
            let frequency = DocumentFrequency::read(bytes)
                .ok_or_else(|| self.damaged(format!("the pair {}", changed.pair)))?;
            let bytes = frequency
                .changed(changed.change)
                .ok_or_else(|| self.miscounted(format!("the pair {}", changed.pair)))?
                .bytes();
            self.put(Table::Pairs, &key, &bytes).map_err(&engine)?;
        }
        Ok(())
    }

    fn meta(&mut self, batch: &Batch) -> heed::Result<()> {
        let (meta, txn) = (self.tables.meta, &mut self.txn);
        let json = |e: serde_json::Error| heed::Error::Encoding(e.into());
        let totals = serde_json::to_vec(&batch.totals).map_err(json)?;
        let names = serde_json::to_vec(&batch.feature_names).map_err(json)?;
        meta.put(txn, "totals", &totals)?;
        meta.put(txn, "features", &names)?;
        meta.put(txn, "generation", (batch.base + 1).to_string().as_bytes())?;
        if let Some(companion) = &batch.companion {
            meta.put(txn, COMPANION, companion)?;
        }
        self.put_sums()
    }

    fn put_sums(&mut self) -> heed::Result<()> {
        if let Some(sums) = &mut self.sums {
            sums.set_meta(self.tables, &self.txn)?;
            let bytes = sums.bytes()?;
            self.tables.meta.put(&mut self.txn, SUMS, &bytes)?;
        }
        Ok(())
    }

    /// Commits rows that are no change of what the store holds.
    pub(crate) fn finish(mut self) -> heed::Result<()> {
        self.put_sums()?;
        self.txn.commit()
    }

    fn damaged(&self, what: String) -> StoreError {
        StoreError::Damaged {
            path: self.path.to_owned(),
            what,
            reason: "it cannot be read".into(),
        }
    }

    fn miscounted(&self, what: String) -> StoreError {
        StoreError::Damaged {
            path: self.path.to_owned(),
            what,
            reason: MISCOUNTED.into(),
        }
    }
}
