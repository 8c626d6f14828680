//! Reading: a consistent view of the store.

use crate::engine::engine;
use crate::store::COMPANION;
use crate::transaction::{ReadTransaction, Transaction};
use crate::{Store, blocks, env, pool};
use becr_store::{
    DocumentFrequency, FoundRecord, GroupRecord, Record, Stem, StoreError, StoreFindings, Text,
    Totals, keys,
};
use becr_text::groups::TokenGroup;
use heed::RoTxn;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A record in memory is found in a tenth of this: longer means waiting for the disk, or for a busy system.
const PATIENCE: Duration = Duration::from_micros(50);
/// So many slow records are the disk.
const SLOW: usize = 3;

/// The store as it was when the snapshot was taken. What it lends lies in the memory map: nothing is copied.
pub struct Snapshot<T: Transaction = ReadTransaction> {
    // Before the store, which its end may close: fields are dropped in their order.
    pub(crate) transaction: T,
    pub(crate) store: Store,
}

impl<T: Transaction> Snapshot<T> {
    pub(crate) fn new(store: &Store, transaction: T) -> Self {
        Self {
            transaction,
            store: store.clone(),
        }
    }

    pub(crate) fn into_transaction(self) -> T {
        self.transaction
    }

    pub(crate) fn txn(&self) -> &RoTxn<'_> {
        self.transaction.txn()
    }

    /// A hash over what the store holds, in hexadecimal: [`becr_store::digest()`].
    pub fn digest(&self) -> Result<String, StoreError> {
        becr_store::digest(self)
    }

    /// Checks the store against itself: [`becr_store::verify()`].
    pub fn verify(&self) -> Result<StoreFindings, StoreError> {
        becr_store::verify(self)
    }

    /// Sums over all documents.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        Ok(self.meta("totals")?.unwrap_or_default())
    }

    /// How many changes were committed before: each counts one.
    pub fn generation(&self) -> Result<u64, StoreError> {
        Ok(self.meta("generation")?.unwrap_or_default())
    }

    /// The bytes that the caller keeps beside the documents, if there are any.
    pub fn companion(&self) -> Result<Option<&[u8]>, StoreError> {
        let found = self.store.tables().meta.get(self.txn(), COMPANION);
        found.map_err(engine(self.store.path()))
    }

    /// Names of the features that records have, by number.
    pub fn feature_names(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.meta("features")?.unwrap_or_default())
    }

    /// The number of a document.
    pub fn number(&self, id: &str) -> Result<Option<u64>, StoreError> {
        let found = self
            .store
            .tables()
            .numbers
            .get(self.txn(), &keys::of_text(id));
        found.map_err(engine(self.store.path()))
    }

    /// The external id of a document.
    pub fn id(&self, number: u64) -> Result<Option<&str>, StoreError> {
        let found = self.store.tables().ids.get(self.txn(), &number);
        found.map_err(engine(self.store.path()))
    }

    /// A document's record, every byte checked.
    pub fn record(&self, number: u64) -> Result<Option<Record<'_>>, StoreError> {
        let Some(bytes) = self.record_bytes(number)? else {
            return Ok(None);
        };
        Record::read(bytes, self.store.path(), || {
            format!("the record of document {number}")
        })
        .map(Some)
    }

    /// Finds records, and has those read that are not in memory.
    ///
    /// Records that are in memory cost a look into the tree and a touch. One that is slow to touch is not, and
    /// asked for; after a few of these, the whole list is.
    pub(crate) fn find(&self, numbers: &[u64]) -> Result<Vec<Option<FoundRecord<'_>>>, StoreError> {
        let mut found = Vec::with_capacity(numbers.len());
        let mut slow = 0;
        for &number in numbers {
            let begun = Instant::now();
            let bytes = self.record_bytes(number)?;
            if slow < SLOW {
                bytes.map(touch);
                if begun.elapsed() > PATIENCE {
                    slow += 1;
                    bytes.map(env::will_need);
                    if slow == SLOW {
                        self.prefetch(numbers);
                    }
                }
            }
            found.push(bytes.map(|bytes| FoundRecord::new(number, bytes, self.store.path())));
        }
        Ok(found)
    }

    /// Asks the system to read the records soon, all at once, so that a list of records that are not in
    /// memory costs one wait and not one each. What goes wrong here costs time alone: whoever reads a record is told.
    ///
    /// To find a record takes a look into the tree, which may itself not be in memory. When that turns out
    /// to be slow, several threads share the rest of the list.
    pub fn prefetch(&self, numbers: &[u64]) {
        // Neighbours share pages of the tree.
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        let mut slow = 0;
        for (at, &number) in numbers.iter().enumerate() {
            let begun = Instant::now();
            self.will_need(number);
            slow += usize::from(begun.elapsed() > PATIENCE);
            if slow == SLOW {
                self.prefetch_together(&numbers[at + 1..]);
                return;
            }
        }
    }

    /// A transaction belongs to one thread at a time, so each thread takes a snapshot of its own. It may be
    /// a later one: then a record that has just been replaced is not prefetched. Without a free reader slot
    /// nothing is prefetched.
    pub(crate) fn prefetch_together(&self, numbers: &[u64]) {
        let store = self.store.clone();
        pool::each_part(numbers, move |part| {
            let Ok(snapshot) = store.snapshot() else {
                return;
            };
            part.iter().for_each(|&number| snapshot.will_need(number));
            // Mapping the pages takes time too: here it is shared among the cores.
            for &number in part {
                if let Ok(Some(bytes)) = snapshot.record_bytes(number) {
                    env::populate(bytes);
                }
            }
        });
    }

    fn will_need(&self, number: u64) {
        if let Ok(Some(bytes)) = self.record_bytes(number) {
            env::will_need(bytes);
        }
    }

    pub(crate) fn record_bytes(&self, number: u64) -> Result<Option<&[u8]>, StoreError> {
        let hint = self.store.finds_single();
        let single_first = hint.load(Ordering::Relaxed);
        for single in [single_first, !single_first] {
            let found = match single {
                true => self.single_record(number)?,
                false => self.record_of_block(number)?,
            };
            if found.is_some() {
                if single != single_first {
                    hint.store(single, Ordering::Relaxed);
                }
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn single_record(&self, number: u64) -> Result<Option<&[u8]>, StoreError> {
        let found = self.store.tables().records.get(self.txn(), &number);
        found.map_err(engine(self.store.path()))
    }

    fn record_of_block(&self, number: u64) -> Result<Option<&[u8]>, StoreError> {
        let records = self.store.tables().records;
        let block = records.get(self.txn(), &blocks::key(number));
        let Some(block) = block.map_err(engine(self.store.path()))? else {
            return Ok(None);
        };
        blocks::record(block, blocks::place(number)).map_err(|_| self.damaged_block(number))
    }

    /// All records with the numbers of their documents, in order.
    pub(crate) fn records(
        &self,
    ) -> Result<impl Iterator<Item = Result<(u64, &[u8]), StoreError>>, StoreError> {
        let (records, path) = (self.store.tables().records, self.store.path());
        let single = records.range(self.txn(), &(..blocks::BLOCK));
        let single = single.map_err(engine(path))?;
        let together = records.range(self.txn(), &(blocks::BLOCK..));
        let together = together.map_err(engine(path))?;
        let together = together.flat_map(move |row| match row {
            Ok((key, block)) => self.of_block(key, block),
            Err(error) => vec![Err(engine(path)(error))],
        });
        let single = single.map(move |row| row.map_err(engine(path)));
        Ok(blocks::merged(single, together))
    }

    /// What a block has.
    fn of_block<'a>(&self, key: u64, block: &'a [u8]) -> Vec<Result<(u64, &'a [u8]), StoreError>> {
        let numbers = blocks::numbers(key);
        match blocks::records(block) {
            Ok(records) => numbers
                .zip(records)
                .filter_map(|(number, record)| Some(Ok((number, record?))))
                .collect(),
            Err(_) => {
                let first = numbers.min().unwrap_or_default();
                vec![Err(self.damaged_block(first))]
            }
        }
    }

    fn damaged_block(&self, number: u64) -> StoreError {
        self.damaged(format!("the block with the record of document {number}"))
    }

    /// A document's title and text, if they were kept.
    pub fn text(&self, number: u64) -> Result<Option<Text>, StoreError> {
        let found = self.store.tables().texts.get(self.txn(), &number);
        let Some(bytes) = found.map_err(engine(self.store.path()))? else {
            return Ok(None);
        };
        Text::decode(bytes)
            .map(Some)
            .ok_or_else(|| self.damaged(format!("the text of document {number}")))
    }

    /// The number of a word.
    pub fn word(&self, word: &str) -> Result<Option<u32>, StoreError> {
        let found = self
            .store
            .tables()
            .words
            .get(self.txn(), &keys::of_text(word));
        Ok(found
            .map_err(engine(self.store.path()))?
            .map(|number| number as u32))
    }

    /// The word of a number.
    pub fn spelling(&self, number: u32) -> Result<&str, StoreError> {
        let found = self
            .store
            .tables()
            .spellings
            .get(self.txn(), &u64::from(number));
        let found = found.map_err(engine(self.store.path()))?;
        found.ok_or_else(|| self.damaged(format!("word {number}")))
    }

    /// What the collection knows of a stem.
    pub fn stem(&self, stem: &str) -> Result<Stem, StoreError> {
        let found = self
            .store
            .tables()
            .stems
            .get(self.txn(), &keys::of_text(stem));
        let Some(bytes) = found.map_err(engine(self.store.path()))? else {
            return Ok(Stem::default());
        };
        Stem::read(bytes).ok_or_else(|| self.damaged(format!("the stem {stem}")))
    }

    /// In how many documents a pair occurs: exactly for pairs in the token store, `None` for others.
    pub fn pair(&self, pair: &TokenGroup) -> Result<Option<DocumentFrequency>, StoreError> {
        let found = self
            .store
            .tables()
            .pairs
            .get(self.txn(), &keys::of_text(&pair.key()));
        let Some(bytes) = found.map_err(engine(self.store.path()))? else {
            return Ok(None);
        };
        let read = DocumentFrequency::read(bytes);
        read.map(Some)
            .ok_or_else(|| self.damaged(format!("the pair {pair}")))
    }

    /// A token group's footprints.
    pub fn group(&self, group: &TokenGroup) -> Result<Option<GroupRecord<'_>>, StoreError> {
        let found = self
            .store
            .tables()
            .groups
            .get(self.txn(), &keys::of_text(&group.key()));
        let Some(bytes) = found.map_err(engine(self.store.path()))? else {
            return Ok(None);
        };
        let record =
            GroupRecord::decode(bytes, GroupRecord::slots(group), self.store.header().shape);
        record.map(Some).map_err(|reason| StoreError::Damaged {
            path: self.store.path().to_owned(),
            what: format!("the token group \"{group}\""),
            reason: reason.into(),
        })
    }

    /// The numbers and external ids of all documents, by number.
    pub fn documents(
        &self,
    ) -> Result<impl Iterator<Item = Result<(u64, &str), StoreError>>, StoreError> {
        let engine = engine(self.store.path());
        let rows = self.store.tables().ids.iter(self.txn()).map_err(&engine)?;
        Ok(rows.map(move |row| row.map_err(&engine)))
    }

    /// External ids whose change the first stage has yet to commit.
    pub fn pending(&self) -> Result<Vec<String>, StoreError> {
        let engine = engine(self.store.path());
        let rows = self
            .store
            .tables()
            .pending
            .iter(self.txn())
            .map_err(&engine)?;
        rows.map(|row| Ok(row.map_err(&engine)?.1.to_owned()))
            .collect()
    }

    /// How many token groups there are.
    pub fn group_count(&self) -> Result<u64, StoreError> {
        self.store
            .tables()
            .groups
            .len(self.txn())
            .map_err(engine(self.store.path()))
    }

    pub(crate) fn meta<M: serde::de::DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<M>, StoreError> {
        let found = self.store.tables().meta.get(self.txn(), name);
        let Some(bytes) = found.map_err(engine(self.store.path()))? else {
            return Ok(None);
        };
        serde_json::from_slice(bytes)
            .map(Some)
            .map_err(|e| StoreError::Damaged {
                path: self.store.path().to_owned(),
                what: format!("the table of {name}"),
                reason: e.to_string(),
            })
    }

    pub(crate) fn damaged(&self, what: String) -> StoreError {
        let reason = "it cannot be read".to_owned();
        StoreError::Damaged {
            path: self.store.path().to_owned(),
            what,
            reason,
        }
    }
}

/// Reads a byte at both ends: from memory that takes no time.
fn touch(bytes: &[u8]) {
    std::hint::black_box((bytes.first().copied(), bytes.last().copied()));
}
