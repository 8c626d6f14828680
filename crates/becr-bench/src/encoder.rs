//! `becr bench encoder`: the forward pass beside onnxruntime and PyTorch.
//!
//! Model: every runtime gets the same f32 weights and the same token ids (sequences of one length, so that nobody
//! computes padding), keeps all hidden states, and runs for some seconds after one pass of warm-up; the fastest pass
//! counts. Each runtime and number of threads is a process of its own, so that thread pools and peak memory are its
//! own; the runtimes take turns. Tokens per CPU second divides by the processor time of all threads.

use super::index::peak_memory;
use crate::Console;
use crate::console::write_json;
use anyhow::{Context, ensure};
use becr_encoder::{Backend, Batch, NativeEncoder};
use becr_model::{Config, Storage, Weights};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const SCRIPT: &str = include_str!("encoder_runtimes.py");

/// Measure the encoder in tokens per CPU second, beside onnxruntime and PyTorch.
///
/// Example, with the other runtimes in a virtual environment:
///
///   python3 -m venv venv && venv/bin/pip install numpy safetensors onnx onnxruntime torch
///
///   becr bench encoder --python venv/bin/python
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// A Python with numpy, safetensors, onnx, onnxruntime and torch; without it only our own encoder is measured.
    #[arg(long, env = "BECR_BENCH_PYTHON")]
    python: Option<PathBuf>,
    /// Shapes of the encoder, with random weights.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "minilm,bert-base"
    )]
    shapes: Vec<ShapeName>,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Sequences of a batch.
    #[arg(long, default_value_t = 8)]
    sequences: usize,
    /// Tokens of a sequence, at most 512.
    #[arg(long, default_value_t = 512)]
    length: usize,
    /// Seconds that each runtime is timed for, at least three passes.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Write the measurements as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Time our own encoder on the model in this directory and print it: what the benchmark calls itself with.
    #[arg(long, hide = true)]
    own: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum ShapeName {
    /// 6 layers, hidden size 384.
    Minilm,
    /// 12 layers, hidden size 768.
    BertBase,
}

impl ShapeName {
    fn config(self) -> Config {
        match self {
            Self::Minilm => Config::new(30_522, 384, 6, 12, 1536, 512),
            Self::BertBase => Config::new(30_522, 768, 12, 12, 3072, 512),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Minilm => "minilm",
            Self::BertBase => "bert-base",
        }
    }
}

/// One runtime's result, from us or from the script.
#[derive(Clone, Serialize, Deserialize)]
struct EncoderMeasurement {
    runtime: String,
    version: String,
    tokens_per_second: f64,
    tokens_per_cpu_second: f64,
    peak_mib: Option<f64>,
    /// The first numbers of the last hidden state, to see that all compute the same.
    probe: Vec<f32>,
}

#[derive(Serialize)]
struct EncoderRow {
    shape: ShapeName,
    threads: usize,
    sequences: usize,
    length: usize,
    #[serde(flatten)]
    measurement: EncoderMeasurement,
    /// Our tokens per CPU second over this runtime's.
    becr_ratio: f64,
}

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    if let Some(directory) = &args.own {
        return console.json(&own(args, directory)?);
    }
    ensure!(
        (1..=512).contains(&args.length),
        "--length must be 1 to 512"
    );
    ensure!(
        args.sequences > 0 && args.threads.iter().all(|&t| t > 0),
        "--sequences and --threads must be positive"
    );
    let mut rows = Vec::new();
    for &shape in &args.shapes {
        let directory = tempfile::tempdir()?;
        let config = shape.config();
        config.write(&directory.path().join("config.json"))?;
        Weights::random(&config, 1, 1.0)
            .write(&directory.path().join("model.safetensors"), Storage::F32)?;
        let script = directory.path().join("encoder_runtimes.py");
        std::fs::write(&script, SCRIPT)?;
        for &threads in &args.threads {
            rows.extend(compare(args, shape, threads, directory.path(), &script)?);
        }
    }
    if let Some(path) = &args.json {
        write_json(path, &serde_json::json!({ "rows": rows }))?;
    }
    print(args, &rows, console.out)
}

/// All runtimes with one shape and number of threads, ours first.
fn compare(
    args: &Args,
    shape: ShapeName,
    threads: usize,
    directory: &Path,
    script: &Path,
) -> anyhow::Result<Vec<EncoderRow>> {
    let mut found = vec![ask(Command::new(std::env::current_exe()?)
        .args(["bench", "encoder", "--own"])
        .arg(directory)
        .args([
            "--threads",
            &threads.to_string(),
            "--sequences",
            &args.sequences.to_string(),
        ])
        .args([
            "--length",
            &args.length.to_string(),
            "--seconds",
            &args.seconds.to_string(),
        ]))?];
    if let Some(python) = &args.python {
        for runtime in ["onnxruntime", "torch"] {
            let numbers = [args.sequences, args.length, threads].map(|n| n.to_string());
            let mut command = Command::new(python);
            command
                .arg(script)
                .arg(directory)
                .args(numbers)
                .arg(args.seconds.to_string())
                .arg(runtime);
            let measurement =
                ask(&mut command).with_context(|| format!("{runtime} in {}", python.display()))?;
            let difference = measurement
                .probe
                .iter()
                .zip(&found[0].probe)
                .map(|(a, b)| (a - b).abs());
            let most = difference.fold(0.0, f32::max);
            ensure!(
                most < 1e-3,
                "{runtime} computes something else: hidden states differ by {most}"
            );
            found.push(measurement);
        }
    }
    let ours = found[0].tokens_per_cpu_second;
    let row = |measurement: EncoderMeasurement| EncoderRow {
        shape,
        threads,
        sequences: args.sequences,
        length: args.length,
        becr_ratio: ours / measurement.tokens_per_cpu_second,
        measurement,
    };
    Ok(found.into_iter().map(row).collect())
}

fn ask(command: &mut Command) -> anyhow::Result<EncoderMeasurement> {
    let child = command
        .output()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let complaint = String::from_utf8_lossy(&child.stderr);
    ensure!(
        child.status.success(),
        "{}",
        complaint
            .trim()
            .lines()
            .last()
            .unwrap_or("failed without a word")
    );
    Ok(serde_json::from_slice(&child.stdout)?)
}

/// Times our encoder in this process.
fn own(args: &Args, directory: &Path) -> anyhow::Result<EncoderMeasurement> {
    let config = Config::read(&directory.join("config.json"))?;
    let weights = Weights::read(&directory.join("model.safetensors"), &config)?;
    let encoder = NativeEncoder::new(&config, weights)?;
    let threads = args.threads.first().copied().unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let id = |i: usize, j: usize| ((i * 977 + j * 31) % config.vocab_size) as u32;
    let batch: Batch = (0..args.sequences)
        .map(|i| (0..args.length).map(move |j| id(i, j)))
        .collect();
    let mut states = pool.install(|| encoder.hidden_states(&batch))?;
    let (mut wall, mut cpu) = (f64::MAX, f64::MAX);
    let start = Instant::now();
    let mut passes = 0;
    while passes < 3 || start.elapsed().as_secs_f64() < args.seconds {
        drop(states); // the other runtimes give their outputs back before the next pass, too
        let (wall_start, cpu_start) = (Instant::now(), cpu_seconds());
        states = pool.install(|| encoder.hidden_states(&batch))?;
        wall = wall.min(wall_start.elapsed().as_secs_f64());
        cpu = cpu.min(cpu_seconds() - cpu_start);
        passes += 1;
    }
    let tokens = batch.tokens() as f64;
    let last = states.layers.last().map(Vec::as_slice).unwrap_or_default();
    Ok(EncoderMeasurement {
        runtime: "becr".into(),
        version: format!("{} {}", env!("CARGO_PKG_VERSION"), encoder.simd()),
        tokens_per_second: tokens / wall,
        tokens_per_cpu_second: tokens / cpu,
        peak_mib: peak_memory().map(|bytes| bytes as f64 / 1_048_576.0),
        probe: last[..last.len().min(8)].to_vec(),
    })
}

/// Processor time of all threads of this process.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn print(args: &Args, rows: &[EncoderRow], out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "{} × {} tokens, f32, all hidden states kept",
        args.sequences, args.length
    )?;
    writeln!(
        out,
        "shape      threads  runtime                      tokens/s  per CPU s  peak MiB  becr is"
    )?;
    for row in rows {
        let m = &row.measurement;
        let peak = m
            .peak_mib
            .map_or_else(|| "?".into(), |mib| format!("{mib:.0}"));
        writeln!(
            out,
            "{:<10} {:>7}  {:<26} {:>10.0} {:>10.0} {:>9} {:>7.2}×",
            row.shape.name(),
            row.threads,
            format!("{} {}", m.runtime, m.version),
            m.tokens_per_second,
            m.tokens_per_cpu_second,
            peak,
            row.becr_ratio,
        )?;
    }
    Ok(())
}
