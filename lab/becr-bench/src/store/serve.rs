//! Opening a store and reading from all of it.

use super::child::{self, Task};
use super::{data, median};
use crate::random::Random;
use anyhow::Context;
use becr_lmdb::Store;
use indicatif::BinaryBytes;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Candidate lists that are read for the speed.
const LISTS: usize = 100;
/// How often the program is started.
const STARTS: usize = 21;

#[derive(Serialize, Deserialize)]
pub(super) struct ServeReport {
    documents: u64,
    file_bytes: u64,
    /// With the file dropped from the page cache.
    open_cold_ms: f64,
    open_warm_ms: f64,
    /// Starting this program and its end: what reading an index in a process of its own adds to a command.
    process_ms: f64,
    warm: WarmTiming,
}

/// What the child process measured.
#[derive(Serialize, Deserialize)]
pub(super) struct WarmTiming {
    open_ms: f64,
    /// Memory of the process itself once it has read from the whole store, the page cache not counted.
    anonymous_bytes: Option<u64>,
    /// How much that grew between opening the store and the end.
    anonymous_growth_bytes: Option<i64>,
    /// Pages of the file that the process has mapped: the system takes them back when it needs them.
    mapped_bytes: Option<u64>,
    bytes_read: u64,
    /// Bytes of records per second, checksums verified, on one thread.
    bytes_per_second: f64,
    /// A list of candidates, prefetched and read.
    list_ms: f64,
    /// The share of that which prefetching takes.
    prefetch_ms: f64,
}

pub(super) fn measure(dir: &Path, documents: u64) -> anyhow::Result<ServeReport> {
    let file = data::file(dir);
    let task = Task::Serve {
        dir: dir.to_owned(),
        documents,
    };
    child::drop_from_cache(&file)?;
    let cold: WarmTiming = child::call(&task)?;
    let warm: WarmTiming = child::call(&task)?;
    Ok(ServeReport {
        documents,
        file_bytes: std::fs::metadata(&file)?.len(),
        open_cold_ms: cold.open_ms,
        open_warm_ms: warm.open_ms,
        process_ms: process_ms()?,
        warm,
    })
}

fn process_ms() -> anyhow::Result<f64> {
    let program = std::env::current_exe()?;
    let once = || {
        let started = Instant::now();
        Command::new(&program).arg("--version").output()?;
        anyhow::Ok(started.elapsed().as_secs_f64() * 1e3)
    };
    Ok(median(
        (0..STARTS).map(|_| once()).collect::<Result<_, _>>()?,
    ))
}

pub(super) fn child(dir: &Path, documents: u64) -> anyhow::Result<WarmTiming> {
    let started = Instant::now();
    let store = Store::open(dir)?;
    let open_ms = started.elapsed().as_secs_f64() * 1e3;
    let anonymous = || child::of_process("status", "RssAnon").map(|kibibytes| kibibytes * 1024);
    let before = anonymous();
    let snapshot = store.snapshot()?;
    // Everything once, so that what follows comes from memory.
    let all: Vec<u64> = (0..documents).collect();
    for part in all.chunks(data::LIST) {
        snapshot.prefetch(part);
        read(&snapshot, part)?;
    }
    let mut random = Random::new(3);
    let (mut bytes_read, mut prefetching, mut reading) = (0, 0.0, 0.0);
    for _ in 0..LISTS {
        let list = random.list(data::LIST, documents);
        let started = Instant::now();
        snapshot.prefetch(&list);
        prefetching += started.elapsed().as_secs_f64();
        let started = Instant::now();
        bytes_read += read(&snapshot, &list)?;
        reading += started.elapsed().as_secs_f64();
    }
    let after = anonymous();
    Ok(WarmTiming {
        open_ms,
        anonymous_bytes: after,
        anonymous_growth_bytes: before.zip(after).map(|(b, a)| a as i64 - b as i64),
        mapped_bytes: child::of_process("status", "RssFile").map(|kibibytes| kibibytes * 1024),
        bytes_read,
        bytes_per_second: bytes_read as f64 / reading,
        list_ms: (prefetching + reading) * 1e3 / LISTS as f64,
        prefetch_ms: prefetching * 1e3 / LISTS as f64,
    })
}

/// Reads records with their checksums; returns their bytes.
pub(super) fn read(snapshot: &becr_lmdb::Snapshot, numbers: &[u64]) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for &number in numbers {
        let record = snapshot.record(number)?;
        bytes += record.context("a record is missing")?.bytes().len() as u64;
    }
    Ok(bytes)
}

impl ServeReport {
    pub(super) fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let memory = |bytes: Option<u64>| match bytes {
            Some(bytes) => BinaryBytes(bytes).to_string(),
            None => "unknown on this system".into(),
        };
        let warm = &self.warm;
        writeln!(
            out,
            "serve: {} records, {}",
            self.documents,
            BinaryBytes(self.file_bytes)
        )?;
        writeln!(
            out,
            "  open                     {:.2} ms, {:.2} ms with the file not in memory",
            self.open_warm_ms, self.open_cold_ms
        )?;
        writeln!(
            out,
            "  a process of its own     {:.2} ms more for a command that reads an index",
            self.process_ms
        )?;
        writeln!(
            out,
            "  own memory               {} after reading every record",
            memory(warm.anonymous_bytes)
        )?;
        writeln!(
            out,
            "  mapped from page cache   {}",
            memory(warm.mapped_bytes)
        )?;
        writeln!(
            out,
            "  {} records, warm        {:.2} ms, of which prefetching {:.2} ms; {:.2} GB/s on one thread, checksums verified",
            data::LIST,
            warm.list_ms,
            warm.prefetch_ms,
            warm.bytes_per_second / 1e9
        )?;
        Ok(())
    }
}
