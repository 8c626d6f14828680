//! `becr-lab bench column`: finding the nearest documents by the column of vectors.
//!
//! The vectors are real ones, of indexes of yours, repeated with noise until there are enough; queries are vectors of theirs with
//! more noise. Compared are the time of reading what the first pass reads, in the same run, and an exhaustive comparison of
//! all four-bit vectors.

use crate::Console;
use crate::console::write_json;
use crate::engine::floor;
use crate::random::Random;
use anyhow::{Context, ensure};
use becr_footprint::signs::packed_dot;
use becr_footprint::{pack, unpack};
use becr_lmdb::Store;
use becr_store::{DocumentStore, Header, NewDocument, Record, Shape, StoreContents, Table, u32s};
use serde::Serialize;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// The column of vectors: the nearest of a million documents, beside the time to read its bytes
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Indexes whose vectors are taken.
    #[arg(required = true)]
    indexes: Vec<PathBuf>,
    /// Documents of the column.
    #[arg(long, default_value_t = 1_000_000)]
    documents: u64,
    /// How many of the nearest are wanted.
    #[arg(long, default_value_t = 100)]
    nearest: usize,
    /// The length of the noise that is added to a vector of length 1.
    #[arg(long, default_value_t = 0.5)]
    noise: f32,
    /// Queries; medians count.
    #[arg(long, default_value_t = 51)]
    queries: usize,
    /// Where to write the store [default: the system's temporary folder].
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Write the measurements as JSON; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Serialize)]
struct ColumnReport {
    documents: u64,
    real_vectors: usize,
    nearest: usize,
    noise: f32,
    column_bytes: u64,
    /// Medians.
    read_ms: f64,
    search_ms: f64,
    exhaustive_ms: f64,
    /// Searching over reading.
    ratio: f64,
    /// Part of the exhaustive comparison's nearest that the search finds: mean and least.
    overlap: f64,
    least_overlap: f64,
}

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    ensure!(
        args.queries > 0 && args.nearest > 0,
        "--queries and --nearest must be at least 1"
    );
    let (shape, real) = real_vectors(&args.indexes)?;
    let dim = 8 * (usize::from(shape.vector) - 1);
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = tempfile::tempdir_in(&dir)
        .with_context(|| format!("cannot make a folder in {}", dir.display()))?;
    let mut random = Random::new(1);
    let store = write(
        args,
        shape,
        &real,
        dim,
        scratch.path(),
        &mut random,
        console,
    )?;
    let snapshot = store.snapshot()?;
    let (mut read, mut search, mut exhaustive, mut overlaps) = (vec![], vec![], vec![], vec![]);
    let mut column_bytes = 0;
    for _ in 0..args.queries {
        let query = unit(&noisy(&real, dim, args.noise, &mut random));
        let begun = Instant::now();
        column_bytes = 0;
        snapshot.each_block(|_, block| {
            std::hint::black_box(floor::read(block));
            column_bytes += block.len() as u64;
            Ok(())
        })?;
        read.push(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let found = snapshot
            .nearest(&query, args.nearest)?
            .context("no column")?;
        search.push(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let exact = exhaust(&snapshot, &query, args.nearest)?;
        exhaustive.push(begun.elapsed().as_secs_f64() * 1e3);
        let found: HashSet<u64> = found.iter().map(|near| near.number).collect();
        let both = exact.iter().filter(|number| found.contains(number)).count();
        overlaps.push(both as f64 / exact.len().max(1) as f64);
    }
    let (read_ms, search_ms) = (median(&mut read), median(&mut search));
    let report = ColumnReport {
        documents: args.documents,
        real_vectors: real.len() / dim,
        nearest: args.nearest,
        noise: args.noise,
        column_bytes,
        read_ms,
        search_ms,
        exhaustive_ms: median(&mut exhaustive),
        ratio: search_ms / read_ms,
        overlap: overlaps.iter().sum::<f64>() / overlaps.len() as f64,
        least_overlap: overlaps.iter().copied().fold(1.0, f64::min),
    };
    if let Some(path) = &args.json {
        write_json(path, &report)?;
    }
    writeln!(
        console.out,
        "{} documents of {} real vectors with noise of length {}, a column of {:.1} MB, one thread\n\
         reading the column      {:8.2} ms\n\
         the {} nearest         {:8.2} ms, {:.2} times that\n\
         exhaustive comparison   {:8.2} ms\n\
         overlap of both         {:8.4}, at least {:.2}",
        report.documents,
        report.real_vectors,
        report.noise,
        report.column_bytes as f64 / 1e6,
        report.read_ms,
        report.nearest,
        report.search_ms,
        report.ratio,
        report.exhaustive_ms,
        report.overlap,
        report.least_overlap,
    )?;
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The shape of the indexes, and their documents' vectors.
fn real_vectors(indexes: &[PathBuf]) -> anyhow::Result<(Shape, Vec<f32>)> {
    let (mut shape, mut real) = (None, Vec::new());
    for path in indexes {
        let index = becr::Index::open(path)?;
        let view = index.view()?;
        let snapshot = view.snapshot()?;
        let found = snapshot.header().shape;
        ensure!(found.is_relative(), "{} has no vectors", path.display());
        ensure!(
            shape.is_none_or(|shape: Shape| shape.vector == found.vector),
            "{} has vectors of another size",
            path.display()
        );
        shape = Some(found);
        let dim = 8 * (usize::from(found.vector) - 1);
        snapshot.scan(Table::Records, &mut |_, record| {
            if let Ok(record) = Record::decode(record) {
                let start = real.len();
                real.resize(start + dim, 0.0);
                unpack(u32s(record.mean()), &mut real[start..]);
            }
            ControlFlow::Continue(())
        })?;
    }
    let shape = shape.context("no index")?;
    ensure!(!real.is_empty(), "the indexes have no documents");
    Ok((shape, real))
}

/// One of the real vectors, with noise.
fn noisy(real: &[f32], dim: usize, noise: f32, random: &mut Random) -> Vec<f32> {
    let place = (random.next() % (real.len() / dim) as u64) as usize;
    // A sum of four even numbers is normal enough; its deviation is √(4/12).
    let scale = noise / (dim as f32).sqrt() / (4.0_f32 / 12.0).sqrt();
    let mut normal = || (0..4).map(|_| random.unit() as f32).sum::<f32>() - 2.0;
    let vector = &real[place * dim..][..dim];
    vector.iter().map(|x| x + scale * normal()).collect()
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector
        .iter()
        .map(|x| x * x)
        .sum::<f32>()
        .sqrt()
        .max(f32::MIN_POSITIVE);
    vector.iter().map(|x| x / length).collect()
}

fn write(
    args: &Args,
    shape: Shape,
    real: &[f32],
    dim: usize,
    dir: &std::path::Path,
    random: &mut Random,
    console: &Console<'_>,
) -> anyhow::Result<Store> {
    const BATCH: u64 = 20_000;
    let bar = (console.bar)(args.documents, "vectors written");
    let store = Store::create(dir, &Header::new("synthetic", shape, 3))?;
    for first in (0..args.documents).step_by(BATCH as usize) {
        let numbers = first..args.documents.min(first + BATCH);
        let mut update = store.update()?;
        for number in numbers.clone() {
            let packed = pack(&noisy(real, dim, args.noise, random));
            let mean: Vec<u8> = packed.iter().flat_map(|word| word.to_le_bytes()).collect();
            update.put(&NewDocument {
                id: &number.to_string(),
                mean: &mean,
                ..Default::default()
            })?;
        }
        update.commit()?;
        bar.set_position(numbers.end);
    }
    bar.finish_and_clear();
    Ok(store)
}

/// The nearest by their four-bit vectors, all of which are compared.
fn exhaust(
    snapshot: &becr_lmdb::Snapshot,
    query: &[f32],
    nearest: usize,
) -> anyhow::Result<Vec<u64>> {
    let (mut all, mut buffer) = (Vec::new(), Vec::new());
    snapshot.scan(Table::Records, &mut |key, record| {
        let number = key.try_into().map(u64::from_be_bytes);
        if let (Ok(number), Ok(record)) = (number, Record::decode(record)) {
            all.push((packed_dot(query, u32s(record.mean()), &mut buffer), number));
        }
        ControlFlow::Continue(())
    })?;
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.truncate(nearest);
    Ok(all.into_iter().map(|(_, number)| number).collect())
}
