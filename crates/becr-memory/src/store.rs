//! The store: its tables, its generations, and who looks at them.

use crate::tables::Tables;
use becr_store::{
    Batch, DocumentFrequency, GroupRecord, Header, MISCOUNTED, Stem, StoreError, Table, Totals,
    WriteStore, keys,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A store in memory. Clones share it.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) header: Header,
    pub(crate) tables: RwLock<Tables>,
    current: Mutex<Current>,
    /// Held by the one who writes.
    writer: Mutex<()>,
}

/// What the newest generation is, and which ones somebody looks at.
struct Current {
    meta: Arc<Meta>,
    /// How many snapshots there are of each generation.
    snapshots: BTreeMap<u64, usize>,
}

/// What a generation says of itself.
#[derive(Clone, Default)]
pub(crate) struct Meta {
    pub(crate) generation: u64,
    pub(crate) totals: Totals,
    pub(crate) feature_names: Vec<String>,
    pub(crate) companion: Option<Vec<u8>>,
}

/// The store as it was when the snapshot was taken. A writer's has the right to write, too.
pub struct Snapshot<W = ()> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) meta: Arc<Meta>,
    _writer: W,
}

/// What errors call the store.
pub(crate) fn name() -> &'static Path {
    Path::new("store in memory")
}

pub(crate) fn damaged(what: String, reason: &str) -> StoreError {
    StoreError::Damaged {
        path: name().to_owned(),
        what,
        reason: reason.into(),
    }
}

/// A panic of another thread leaves what is locked whole: it is changed in steps that do not fail.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// An empty store.
    pub fn new(header: Header) -> Self {
        let current = Current {
            meta: Arc::default(),
            snapshots: BTreeMap::new(),
        };
        let shared = Shared {
            header,
            tables: RwLock::default(),
            current: Mutex::new(current),
            writer: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// What the store was made for.
    pub fn header(&self) -> &Header {
        &self.shared.header
    }

    /// A view of the store as it is now, which later writes do not change.
    pub fn snapshot(&self) -> Snapshot {
        self.look(())
    }

    fn look<W>(&self, writer: W) -> Snapshot<W> {
        let mut current = lock(&self.shared.current);
        let meta = current.meta.clone();
        *current.snapshots.entry(meta.generation).or_default() += 1;
        Snapshot {
            shared: self.shared.clone(),
            meta,
            _writer: writer,
        }
    }
}

impl Shared {
    /// Forgets what no snapshot sees.
    fn forget(&self, current: &Current) {
        let newest = current.meta.generation;
        let oldest = current.snapshots.keys().next().copied().unwrap_or(newest);
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.forget(oldest);
    }
}

impl<W> Drop for Snapshot<W> {
    fn drop(&mut self) {
        let mut current = lock(&self.shared.current);
        let generation = self.meta.generation;
        if let Some(count) = current.snapshots.get_mut(&generation) {
            *count -= 1;
            if *count == 0 {
                let was_oldest = current.snapshots.keys().next() == Some(&generation);
                current.snapshots.remove(&generation);
                if was_oldest {
                    self.shared.forget(&current);
                }
            }
        }
    }
}

impl WriteStore for Store {
    type Snapshot = Snapshot;
    type Transaction<'s> = Snapshot<MutexGuard<'s, ()>>;

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        Ok(self.snapshot())
    }

    /// There is one writer at a time: this waits for another's end.
    fn begin(&self) -> Result<Self::Transaction<'_>, StoreError> {
        Ok(self.look(lock(&self.shared.writer)))
    }

    fn apply(&self, transaction: Self::Transaction<'_>, batch: &Batch) -> Result<(), StoreError> {
        let before = &transaction.meta;
        if before.generation != batch.base {
            return Err(StoreError::Conflict {
                path: name().to_owned(),
                found: before.generation,
                expected: batch.base,
            });
        }
        let rows = rows(&transaction, batch)?;
        // From here on nothing fails. Nobody sees the new generation before it is the current one.
        let generation = batch.base + 1;
        let mut tables = self
            .shared
            .tables
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for (table, key, value) in rows {
            tables.set(table, &key, value.as_deref(), generation);
        }
        drop(tables);
        let mut current = lock(&self.shared.current);
        current.meta = Arc::new(Meta {
            generation,
            totals: batch.totals,
            feature_names: batch.feature_names.clone(),
            companion: batch.companion.clone().or_else(|| before.companion.clone()),
        });
        drop(current);
        // Its snapshot goes with it, and what that alone could see.
        drop(transaction);
        Ok(())
    }
}

type WrittenRow = (Table, Vec<u8>, Option<Vec<u8>>);

/// What a change writes: rows in the order in which they count, later ones over earlier ones.
fn rows<W>(before: &Snapshot<W>, batch: &Batch) -> Result<Vec<WrittenRow>, StoreError> {
    let mut rows = Vec::new();
    let mut set = |table, key: &[u8], value: Option<Vec<u8>>| {
        rows.push((table, key.to_vec(), value));
    };
    for document in &batch.deleted {
        let number = document.number.to_be_bytes();
        for table in [Table::Records, Table::Ids, Table::Texts] {
            set(table, &number, None);
        }
        set(Table::Numbers, &keys::of_text(&document.id), None);
    }
    for document in &batch.documents {
        let number = document.number.to_be_bytes();
        set(Table::Records, &number, Some(document.record.clone()));
        set(Table::Ids, &number, Some(document.id.clone().into_bytes()));
        if let Some(text) = &document.text {
            set(Table::Texts, &number, Some(text.clone()));
        }
        let key = keys::of_text(&document.id);
        set(Table::Numbers, &key, Some(number.to_vec()));
    }
    for new in &batch.words {
        let number = u64::from(new.number).to_be_bytes();
        let key = keys::of_text(&new.word);
        set(Table::Words, &key, Some(number.to_vec()));
        set(
            Table::Spellings,
            &number,
            Some(new.word.clone().into_bytes()),
        );
    }
    for change in &batch.stems {
        let mut stem = before.stem(&change.stem)?;
        let name = || format!("the stem {}", change.stem);
        stem.change(change)
            .ok_or_else(|| damaged(name(), MISCOUNTED))?;
        set(
            Table::Stems,
            &keys::of_text(&change.stem),
            Some(stem.bytes()),
        );
    }
    let mut pairs: BTreeMap<Vec<u8>, DocumentFrequency> = BTreeMap::new();
    for stored in &batch.groups {
        let key = keys::of_text(&stored.group.key()).into_owned();
        if GroupRecord::slots(&stored.group) == 2 && before.pair(&key)?.is_none() {
            pairs.insert(key.clone(), DocumentFrequency::default());
        }
        set(Table::Groups, &key, Some(stored.value.clone()));
    }
    for changed in &batch.pairs {
        let key = keys::of_text(&changed.pair).into_owned();
        let new = pairs.get(&key).copied();
        if let Some(frequency) = new.map_or_else(|| before.pair(&key), |new| Ok(Some(new)))? {
            let name = || format!("the pair {}", changed.pair);
            let changed = frequency.changed(changed.change);
            pairs.insert(key, changed.ok_or_else(|| damaged(name(), MISCOUNTED))?);
        }
    }
    for (key, frequency) in pairs {
        set(Table::Pairs, &key, Some(frequency.bytes().to_vec()));
    }
    Ok(rows)
}

impl<W> Snapshot<W> {
    pub(crate) fn get(&self, table: Table, key: &[u8]) -> Option<Arc<[u8]>> {
        let tables = self.shared.tables.read();
        let tables = tables.unwrap_or_else(PoisonError::into_inner);
        tables.get(table, key, self.meta.generation)
    }

    pub(crate) fn stem(&self, stem: &str) -> Result<Stem, StoreError> {
        match self.get(Table::Stems, &keys::of_text(stem)) {
            Some(bytes) => Stem::read(&bytes)
                .ok_or_else(|| damaged(format!("the stem {stem}"), "it cannot be read")),
            None => Ok(Stem::default()),
        }
    }

    /// The document frequency of a pair, by its key.
    pub(crate) fn pair(&self, key: &[u8]) -> Result<Option<DocumentFrequency>, StoreError> {
        let Some(bytes) = self.get(Table::Pairs, key) else {
            return Ok(None);
        };
        let read = DocumentFrequency::read(&bytes).map(Some);
        let name = || format!("the pair {}", String::from_utf8_lossy(key));
        read.ok_or_else(|| damaged(name(), "it cannot be read"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_store::{NewDocument, Shape, StoreContents};

    /// What nobody can see any more is not kept.
    #[test]
    fn the_past_goes_with_the_last_snapshot_of_it() {
        let store = Store::new(Header::new("encoder-1", Shape::new(1, 32), 3));
        let put = |text: &str| {
            let mut update = store.update().unwrap();
            let document = NewDocument {
                id: "a",
                text,
                mean: &[0; 4],
                ..Default::default()
            };
            update.put(&document).unwrap();
            update.commit().unwrap();
        };
        let versions = || store.shared.tables.read().unwrap().versions();
        put("river");
        let once = versions();
        (0..10).for_each(|_| put("river"));
        assert_eq!(versions(), once);
        let old = store.snapshot();
        (0..10).for_each(|_| put("river"));
        assert!(versions() > once);
        assert_eq!(old.rows(Table::Records).unwrap(), 1);
        drop(old);
        assert_eq!(versions(), once);
    }
}
