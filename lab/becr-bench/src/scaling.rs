//! `becr-lab bench scaling`: documents on all cores of one process beside processes of one thread.
//!
//! What `threads` one-thread processes do side by side is what the machine can do; a process with as many threads should
//! come near it. System time is given beside user time, since waiting for each other shows there.
//!
//! With a corpus, indexes are built of it with the bundled model, as `becr index` does: by one process, and by many that
//! have a part of the documents each. Without, documents of 5 to 500 words are only encoded, by a model of gte-small's
//! shape with random weights and relative footprints.

use crate::Console;
use crate::console::write_json;
use crate::random::Random;
use anyhow::{Context, ensure};
use becr_encoder::{Document, EncodeError, Encoder, Precision};
use becr_model::{Config, Layers, Storage, Weights};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Words of the vocabulary that documents are made of.
const WORDS: usize = 2000;

/// Measure how indexing scales with threads, beside processes of one thread
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build indexes of this corpus with the bundled model, instead of encoding random documents.
    corpus: Option<PathBuf>,
    /// Numbers of threads [default: all cores]
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// Precisions: f32, int8.
    #[arg(long, value_delimiter = ',', default_value = "f32,int8")]
    precisions: Vec<Precision>,
    /// Documents that each process of one thread encodes; one of several threads encodes as many for each of them. Not with
    /// a corpus, which is shared out.
    #[arg(long, default_value_t = 200, conflicts_with = "corpus")]
    documents: usize,
    /// Write the measurements as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Encode with the model in this directory, or build in it, and print how long it took: what the benchmark calls itself
    /// with.
    #[arg(long, hide = true)]
    own: Option<PathBuf>,
    /// Build an index of a part of the corpus: every so many documents, from one on.
    #[arg(long, hide = true, num_args = 2, value_names = ["FIRST", "STEP"], default_values_t = [0, 1])]
    part: Vec<usize>,
}

/// What a process encoded, and what it took.
#[derive(Serialize, Deserialize)]
struct EncodedPart {
    tokens: u64,
    seconds: f64,
    user_seconds: f64,
    system_seconds: f64,
}

#[derive(Serialize)]
struct ScalingRow {
    precision: &'static str,
    threads: usize,
    /// Of one process.
    tokens_per_second: f64,
    /// Of processes of one thread, side by side.
    processes_tokens_per_second: f64,
    /// The first over the second.
    ratio: f64,
    /// System time over user time, of the one process.
    system_share: f64,
}

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    if let Some(directory) = &args.own {
        return console.json(&match &args.corpus {
            Some(corpus) => build(args, corpus, directory)?,
            None => encode(args, directory)?,
        });
    }
    let mut threads = args.threads.clone();
    if threads.is_empty() {
        threads.push(rayon::current_num_threads());
    }
    ensure!(threads.iter().all(|&t| t > 0), "--threads must be positive");
    let folder = tempfile::tempdir()?;
    if args.corpus.is_none() {
        write_model(folder.path())?;
    }
    let mut rows = Vec::new();
    for &precision in &args.precisions {
        for &threads in &threads {
            rows.push(compare(args, folder.path(), precision, threads)?);
        }
    }
    if let Some(path) = &args.json {
        write_json(path, &serde_json::json!({ "rows": rows }))?;
    }
    writeln!(
        console.out,
        "precision  threads  tokens/s  processes  ratio  system / user"
    )?;
    for row in &rows {
        writeln!(
            console.out,
            "{:<9}  {:>7}  {:>8.0}  {:>9.0}  {:>4.2}×  {:>12.1}%",
            row.precision,
            row.threads,
            row.tokens_per_second,
            row.processes_tokens_per_second,
            row.ratio,
            100.0 * row.system_share
        )?;
    }
    Ok(())
}

fn write_model(directory: &Path) -> anyhow::Result<()> {
    let mut config = Config::new(WORDS + 4, 384, 12, 12, 1536, 512);
    let mut settings = config.settings();
    settings.layers = Layers::Last;
    settings.relative = true;
    config.becr = Some(settings);
    config.write(&directory.join("config.json"))?;
    let words = (0..WORDS).map(|n| format!("w{n}\n"));
    let vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n".to_owned() + &words.collect::<String>();
    std::fs::write(directory.join("vocab.txt"), vocabulary)?;
    Weights::random(&config, 1, 1.0).write(&directory.join("model.safetensors"), Storage::F32)?;
    Ok(())
}

/// One process of many threads, then many of one.
fn compare(
    args: &Args,
    folder: &Path,
    precision: Precision,
    threads: usize,
) -> anyhow::Result<ScalingRow> {
    let start = |threads, part| start(args, folder, precision, threads, part);
    let one = finish(start(threads, [0, 1])?)?;
    let children: Vec<Child> = (0..threads)
        .map(|part| start(1, [part, threads]))
        .collect::<Result<_, _>>()?;
    let parts: Vec<EncodedPart> = children.into_iter().map(finish).collect::<Result<_, _>>()?;
    let tokens_per_second = one.tokens as f64 / one.seconds;
    let side_by_side = parts
        .iter()
        .map(|part| part.tokens as f64 / part.seconds)
        .sum();
    Ok(ScalingRow {
        precision: precision.name(),
        threads,
        tokens_per_second,
        processes_tokens_per_second: side_by_side,
        ratio: tokens_per_second / side_by_side,
        system_share: one.system_seconds / one.user_seconds,
    })
}

fn start(
    args: &Args,
    folder: &Path,
    precision: Precision,
    threads: usize,
    [first, step]: [usize; 2],
) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["bench", "scaling", "--own"])
        .arg(folder)
        .args(["--precisions", precision.name()]);
    match &args.corpus {
        Some(corpus) => command
            .args(["--part", &first.to_string(), &step.to_string()])
            .arg("--")
            .arg(corpus),
        None => command.args(["--documents", &(args.documents * threads).to_string()]),
    };
    command
        .env("RAYON_NUM_THREADS", threads.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start this program again")
}

fn finish(child: Child) -> anyhow::Result<EncodedPart> {
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "a process of the benchmark failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Encodes in this process; the first documents warm it up.
fn encode(args: &Args, model: &Path) -> anyhow::Result<EncodedPart> {
    let precision = args.precisions.first().copied().unwrap_or_default();
    let encoder = Encoder::with_precision(becr_model::Model::read(model)?, precision)?;
    let mut random = Random::new(7);
    let mut documents: Vec<Document> = (0..args.documents)
        .map(|_| {
            let words = 5 + (495.0 * random.unit()) as usize;
            let text = (0..words).map(|_| format!("w{} ", random.next() % WORDS as u64));
            Document::new("", "", text.collect::<String>())
        })
        .collect();
    let warm_up = documents.split_off(documents.len() - documents.len() / 10);
    pass(&encoder, warm_up)?;
    measured(|| Ok(pass(&encoder, documents)?))
}

/// Builds an index of a part of a corpus in this process.
fn build(args: &Args, corpus: &Path, folder: &Path) -> anyhow::Result<EncodedPart> {
    let model = becr::models::bundled()?;
    let precision = args.precisions.first().copied().unwrap_or_default();
    let encoder = Encoder::with_precision(model.clone(), precision)?;
    let build = becr::Build::new()
        .rules(becr::models::rules(&model))
        .model(model)
        .encoder(std::sync::Arc::new(encoder));
    let target = tempfile::tempdir_in(folder)?;
    let documents = becr_corpus::Corpus::open(&[corpus], &becr_corpus::CorpusOptions::default())?;
    let (first, step) = (args.part[0], args.part[1].max(1));
    let documents = documents.skip(first).step_by(step);
    measured(|| {
        let (_, built) = build.run(target.path().join("index"), documents, &())?;
        Ok(built.tokens)
    })
}

/// Counts the time of `work`, which returns how many tokens it went through.
fn measured(work: impl FnOnce() -> anyhow::Result<u64>) -> anyhow::Result<EncodedPart> {
    let (user, system) = processor_seconds()?;
    let begun = Instant::now();
    let tokens = work()?;
    let seconds = begun.elapsed().as_secs_f64();
    let (user_after, system_after) = processor_seconds()?;
    Ok(EncodedPart {
        tokens,
        seconds,
        user_seconds: user_after - user,
        system_seconds: system_after - system,
    })
}

fn pass(encoder: &Encoder, documents: Vec<Document>) -> Result<u64, EncodeError> {
    let mut tokens = 0;
    let finish = |_, encoded: becr_encoder::EncodedDocument| Ok(encoded.pieces.len());
    encoder.documents(documents, finish, |count: usize| {
        tokens += count as u64;
        Ok::<(), EncodeError>(())
    })?;
    Ok(tokens)
}

/// User and system time of this process so far, in seconds (Linux counts in hundredths).
fn processor_seconds() -> anyhow::Result<(f64, f64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("processor times need Linux")?;
    // The program's name, in brackets, may hold blanks; user and system time are the 12th and 13th field behind it.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let mut fields = fields.split_whitespace().skip(11).map(str::parse::<f64>);
    match (fields.next(), fields.next()) {
        (Some(Ok(user)), Some(Ok(system))) => Ok((user / 100.0, system / 100.0)),
        _ => anyhow::bail!("/proc/self/stat: no processor times"),
    }
}
