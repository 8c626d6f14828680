//! `becr-lab bench rank`: the reference work W(n) end to end through the embedded store.
//!
//! Model: candidates by their external ids, 150 or 1,000 documents of 857 tokens and 686 words, picked at random
//! from a store several times the last-level cache and held by the page cache; queries of n words whose words and
//! pairs within a window of three are all in the token store; a head with every lexical feature and the
//! document-vector similarity. One thread. Measured are the whole re-ranking (ids, token groups and statistics
//! looked up; records found, read and checked; features; footprints and kernels) and the engine alone on documents
//! of the same store, which takes turns with it on other picks. Times are lower quartiles. With `--mode encoded` queries
//! are read by an encoder that takes no time: each word is one footprint, and the real encoder's time comes on top. With
//! `--cold` look-up and fetch are also measured with the index dropped from the page cache, each list in a process of its own, and
//! their medians taken.

mod cold;
mod data;
mod library;
mod measure;

use crate::Console;
use crate::console::write_json;
use anyhow::{Context, ensure};
use becr_rank::QueryMode;
use library::LibraryRow;
use measure::{QUERIES, RankMeter, RankRow};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

/// Re-ranking end to end: W(n) through the store, beside the engine's own time for the same documents
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Words of a query.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [3, 5])]
    n: Vec<usize>,
    /// Candidates of a query.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [150, 1000])]
    candidates: Vec<usize>,
    /// Layers of the footprints.
    #[arg(long, value_name = "L", value_delimiter = ',', default_values_t = [5], value_parser = clap::value_parser!(u16).range(1..=64))]
    layers: Vec<u16>,
    /// Also measure look-up and fetch of so many lists with the index not in memory.
    #[arg(long, value_name = "N", default_value_t = 0)]
    cold: usize,
    /// Records of the store; 4,000 of five layers take 560 MB of disk.
    #[arg(long, default_value_t = 4000)]
    documents: u64,
    /// Where to write the store [default: the system's temporary folder].
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Write the index here and leave it there, for other programs to measure with; one that is there already is used. For one
    /// number of layers.
    /// Its documents are document-0, document-1 and so on, --json tells its queries.
    #[arg(long, value_name = "DIR", conflicts_with = "dir")]
    keep: Option<PathBuf>,
    /// Also measure composed queries through the library, as a program asks for them, on so many threads.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    threads: Vec<usize>,
    /// How queries are read. The time of the encoder is not measured: `becr-lab bench encoder` does that.
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// Also write the rows as JSON to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Take one cold measurement, described in a file, and print it: what the benchmark calls itself with.
    #[arg(long, hide = true, value_name = "FILE")]
    task: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Mode {
    /// Composed of token groups.
    #[default]
    Composed,
    /// Encoded as a whole: a footprint a word.
    Encoded,
}

impl From<Mode> for QueryMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Composed => Self::Composed,
            Mode::Encoded => Self::Encoded,
        }
    }
}

#[derive(Serialize)]
struct RankReport {
    mode: QueryMode,
    documents: u64,
    /// Of the last index that was measured.
    store_bytes: u64,
    rows: Vec<RankRow>,
    /// Through the library.
    library: Vec<LibraryRow>,
    /// The queries of each length.
    queries: BTreeMap<usize, Vec<String>>,
}

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    if let Some(task) = &args.task {
        return cold::run(task, console);
    }
    ensure!(args.documents > 0, "--documents must be at least 1");
    ensure!(
        args.keep.is_none() || args.layers.len() == 1,
        "--keep: an index has one number of layers; name one in --layers"
    );
    ensure!(
        args.n
            .iter()
            .chain(&args.candidates)
            .chain(&args.threads)
            .all(|&n| n > 0),
        "--n, --candidates and --threads must be at least 1"
    );
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let mut report = RankReport {
        mode: args.mode.into(),
        documents: args.documents,
        store_bytes: 0,
        rows: Vec::new(),
        library: Vec::new(),
        queries: args
            .n
            .iter()
            .map(|&n| (n, data::queries(n, QUERIES)))
            .collect(),
    };
    for &layers in &args.layers {
        let scratch = tempfile::tempdir_in(&dir)
            .with_context(|| format!("cannot make a folder in {}", dir.display()))?;
        let folder = args.keep.as_deref().unwrap_or(scratch.path());
        measure_layers(args, layers, folder, &mut report, console)?;
    }
    if let Some(path) = &args.json {
        write_json(path, &report)?;
    }
    print(&report, console.out)
}

/// The rows of one number of layers, on an index of its own.
fn measure_layers(
    args: &Args,
    layers: u16,
    folder: &Path,
    report: &mut RankReport,
    console: &Console<'_>,
) -> anyhow::Result<()> {
    let (shape, mode) = (data::shape(layers), report.mode);
    measure::write(folder, args.documents, &args.n, shape, console)?;
    // Before this process maps the store: what is mapped stays in memory.
    let mut cold = Vec::new();
    for &n in &args.n {
        for &candidates in &args.candidates {
            cold.push(cold::measure(args, folder, shape, n, candidates)?);
        }
    }
    let mut cold = cold.into_iter();
    let meter = RankMeter::open(folder, args.documents, mode, shape)?;
    report.store_bytes = meter.store_bytes()?;
    for &n in &args.n {
        for &candidates in &args.candidates {
            let mut row = meter.measure(n, candidates)?;
            row.cold = cold.next().flatten();
            report.rows.push(row);
            for &threads in &args.threads {
                let row = meter.library(n, candidates, threads)?;
                report.library.push(row);
            }
        }
    }
    Ok(())
}

fn print(report: &RankReport, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "{:>2} {:>2} {:>10} {:>9} {:>8} {:>8} {:>8} {:>8} {:>10} {:>6}",
        "L",
        "n",
        "candidates",
        "total ms",
        "look-up",
        "fetch",
        "lexical",
        "deep",
        "engine ms",
        "ratio"
    )?;
    for row in &report.rows {
        write!(
            out,
            "{:>2} {:>2} {:>10} {:>9.3} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>10.3} {:>6.2}",
            row.layers,
            row.n,
            row.candidates,
            row.total_ms,
            row.lookup_ms,
            row.fetch_ms,
            row.lexical_ms,
            row.deep_ms,
            row.engine_ms,
            row.ratio
        )?;
        match &row.cold {
            Some(cold) => writeln!(
                out,
                "   cold: look-up {:.3}, fetch {:.3}",
                cold.lookup_ms, cold.fetch_ms
            )?,
            None => writeln!(out)?,
        }
    }
    if !report.library.is_empty() {
        writeln!(
            out,
            "\n{:>2} {:>10} {:>9} {:>8} {:>10}",
            "n", "candidates", "call ms", "threads", "queries/s"
        )?;
    }
    for row in &report.library {
        writeln!(out, "{}", row.line())?;
    }
    Ok(())
}
