//! Changes that appear as a whole.

use crate::cluster::Request;
use crate::keys::{Bucket, place};
use crate::lease::Lease;
use crate::meta::Meta;
use crate::reading::{Row, Snapshot};
use crate::store::{Shared, Store};
use crate::{ClusterError, scripts};
use becr_store::row::{self, HEADER};
use becr_store::{
    Batch, DocumentFrequency, GroupRecord, MISCOUNTED, Stem, StoreError, Table, WriteStore,
    keys::of_text,
};
use redis::{Cmd, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// Bytes that one script is given, if there is more than one row.
const SCRIPT_BYTES: usize = 1 << 20;
/// Bytes that are sent before answers are waited for.
const PIPELINE_BYTES: usize = 8 << 20;

/// What a change writes: by table and key, `None` to delete. Later rows take the place of earlier ones.
type Changed = BTreeMap<(Table, Vec<u8>), Option<Vec<u8>>>;

impl WriteStore for Store {
    type Snapshot = Snapshot;
    /// The lease is taken when the change is applied: to prepare one holds nobody up, and may turn out to be in vain.
    type Transaction<'s> = Snapshot;

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.snapshot()
    }

    fn begin(&self) -> Result<Snapshot, StoreError> {
        self.snapshot()
    }

    fn apply(&self, transaction: Snapshot, batch: &Batch) -> Result<(), StoreError> {
        let shared = &*self.shared;
        let _writer = shared.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let error = |error: ClusterError| shared.error(error);
        let lease = Lease::take(shared).map_err(error)?;
        let meta = shared.meta().map_err(error)?;
        let is_same = meta.edition == transaction.meta.edition;
        if !is_same || meta.generation != batch.base {
            return Err(StoreError::Conflict {
                path: shared.path.clone(),
                found: meta.generation,
                expected: batch.base,
            });
        }
        let changed = changed(&transaction, batch)?;
        Change::new(shared, meta, &lease)
            .apply(batch, &changed)
            .map_err(error)
    }
}

/// What a batch writes.
fn changed(before: &Snapshot, batch: &Batch) -> Result<Changed, StoreError> {
    let mut rows = Changed::new();
    let mut set = |table, key: &[u8], value: Option<Vec<u8>>| {
        rows.insert((table, key.to_vec()), value);
    };
    for document in &batch.deleted {
        let number = document.number.to_be_bytes();
        for table in [Table::Records, Table::Ids, Table::Texts] {
            set(table, &number, None);
        }
        set(Table::Numbers, &of_text(&document.id), None);
    }
    for document in &batch.documents {
        let number = document.number.to_be_bytes();
        set(Table::Records, &number, Some(document.record.clone()));
        set(Table::Ids, &number, Some(document.id.clone().into_bytes()));
        if let Some(text) = &document.text {
            set(Table::Texts, &number, Some(text.clone()));
        }
        set(
            Table::Numbers,
            &of_text(&document.id),
            Some(number.to_vec()),
        );
    }
    for new in &batch.words {
        let number = u64::from(new.number).to_be_bytes();
        set(Table::Words, &of_text(&new.word), Some(number.to_vec()));
        set(
            Table::Spellings,
            &number,
            Some(new.word.clone().into_bytes()),
        );
    }
    let stems = batch
        .stems
        .iter()
        .map(|change| (Table::Stems, of_text(&change.stem)));
    let groups = batch
        .groups
        .iter()
        .filter(|stored| GroupRecord::slots(&stored.group) == 2);
    let new_pairs: Vec<Vec<u8>> = groups
        .map(|stored| of_text(&stored.group.key()).into_owned())
        .collect();
    let pairs = new_pairs
        .iter()
        .map(|key| (Table::Pairs, Cow::Borrowed(&key[..])));
    let counted = batch
        .pairs
        .iter()
        .map(|change| (Table::Pairs, of_text(&change.pair)));
    let asked: Vec<Row<'_>> = stems.chain(pairs).chain(counted).collect();
    let shared = &before.shared;
    let found = before
        .rows_of(&asked)
        .map_err(|error| shared.error(error))?;
    let mut found = found.iter();
    for change in &batch.stems {
        let what = || format!("the stem {}", change.stem);
        let unreadable = || shared.damaged(what(), "it cannot be read");
        let mut stem = match found.next().and_then(Option::as_ref) {
            Some(row) => Stem::read(row.value()).ok_or_else(unreadable)?,
            None => Stem::default(),
        };
        stem.change(change)
            .ok_or_else(|| shared.damaged(what(), MISCOUNTED))?;
        set(Table::Stems, &of_text(&change.stem), Some(stem.bytes()));
    }
    // The frequencies of pairs that are counted from now on, or that change.
    let mut pairs: BTreeMap<Vec<u8>, DocumentFrequency> = BTreeMap::new();
    for key in new_pairs {
        if let Some(None) = found.next() {
            pairs.insert(key, DocumentFrequency::default());
        }
    }
    for change in &batch.pairs {
        let key = of_text(&change.pair).into_owned();
        let what = || format!("the pair {}", change.pair);
        let stored = match found.next().and_then(Option::as_ref) {
            Some(row) => {
                let read = DocumentFrequency::read(row.value());
                Some(read.ok_or_else(|| shared.damaged(what(), "it cannot be read"))?)
            }
            None => None,
        };
        if let Some(frequency) = pairs.get(&key).copied().or(stored) {
            let frequency = frequency.changed(change.change);
            pairs.insert(
                key,
                frequency.ok_or_else(|| shared.damaged(what(), MISCOUNTED))?,
            );
        }
    }
    for (key, frequency) in pairs {
        set(Table::Pairs, &key, Some(frequency.bytes().to_vec()));
    }
    for stored in &batch.groups {
        set(
            Table::Groups,
            &of_text(&stored.group.key()),
            Some(stored.value.clone()),
        );
    }
    Ok(rows)
}

/// A change in progress.
struct Change<'s> {
    shared: &'s Shared,
    lease: &'s Lease<'s>,
    meta: Meta,
    names: crate::keys::Namespace,
    /// The generation in the making.
    next: u64,
}

impl<'s> Change<'s> {
    fn new(shared: &'s Shared, meta: Meta, lease: &'s Lease<'s>) -> Self {
        Self {
            names: meta.namespace(&shared.address.name),
            next: meta.generation + 1,
            shared,
            lease,
            meta,
        }
    }

    fn apply(mut self, batch: &Batch, changed: &Changed) -> Result<(), ClusterError> {
        self.begin()?;
        self.forget()?;
        self.count(changed)?;
        let written = self.put(changed)?;
        self.recount(&written)?;
        self.meta.generation = self.next;
        self.meta.totals = batch.totals;
        self.meta.feature_names = batch.feature_names.clone();
        if batch.companion.is_some() {
            self.meta.companion = batch.companion.clone();
        }
        self.meta.past.push((self.next, now(self.shared)?));
        publish(self.shared, &self.meta, self.lease)
    }

    fn request(&self, bucket: Bucket, command: &Cmd) -> Request {
        Request {
            slot: self.names.slot(bucket),
            bytes: command.get_packed_command(),
        }
    }

    /// Notes the token in every bucket, and takes back what a writer left that died.
    fn begin(&self) -> Result<(), ClusterError> {
        let (token, next) = (self.lease.token, self.next);
        let requests: Vec<Request> = self
            .names
            .buckets()
            .map(|bucket| {
                let (mark, changes) = (self.names.mark(bucket), self.names.changes(bucket, next));
                self.request(bucket, &scripts::begin(mark, changes, token, next))
            })
            .collect();
        self.shared.cluster.write(&requests)?;
        Ok(())
    }

    /// Removes what generations replaced that were published long ago.
    fn forget(&mut self) -> Result<(), ClusterError> {
        let retention = self.shared.cluster.options().retention.as_millis() as u64;
        let now = now(self.shared)?;
        while let Some(&(generation, published)) = self.meta.past.first() {
            if now.saturating_sub(published) <= retention {
                break;
            }
            let requests: Vec<Request> = self
                .names
                .buckets()
                .map(|bucket| {
                    let mark = self.names.mark(bucket);
                    let changes = self.names.changes(bucket, generation);
                    let forget = scripts::forget(mark, changes, self.lease.token, generation);
                    self.request(bucket, &forget)
                })
                .collect();
            self.shared.cluster.write(&requests)?;
            self.lease.renew()?;
            self.meta.past.remove(0);
        }
        Ok(())
    }

    /// Counts the rows that each table will have.
    fn count(&mut self, changed: &Changed) -> Result<(), ClusterError> {
        let rows: Vec<(&(Table, Vec<u8>), bool)> = changed
            .iter()
            .map(|(row, value)| (row, value.is_some()))
            .collect();
        for rows in rows.chunks(10_000) {
            let requests: Vec<Request> = rows
                .iter()
                .map(|((table, key), _)| {
                    let bucket = self.names.bucket(*table, key);
                    let row = self.names.row(bucket, *table, key);
                    let mut command = redis::cmd("GETRANGE");
                    command.arg(row).arg(0).arg(HEADER - 1);
                    self.request(bucket, &command)
                })
                .collect();
            for (((table, _), lives), value) in rows.iter().zip(self.shared.cluster.all(&requests)?)
            {
                let Value::BulkString(header) = value else {
                    return Err(ClusterError::Reply("GETRANGE"));
                };
                // A key that is not there has no header.
                let lived = match header.is_empty() {
                    true => false,
                    false => row::lives(&header).ok_or(ClusterError::Reply("GETRANGE"))?,
                };
                let count = &mut self.meta.rows[place(*table)];
                *count = *count + u64::from(*lives) - u64::from(lived);
            }
        }
        Ok(())
    }

    /// Writes the rows; returns how many each bucket has.
    fn put(&self, changed: &Changed) -> Result<BTreeMap<Bucket, usize>, ClusterError> {
        let mut written: BTreeMap<Bucket, usize> = BTreeMap::new();
        let mut waiting: BTreeMap<Bucket, Script> = BTreeMap::new();
        let mut pipeline = Pipeline::default();
        for ((table, key), value) in changed {
            let bucket = self.names.bucket(*table, key);
            *written.entry(bucket).or_default() += 1;
            let script = waiting.entry(bucket).or_default();
            let key = self.names.row(bucket, *table, key);
            let rest = row::rest(&key, *table, self.next, value.as_deref());
            script.push(key, rest);
            if script.bytes > SCRIPT_BYTES {
                let script = std::mem::take(script);
                pipeline.push(self.script(bucket, script));
                self.flush(&mut pipeline, PIPELINE_BYTES)?;
            }
        }
        for (bucket, script) in waiting
            .into_iter()
            .filter(|(_, script)| !script.keys.is_empty())
        {
            pipeline.push(self.script(bucket, script));
            self.flush(&mut pipeline, PIPELINE_BYTES)?;
        }
        self.flush(&mut pipeline, 0)?;
        Ok(written)
    }

    fn script(&self, bucket: Bucket, script: Script) -> Request {
        let mut keys = vec![
            self.names.mark(bucket),
            self.names.changes(bucket, self.next),
        ];
        keys.extend(script.keys);
        self.request(
            bucket,
            &scripts::put(&keys, self.lease.token, self.next, &script.values),
        )
    }

    fn flush(&self, pipeline: &mut Pipeline, limit: usize) -> Result<(), ClusterError> {
        if pipeline.bytes > limit {
            self.shared.cluster.write(&pipeline.requests)?;
            self.lease.renew()?;
            *pipeline = Pipeline::default();
        }
        Ok(())
    }

    /// Counts what is there now: a failover may have lost what was acknowledged.
    fn recount(&self, written: &BTreeMap<Bucket, usize>) -> Result<(), ClusterError> {
        let requests: Vec<Request> = written
            .keys()
            .map(|&bucket| {
                let changes = self.names.changes(bucket, self.next);
                self.request(bucket, &scripts::recount(changes, self.next))
            })
            .collect();
        let mut missing = 0;
        for (value, &expected) in self
            .shared
            .cluster
            .all(&requests)?
            .iter()
            .zip(written.values())
        {
            let Value::Int(found) = value else {
                return Err(ClusterError::Reply("a recount"));
            };
            missing += expected.saturating_sub(*found as usize);
        }
        match missing {
            0 => Ok(()),
            missing => Err(ClusterError::Lost {
                missing,
                written: written.values().sum(),
            }),
        }
    }
}

/// Rows of one bucket that go into one script.
#[derive(Default)]
struct Script {
    keys: Vec<Vec<u8>>,
    values: Vec<Vec<u8>>,
    bytes: usize,
}

impl Script {
    fn push(&mut self, key: Vec<u8>, bytes: Vec<u8>) {
        self.bytes += key.len() + bytes.len();
        self.keys.push(key);
        self.values.push(bytes);
    }
}

#[derive(Default)]
struct Pipeline {
    requests: Vec<Request>,
    bytes: usize,
}

impl Pipeline {
    fn push(&mut self, request: Request) {
        self.bytes += request.bytes.len();
        self.requests.push(request);
    }
}

/// The cluster's clock, in milliseconds.
fn now(shared: &Shared) -> Result<u64, ClusterError> {
    let text = |value: &Value| match value {
        Value::BulkString(digits) => std::str::from_utf8(digits).ok()?.parse::<u64>().ok(),
        _ => None,
    };
    match shared.ask(&redis::cmd("TIME"))? {
        Value::Array(parts) => match &parts[..] {
            [seconds, micros] => text(seconds)
                .zip(text(micros))
                .map(|(seconds, micros)| seconds * 1000 + micros / 1000)
                .ok_or(ClusterError::Reply("TIME")),
            _ => Err(ClusterError::Reply("TIME")),
        },
        _ => Err(ClusterError::Reply("TIME")),
    }
}

/// Marks the buckets of an edition as there.
pub(crate) fn mark(shared: &Shared, meta: &Meta, lease: &Lease<'_>) -> Result<(), ClusterError> {
    Change::new(shared, meta.clone(), lease).begin()
}

/// Makes a generation the newest one, in one step.
pub(crate) fn publish(shared: &Shared, meta: &Meta, lease: &Lease<'_>) -> Result<(), ClusterError> {
    let (held, key) = (shared.key("lease"), shared.key("meta"));
    let publish = scripts::publish(held, key, lease.token, &meta.bytes());
    shared.cluster.write(&[shared.request(&publish)])?;
    Ok(())
}
