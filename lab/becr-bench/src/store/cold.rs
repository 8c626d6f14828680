//! A candidate list that is not in memory: the store beside a parallel `pread`.

use super::child::{self, Task};
use super::data;
use super::{median, serve};
use crate::random::Random;
use anyhow::Context;
use becr_lmdb::Store;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

#[derive(Serialize)]
pub(super) struct ColdReport {
    runs: usize,
    pread_threads: usize,
    bytes_per_list: u64,
    /// Medians.
    store_ms: f64,
    pread_ms: f64,
    /// Bytes that came from the device, by list; `None` where the system does not count them.
    store_device_bytes: Option<u64>,
    pread_device_bytes: Option<u64>,
    /// Speed of the store over that of `pread`: the median of the ratios of each list.
    ratio: f64,
    lists: Vec<[f64; 2]>,
}

/// One cold list, one way.
#[derive(Serialize, Deserialize)]
pub(super) struct ColdReading {
    ms: f64,
    bytes: u64,
    device_bytes: Option<u64>,
}

pub(super) fn measure(dir: &Path, args: &super::Args) -> anyhow::Result<ColdReport> {
    let file = data::file(dir);
    let mut random = Random::new(5);
    let (mut store, mut pread) = (Vec::new(), Vec::new());
    for run in 0..args.runs {
        let numbers = random.list(data::LIST, args.documents);
        let ranges = ranges(dir, &numbers)?;
        let through_store = Task::Store {
            dir: dir.to_owned(),
            numbers,
        };
        let through_pread = Task::Pread {
            file: file.clone(),
            ranges,
            threads: args.threads,
        };
        let cold = |task: &Task, readings: &mut Vec<ColdReading>| -> anyhow::Result<()> {
            child::drop_from_cache(&file)?;
            readings.push(child::call(task)?);
            Ok(())
        };
        // Neither side always comes second, when the device may have the list in a cache of its own.
        if run % 2 == 0 {
            cold(&through_store, &mut store)?;
            cold(&through_pread, &mut pread)?;
        } else {
            cold(&through_pread, &mut pread)?;
            cold(&through_store, &mut store)?;
        }
    }
    let lists: Vec<[f64; 2]> = store
        .iter()
        .zip(&pread)
        .map(|(s, p)| [s.ms, p.ms])
        .collect();
    let device = |readings: &[ColdReading]| readings.iter().filter_map(|r| r.device_bytes).min();
    Ok(ColdReport {
        runs: args.runs,
        pread_threads: args.threads,
        bytes_per_list: pread.first().map_or(0, |reading| reading.bytes),
        store_ms: median(store.iter().map(|r| r.ms).collect()),
        pread_ms: median(pread.iter().map(|r| r.ms).collect()),
        store_device_bytes: device(&store),
        pread_device_bytes: device(&pread),
        ratio: median(lists.iter().map(|[store, pread]| pread / store).collect()),
        lists,
    })
}

/// Where records lie in the store's file.
fn ranges(dir: &Path, numbers: &[u64]) -> anyhow::Result<Vec<(u64, usize)>> {
    let store = Store::open(dir)?;
    let snapshot = store.snapshot()?;
    let base = map_address(&data::file(dir))?;
    numbers
        .iter()
        .map(|&number| {
            let record = snapshot.record(number)?.context("a record is missing")?;
            let bytes = record.bytes();
            Ok(((bytes.as_ptr().addr() - base) as u64, bytes.len()))
        })
        .collect()
}

/// The address that a file is mapped at in this process.
fn map_address(file: &Path) -> anyhow::Result<usize> {
    let file = file.canonicalize()?;
    let maps = std::fs::read_to_string("/proc/self/maps").context("this benchmark needs Linux")?;
    let line = maps
        .lines()
        .find(|line| line.ends_with(&*file.to_string_lossy()));
    let start = line.and_then(|line| line.split('-').next());
    let start = start.context("the store is not mapped")?;
    Ok(usize::from_str_radix(start, 16)?)
}

pub(super) fn through_store(dir: &Path, numbers: &[u64]) -> anyhow::Result<ColdReading> {
    let store = Store::open(dir)?;
    let snapshot = store.snapshot()?;
    timed(|| {
        snapshot.prefetch(numbers);
        serve::read(&snapshot, numbers)
    })
}

pub(super) fn through_pread(
    file: &Path,
    ranges: &[(u64, usize)],
    threads: usize,
) -> anyhow::Result<ColdReading> {
    let file = File::open(file)?;
    let mut buffers: Vec<Vec<u8>> = ranges.iter().map(|&(_, length)| vec![0; length]).collect();
    // The pages of the buffers are there before the clock runs.
    buffers.iter_mut().for_each(|buffer| buffer.fill(1));
    let next = AtomicUsize::new(0);
    let slots: Vec<_> = buffers.iter_mut().map(std::sync::Mutex::new).collect();
    timed(|| {
        let read = || -> std::io::Result<u64> {
            let mut bytes = 0;
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(offset, length)) = ranges.get(at) else {
                    return Ok(bytes);
                };
                if let Ok(mut buffer) = slots[at].lock() {
                    file.read_exact_at(&mut buffer, offset)?;
                }
                bytes += length as u64;
            }
        };
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..threads).map(|_| scope.spawn(read)).collect();
            let mut bytes = 0;
            for reader in readers {
                let done = reader.join();
                bytes += done.map_err(|_| anyhow::anyhow!("a reader failed"))??;
            }
            Ok(bytes)
        })
    })
}

fn timed(read: impl FnOnce() -> anyhow::Result<u64>) -> anyhow::Result<ColdReading> {
    let from_device = || child::of_process("io", "read_bytes");
    let before = from_device();
    let started = Instant::now();
    let bytes = read()?;
    let ms = started.elapsed().as_secs_f64() * 1e3;
    let device_bytes = before.zip(from_device()).map(|(b, a)| a - b);
    Ok(ColdReading {
        ms,
        bytes,
        device_bytes,
    })
}

impl ColdReport {
    pub(super) fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let row = |ms: f64, device: Option<u64>| {
            let device = match device {
                Some(bytes) => format!("at least {:.1} MB from the device", bytes as f64 / 1e6),
                None => "unknown how much from the device".into(),
            };
            let speed = self.bytes_per_list as f64 / ms / 1e6;
            format!("{ms:>7.2} ms, {speed:.2} GB/s, {device}")
        };
        writeln!(
            out,
            "cold: {} records, {:.1} MB, median of {} lists",
            data::LIST,
            self.bytes_per_list as f64 / 1e6,
            self.runs
        )?;
        writeln!(
            out,
            "  store                    {}, checksums verified",
            row(self.store_ms, self.store_device_bytes)
        )?;
        writeln!(
            out,
            "  pread, {:>3} threads       {}",
            self.pread_threads,
            row(self.pread_ms, self.pread_device_bytes)
        )?;
        writeln!(
            out,
            "  speed of the store / pread = {:.2} (at least 0.7 is wanted)",
            self.ratio
        )?;
        Ok(())
    }
}
