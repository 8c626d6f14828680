//! A whole store into the cluster, as an edition of its own that appears in one step.
//!
//! An export that was interrupted is taken up again: what is there is counted, what is missing is written. When everything
//! is written, everything is counted once more, by length, and only then published. The edition before is removed after
//! a while: whoever reads it then gets an error, never half of it.

use crate::cluster::Request;
use crate::keys::{TABLES, place};
use crate::lease::Lease;
use crate::meta::Meta;
use crate::slots::slot_of_key;
use crate::store::{Shared, Store, scan_keys};
use crate::writing::{mark, publish};
use crate::{ClusterError, Options};
use becr_store::row::{self, HEADER};
use becr_store::{FetchBuffer, Question, StoreContents, StoreError};
use redis::Value;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use twox_hash::XxHash3_64;

/// Bytes, and rows, that are sent before answers are waited for.
const CHUNK_BYTES: usize = 4 << 20;
const CHUNK_ROWS: usize = 4096;
/// How often everything is counted before it is given up: each time what is missing is written.
const RECOUNTS: usize = 3;
/// Keys that are removed together.
const REMOVED: usize = 1000;
/// The generation that all rows are of.
const FIRST: u64 = 1;

/// What an export did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exported {
    /// Documents of the index.
    pub documents: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Rows that were written; the others were there from an export that was interrupted.
    pub written: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// An export that is not finished.
#[derive(Serialize, Deserialize)]
struct Partial {
    /// Of what.
    source: u64,
    meta: Vec<u8>,
}

/// Hears how many rows are done.
pub type Progress<'a> = dyn FnMut(u64) + 'a;

/// Writes a store and the files that belong to it to an address, in the place of what is there.
pub fn export(
    source: &impl StoreContents,
    files: &[(String, Vec<u8>)],
    address: &str,
    options: Options,
    progress: &mut Progress<'_>,
) -> Result<Exported, StoreError> {
    let shared = Store::connect(address, options)?;
    let error = |error: ClusterError| shared.error(error);
    let lease = Lease::take(&shared).map_err(error)?;
    let before = match shared.meta() {
        Ok(meta) => Some(meta),
        Err(ClusterError::NoIndex) => None,
        // What cannot be read any more is replaced; its rows stay.
        Err(ClusterError::Meta(_)) => None,
        Err(other) => return Err(error(other)),
    };
    let meta = described(source, files, &shared)?;
    let (meta, is_resumed) = taken_up(&shared, meta).map_err(error)?;
    let mut work = Export {
        shared: &shared,
        lease: &lease,
        meta,
        chunk: Chunk::default(),
        done: Exported::default(),
    };
    mark(&shared, &work.meta, &lease).map_err(error)?;
    work.pass(source, is_resumed, progress)?;
    work.recount(source)?;
    work.files(files).map_err(error)?;
    publish(&shared, &work.meta, &lease).map_err(error)?;
    let done = work.done;
    shared
        .ask(redis::cmd("DEL").arg(shared.key("partial")))
        .map_err(error)?;
    if let Some(before) = before {
        std::thread::sleep(shared.cluster.options().grace);
        remove_edition(&shared, &before).map_err(error)?;
    }
    Ok(done)
}

/// What the index will say of itself.
fn described(
    source: &impl StoreContents,
    files: &[(String, Vec<u8>)],
    shared: &Shared,
) -> Result<Meta, StoreError> {
    let mut buffer = FetchBuffer::default();
    let state = source.look_up(&Question::default(), &mut buffer)?;
    let mut meta = Meta::new(source.header().clone(), 0, shared.cluster.options().buckets);
    meta.generation = source.generation()?.max(FIRST);
    meta.totals = state.totals;
    meta.feature_names = state.feature_names;
    for table in TABLES {
        meta.rows[place(table)] = source.rows(table)?;
    }
    let file = |(name, bytes): &(String, Vec<u8>)| {
        (name.clone(), bytes.len() as u64, XxHash3_64::oneshot(bytes))
    };
    meta.files = files.iter().map(file).collect();
    Ok(meta)
}

/// Gives the export an edition: that of one of the same source which was not finished, or a new one.
fn taken_up(shared: &Shared, mut meta: Meta) -> Result<(Meta, bool), ClusterError> {
    let source = XxHash3_64::oneshot(&meta.bytes());
    if let Value::BulkString(bytes) = shared.ask(redis::cmd("GET").arg(shared.key("partial")))?
        && let Ok(partial) = serde_json::from_slice::<Partial>(&bytes)
        && let Ok(begun) = Meta::read(&partial.meta)
    {
        if partial.source == source {
            return Ok((begun, true));
        }
        remove_edition(shared, &begun)?;
    }
    meta.edition = shared.next_edition()?;
    let partial = Partial {
        source,
        meta: meta.bytes(),
    };
    let partial = serde_json::to_vec(&partial).unwrap_or_default();
    let set = redis::cmd("SET")
        .arg(shared.key("partial"))
        .arg(partial)
        .to_owned();
    shared.cluster.write(&[shared.request(&set)])?;
    Ok((meta, false))
}

struct Export<'s> {
    shared: &'s Shared,
    lease: &'s Lease<'s>,
    meta: Meta,
    chunk: Chunk,
    done: Exported,
}

/// Rows that are written together.
#[derive(Default)]
struct Chunk {
    /// Key and value with its header.
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    bytes: usize,
}

impl Export<'_> {
    /// Goes through all rows once. Writes them, or, if some may be there, those that are not; returns how many it wrote.
    fn pass(
        &mut self,
        source: &impl StoreContents,
        is_counted: bool,
        progress: &mut Progress<'_>,
    ) -> Result<u64, StoreError> {
        let names = self.meta.namespace(&self.shared.address.name);
        let before = self.done.written;
        self.done.rows = 0;
        self.done.documents = self.meta.totals.documents;
        for table in TABLES {
            let mut fault = None;
            source.scan(table, &mut |key, value| {
                let key = names.row(names.bucket(table, key), table, key);
                let value = row::new(&key, table, FIRST, value);
                self.chunk.bytes += key.len() + value.len();
                self.chunk.rows.push((key, value));
                if self.chunk.bytes < CHUNK_BYTES && self.chunk.rows.len() < CHUNK_ROWS {
                    return ControlFlow::Continue(());
                }
                match self.flush(is_counted, progress) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        fault = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })?;
            let flushed = fault.map_or_else(|| self.flush(is_counted, progress), Err);
            flushed.map_err(|error| self.shared.error(error))?;
        }
        Ok(self.done.written - before)
    }

    fn flush(&mut self, is_counted: bool, progress: &mut Progress<'_>) -> Result<(), ClusterError> {
        let Chunk { mut rows, .. } = std::mem::take(&mut self.chunk);
        self.done.rows += rows.len() as u64;
        let all = rows.len() as u64;
        if is_counted {
            let lengths: Vec<Request> = rows
                .iter()
                .map(|(key, _)| request(key, redis::cmd("STRLEN").arg(key)))
                .collect();
            let lengths = self.shared.cluster.all(&lengths)?;
            let mut lengths = lengths.iter();
            rows.retain(|(_, value)| lengths.next() != Some(&Value::Int(value.len() as i64)));
        }
        let writes: Vec<Request> = rows
            .iter()
            .map(|(key, value)| request(key, redis::cmd("SET").arg(key).arg(value)))
            .collect();
        if !writes.is_empty() {
            self.shared.cluster.write(&writes)?;
        }
        self.done.written += rows.len() as u64;
        self.done.bytes += rows
            .iter()
            .map(|(_, value)| (value.len() - HEADER) as u64)
            .sum::<u64>();
        self.lease.renew()?;
        progress(all);
        Ok(())
    }

    /// Counts until nothing is missing: a failover may lose what was acknowledged.
    fn recount(&mut self, source: &impl StoreContents) -> Result<(), StoreError> {
        let mut missing = 0;
        for _ in 0..RECOUNTS {
            missing = self.pass(source, true, &mut |_| {})?;
            if missing == 0 {
                return Ok(());
            }
        }
        Err(self.shared.error(ClusterError::Lost {
            missing: missing as usize,
            written: self.done.rows as usize,
        }))
    }

    fn files(&self, files: &[(String, Vec<u8>)]) -> Result<(), ClusterError> {
        let names = self.meta.namespace(&self.shared.address.name);
        for (name, bytes) in files {
            let key = names.file(name);
            self.shared
                .cluster
                .write(&[request(&key, redis::cmd("SET").arg(&key).arg(bytes))])?;
        }
        Ok(())
    }
}

fn request(key: &[u8], command: &redis::Cmd) -> Request {
    Request {
        slot: slot_of_key(key),
        bytes: command.get_packed_command(),
    }
}

/// Removes all keys of an edition: marks first, so that whoever still reads it is told.
fn remove_edition(shared: &Shared, meta: &Meta) -> Result<(), ClusterError> {
    let names = meta.namespace(&shared.address.name);
    let remove = |keys: &[Vec<u8>]| {
        let removals: Vec<Request> = keys
            .iter()
            .map(|key| request(key, redis::cmd("UNLINK").arg(key)))
            .collect();
        shared.cluster.all(&removals)
    };
    remove(
        &names
            .buckets()
            .map(|bucket| names.mark(bucket))
            .collect::<Vec<_>>(),
    )?;
    for keys in scan_keys(shared, &names.everything())?.chunks(REMOVED) {
        remove(keys)?;
    }
    Ok(())
}

impl Store {
    /// Removes an index with everything that belongs to it.
    pub fn remove(&self) -> Result<(), StoreError> {
        let shared = &self.shared;
        let remove = || {
            let _lease = Lease::take(shared)?;
            let meta = shared.meta()?;
            shared.ask(redis::cmd("DEL").arg(shared.key("meta")))?;
            remove_edition(shared, &meta)
        };
        remove().map_err(|error| shared.error(error))
    }
}
