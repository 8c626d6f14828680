//! `becr-lab bench index`: lexical indexing beside a bare tantivy program.
//!
//! Model: both sides read the same JSON-lines file (plain or zstd) and index it with the same words, stems,
//! fields, threads and memory into an empty folder, up to the final commit with merges done. The bare side
//! is what a user of tantivy would write in an afternoon: no id column, no checks for duplicates, no exact
//! statistics, no staging. Each run is a process of its own, so that its peak memory can be read; the two
//! take turns, and the best of each counts.

use crate::Console;
use crate::console::write_json;
use anyhow::{Context, ensure};
use becr_index::IndexBuilder;
use becr_index::first_stage::StemTokenizer;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tantivy::schema::{IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, TantivyDocument};

/// Index a corpus lexically, next to a bare tantivy program that uses the same words.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A JSON-lines corpus with id, title and text, plain or zstd.
    corpus: PathBuf,
    /// Runs of each side; the best counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Where to build; the folder must have room for one index [default: the system's temporary folder].
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Write the measurements as JSON; `-` is standard output, where they stand alone then.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Run one side only and print its measurement: what the benchmark calls itself with.
    #[arg(long, hide = true, value_enum)]
    side: Option<Side>,
}

#[derive(Clone, Copy, Serialize, Deserialize, PartialEq, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Side {
    Becr,
    Tantivy,
}

/// One run of one side.
#[derive(Clone, Serialize, Deserialize)]
struct IndexMeasurement {
    side: Side,
    documents: u64,
    seconds: f64,
    documents_per_second: f64,
    peak_bytes: Option<u64>,
}

#[derive(Serialize)]
struct IndexReport {
    becr: IndexMeasurement,
    tantivy: IndexMeasurement,
    /// Documents per second of becr over those of tantivy.
    ratio: f64,
}

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    match args.side {
        Some(side) => console.json(&measure(side, &args.corpus, &dir)?),
        None => compare(args, &dir, console),
    }
}

fn compare(args: &Args, dir: &Path, console: &mut Console<'_>) -> anyhow::Result<()> {
    ensure!(args.runs > 0, "--runs must be at least 1");
    let mut runs = Vec::new();
    for _ in 0..args.runs {
        for side in [Side::Tantivy, Side::Becr] {
            runs.push(in_own_process(side, &args.corpus, dir)?);
        }
    }
    let (becr, tantivy) = (best(&runs, Side::Becr)?, best(&runs, Side::Tantivy)?);
    let ratio = becr.documents_per_second / tantivy.documents_per_second;
    let report = IndexReport {
        becr,
        tantivy,
        ratio,
    };
    if let Some(path) = &args.json {
        write_json(path, &report)?;
    }
    print(&report, args.runs, console.out)
}

fn print(report: &IndexReport, runs: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "best of {runs} runs, each in a process of its own")?;
    for (name, m) in [("becr", &report.becr), ("tantivy", &report.tantivy)] {
        let memory = match m.peak_bytes {
            Some(bytes) => format!("peak memory {}", indicatif::BinaryBytes(bytes)),
            None => "peak memory unknown on this system".into(),
        };
        writeln!(
            out,
            "{name:<8} {:>8.0} documents/s  {:>6.2} s for {} documents  {memory}",
            m.documents_per_second, m.seconds, m.documents
        )?;
    }
    writeln!(out, "becr / tantivy = {:.2}", report.ratio)?;
    Ok(())
}

fn best(runs: &[IndexMeasurement], side: Side) -> anyhow::Result<IndexMeasurement> {
    let of_side = runs.iter().filter(|run| run.side == side);
    let fastest = of_side.max_by(|a, b| a.documents_per_second.total_cmp(&b.documents_per_second));
    fastest.cloned().context("no run was made")
}

fn in_own_process(side: Side, corpus: &Path, dir: &Path) -> anyhow::Result<IndexMeasurement> {
    let name = if side == Side::Becr {
        "becr"
    } else {
        "tantivy"
    };
    let child = Command::new(std::env::current_exe()?)
        .args(["bench", "index", "--side", name, "--dir"])
        .arg(dir)
        .arg(corpus)
        .output()?;
    let said = String::from_utf8_lossy(&child.stderr);
    ensure!(
        child.status.success(),
        "{}",
        said.trim().trim_start_matches("error: ")
    );
    Ok(serde_json::from_slice(&child.stdout)?)
}

fn measure(side: Side, corpus: &Path, dir: &Path) -> anyhow::Result<IndexMeasurement> {
    let scratch = tempfile::tempdir_in(dir)
        .with_context(|| format!("cannot make a folder in {}", dir.display()))?;
    let started = Instant::now();
    let documents = match side {
        Side::Becr => with_becr(corpus, scratch.path())?,
        Side::Tantivy => with_tantivy(corpus, scratch.path())?,
    };
    let seconds = started.elapsed().as_secs_f64();
    let documents_per_second = documents as f64 / seconds;
    Ok(IndexMeasurement {
        side,
        documents,
        seconds,
        documents_per_second,
        peak_bytes: peak_memory(),
    })
}

fn with_becr(corpus: &Path, dir: &Path) -> anyhow::Result<u64> {
    let mut builder = IndexBuilder::create(&dir.join("index"), false)?;
    let corpus = becr_corpus::Corpus::open(&[corpus], &becr_corpus::CorpusOptions::default())?;
    builder.add(corpus, &())?;
    Ok(builder.finish()?.documents)
}

#[derive(Deserialize)]
struct Line {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

fn with_tantivy(corpus: &Path, dir: &Path) -> anyhow::Result<u64> {
    let stems = TextFieldIndexing::default()
        .set_tokenizer("stems")
        .set_index_option(IndexRecordOption::WithFreqs);
    let text = TextOptions::default().set_indexing_options(stems);
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STRING | STORED);
    let title = schema.add_text_field("title", text.clone() | STORED);
    let body = schema.add_text_field("body", text);
    let index = Index::create_in_dir(dir, schema.build())?;
    index
        .tokenizers()
        .register("stems", StemTokenizer::default());
    let threads = becr_index::first_stage::threads();
    let budget = threads * becr_index::first_stage::BYTES_PER_THREAD;
    let mut writer = index.writer_with_num_threads::<TantivyDocument>(threads, budget)?;
    let mut documents = 0;
    for line in BufReader::new(open(corpus)?).lines() {
        let line: Line = serde_json::from_str(&line?)?;
        let mut document = TantivyDocument::default();
        document.add_text(id, line.id);
        document.add_text(title, line.title);
        document.add_text(body, line.text);
        writer.add_document(document)?;
        documents += 1;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(documents)
}

fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let is_zstd = path.extension().is_some_and(|extension| extension == "zst");
    Ok(if is_zstd {
        Box::new(zstd::Decoder::new(file)?)
    } else {
        Box::new(file)
    })
}

/// The most memory this process has held, where the system tells (Linux).
pub(super) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes * 1024)
}
