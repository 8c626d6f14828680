//! `becr-lab bench engine`: the reference work W(n), 150 documents of 857 tokens picked at random from a store several
//! times the last-level cache, scored for a query of n words with all its word pairs within a window of three.
//!
//! Every time is the lower quartile over fresh random picks, and stands beside the time that a streaming read of the same
//! amount of footprints takes from the same store, which no engine can beat.

mod alternative;
mod filter;
pub(crate) mod floor;
mod lsh_error;
mod measure;
mod report;
mod scalar;
mod work;

use crate::Console;
use crate::console::write_json;
use becr_footprint::{Engine, Implementation};
use filter::Filter;
use measure::{EngineTiming, Meter};
use report::{EngineReport, EngineRow};
use std::path::PathBuf;
use work::{DOCUMENTS, Groups, Store, TOKENS, Work};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Measure only these: `n=3,5`, `layers=1,5`, `bits=256`, `implementation=avx2`, `system=becr`. May be repeated.
    /// `groups=single` measures one footprint a term, as queries that are encoded whole have it, in place of
    /// `groups=composed`.
    #[arg(long, value_name = "KEY=VALUES")]
    only: Vec<Filter>,

    /// Also write the rows as JSON to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Token vectors (safetensors, f32 tensors of `[layers, tokens, dim]`, as `becr encode` writes them) on which to
    /// measure how well footprints estimate cosines.
    #[arg(long, value_name = "FILE")]
    vectors: Option<PathBuf>,

    /// A Python with numpy, or with maxsim-cpu, to time ColBERT-style MaxSim on documents of the same length.
    #[arg(
        long,
        value_name = "PYTHON",
        env = "BECR_BENCH_PYTHON",
        default_value = "python3"
    )]
    python: PathBuf,

    /// Threads to try, beside one. Default: as many as there are cores.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Keep the store in pages of 4 KiB, as a memory-mapped file has them, rather than in huge pages.
    #[arg(long)]
    small_pages: bool,
}

/// Word counts, layers and bits of the full table.
const WORDS: [usize; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const LAYERS: [usize; 4] = [1, 5, 7, 13];
const BITS: [usize; 4] = [64, 128, 256, 512];

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    let filter = Filter::all(&args.only);
    let store = Store::new(args.small_pages)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.unwrap_or(cores);
    console.note(format_args!(
        "store {} MB in {}, last-level cache {} MB, {cores} cores, implementations: {}; in use: {}",
        store.bytes().len() / 1_000_000,
        store.pages(),
        store.cache_bytes() / 1_000_000,
        Implementation::available()
            .map(Implementation::name)
            .collect::<Vec<_>>()
            .join(" "),
        Implementation::chosen()?.name(),
    ));
    let mut report = EngineReport::default();
    for &layers in filter.keep("layers", &LAYERS) {
        for &bits in filter.keep("bits", &BITS) {
            let meter = Meter::new(&store, layers, bits)?;
            for &n in filter.keep("n", &WORDS) {
                for groups in wanted_groups(&filter) {
                    let work = Work::new(groups, n, layers, bits)?;
                    measure_becr(&mut report, console, &filter, &meter, &work, threads)?;
                    if filter.has("system", "scalar") && is_reference(&work) {
                        let timing = meter.scalar(&work)?;
                        report.push(row(&meter, &work, "scalar", "plain", 1, timing), console);
                    }
                }
            }
        }
    }
    if filter.has("system", "maxsim") {
        match alternative::maxsim(&args.python) {
            // A ColBERT query is padded to the same length, whatever its words.
            Ok(found) => report.push(found.row(), console),
            Err(reason) => console.note(format_args!("MaxSim left out: {reason:#}")),
        }
    }
    report.print(console.out)?;
    if let Some(file) = &args.vectors {
        lsh_error::print(file, console.out)?;
    } else {
        console.note(
            "error of the estimated cosines left out: give token vectors with --vectors FILE",
        );
    }
    if let Some(file) = &args.json {
        write_json(file, &report)?;
    }
    Ok(())
}

/// The reference work is composed: other queries are measured when they are asked for.
fn wanted_groups(filter: &Filter) -> impl Iterator<Item = Groups> {
    let is_wanted = |groups: &Groups| match filter.names("groups") {
        true => filter.has("groups", groups.name()),
        false => *groups == Groups::Composed,
    };
    Groups::ALL.into_iter().filter(is_wanted)
}

/// W(3) and W(5). The plain implementation is slow: these are enough to compare it with.
fn is_reference(work: &Work) -> bool {
    let is_one = (work.layers, work.bits, work.of) == (5, 256, Groups::Composed);
    is_one && [3, 5].contains(&work.n)
}

/// One thread for every implementation, then all threads for the best.
fn measure_becr(
    report: &mut EngineReport,
    console: &Console<'_>,
    filter: &Filter,
    meter: &Meter,
    work: &Work,
    threads: usize,
) -> anyhow::Result<()> {
    if !filter.has("system", "becr") {
        return Ok(());
    }
    let mut best = true;
    for implementation in Implementation::available() {
        if !filter.has("implementation", implementation.name()) {
            continue;
        }
        let engine = Engine::with(implementation)?;
        let timing = meter.becr(&engine, work, 1)?;
        let one = row(meter, work, "becr", implementation.name(), 1, timing);
        report.push(one, console);
        if best && threads > 1 {
            let timing = meter.becr(&engine, work, threads)?;
            let all = row(meter, work, "becr", implementation.name(), threads, timing);
            report.push(all, console);
        }
        best = false;
    }
    Ok(())
}

fn row(
    meter: &Meter,
    work: &Work,
    system: &'static str,
    implementation: &str,
    threads: usize,
    timing: EngineTiming,
) -> EngineRow {
    EngineRow {
        system,
        implementation: implementation.to_owned(),
        groups: work.of.name(),
        n: work.n,
        layers: work.layers,
        bits: work.bits,
        threads,
        documents: DOCUMENTS,
        tokens: TOKENS,
        store_bytes: meter.store_bytes(),
        ms: timing.ms,
        floor_ms: Some(timing.floor_ms),
    }
}
