//! `becr-lab bench store`: what serving from the document store costs, on synthetic records.
//!
//! Model: records of the reference work W (857 tokens, 5 layers, 256 bits), as many as asked for, in a store that
//! is written first and deleted afterwards. Candidate lists are 150 documents picked at random.
//!
//! * serve: the time to open the store, the memory it takes to read from all of it, and the speed of reading
//!   records that the page cache holds, checksums verified.
//! * cold: a candidate list read with [`becr_lmdb::Snapshot::prefetch`], beside a plain parallel `pread` of the
//!   same ranges of the file. The file is dropped from the page cache before each; both sides take turns.
//! * change: one document added, replaced, deleted, each with its commit, in a small and in a large store.
//!
//! Serving and cold reads are measured in processes of their own: what another has mapped stays in memory.

mod change;
mod child;
mod cold;
mod data;
mod serve;

pub(crate) use child::{call_bench, drop_from_cache};
pub(crate) use data::file;

use crate::Console;
use crate::console::write_json;
use anyhow::{Context, ensure};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The document store: opening, memory, warm and cold reads, and the cost of a change.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to measure [default: all].
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Records of the store that is served; 20,000 take 2.8 GB of disk.
    #[arg(long, default_value_t = 20_000)]
    documents: u64,
    /// Documents of the large store that is changed.
    #[arg(long, default_value_t = 100_000)]
    large: u64,
    /// Cold candidate lists, and changes of each kind; medians count.
    #[arg(long, default_value_t = 11)]
    runs: usize,
    /// Threads of the `pread` that cold reads are compared with.
    #[arg(long, default_value_t = 16)]
    threads: usize,
    /// Where to write; it must be a disk [default: the system's temporary folder].
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Write the measurements as JSON; `-` is standard output, where they stand alone then.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Take one measurement, described in a file, and print it: what the benchmark calls itself with.
    #[arg(long, hide = true, value_name = "FILE")]
    task: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Part {
    Serve,
    Cold,
    Change,
}

#[derive(Serialize)]
struct StoreReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    serve: Option<serve::ServeReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cold: Option<cold::ColdReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<change::ChangeReport>,
}

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    if let Some(task) = &args.task {
        return child::run(task, console);
    }
    ensure!(
        args.runs > 0 && args.threads > 0 && args.documents > 0,
        "--runs, --threads and --documents must be at least 1"
    );
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = tempfile::tempdir_in(&dir)
        .with_context(|| format!("cannot make a folder in {}", dir.display()))?;
    let report = measure(args, scratch.path(), console)?;
    if let Some(path) = &args.json {
        write_json(path, &report)?;
    }
    if let Some(serve) = &report.serve {
        serve.print(console.out)?;
    }
    if let Some(cold) = &report.cold {
        cold.print(console.out)?;
    }
    if let Some(change) = &report.change {
        change.print(console.out)?;
    }
    Ok(())
}

fn measure(args: &Args, scratch: &Path, console: &Console<'_>) -> anyhow::Result<StoreReport> {
    let wanted = |part| args.only.is_empty() || args.only.contains(&part);
    let (serving, cold) = (wanted(Part::Serve), wanted(Part::Cold));
    let store = scratch.join("serve");
    if serving || cold {
        data::large_records(&store, args.documents, console)?;
    }
    Ok(StoreReport {
        serve: match serving {
            true => Some(serve::measure(&store, args.documents)?),
            false => None,
        },
        cold: match cold {
            true => Some(cold::measure(&store, args)?),
            false => None,
        },
        change: match wanted(Part::Change) {
            true => Some(change::measure(scratch, args.large, args.runs, console)?),
            false => None,
        },
    })
}

/// The middle of some times; the upper one of two.
pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
