//! `becr-lab bench encoder`: the forward pass in f32 and int8, beside onnxruntime and PyTorch.
//!
//! Model: every runtime gets the same weights and the same token ids (sequences of one length, so that nobody computes
//! padding), keeps all hidden states, and runs for some seconds after one pass of warm-up; the fastest pass
//! counts, and for processor time the best tenth of a second.
//! Each measurement is a process of its own, so that thread pools and peak memory are its own; the runtimes take turns.
//! Tokens per CPU second divides by the processor time of all threads. Against int8 stands onnxruntime's dynamic
//! quantisation with a scale per channel. The mixer is timed by itself, on one thread.

mod mixer;
mod own;

use crate::Console;
use crate::console::write_json;
use anyhow::{Context, ensure};
use becr_encoder::Precision;
use becr_model::{Config, Storage, Weights};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = include_str!("runtimes.py");

/// Measure the encoder in tokens per CPU second, in f32 and int8, beside onnxruntime and PyTorch; and the mixer.
///
/// Example, with the other runtimes in a virtual environment:
///
///   python3 -m venv venv && venv/bin/pip install numpy safetensors onnx onnxruntime torch
///
///   becr-lab bench encoder --python venv/bin/python --runtimes onnxruntime,torch
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// A Python with numpy, safetensors, onnx and the runtimes; without it only our own encoder is measured.
    #[arg(long, env = "BECR_BENCH_PYTHON")]
    python: Option<PathBuf>,
    /// What to compare with; PyTorch is measured in f32 only.
    #[arg(long, value_delimiter = ',', default_value = "onnxruntime")]
    runtimes: Vec<String>,
    /// Shapes of the encoder, with random weights.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "gte-small")]
    shapes: Vec<ShapeName>,
    /// A model directory with its weights, in place of the shapes.
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Precisions: f32, int8.
    #[arg(long, value_delimiter = ',', default_value = "f32,int8")]
    precisions: Vec<Precision>,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    threads: Vec<usize>,
    /// Batches: sequences x tokens of each, at most 512.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "8x512,32x128,64x5,1x8",
        value_parser = batch
    )]
    batches: Vec<(usize, usize)>,
    /// Seconds that each runtime is timed for, at least three passes.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Write the measurements as JSON; `-` is standard output, where they stand alone then.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Time our own encoder on the model in this directory and print it: what the benchmark calls itself with.
    #[arg(long, hide = true)]
    own: Option<PathBuf>,
}

/// Reads `8x512`.
fn batch(text: &str) -> Result<(usize, usize), String> {
    let numbers = text
        .split_once('x')
        .map(|(n, length)| (n.parse(), length.parse()));
    match numbers {
        Some((Ok(sequences), Ok(length))) if sequences > 0 && (1..=512).contains(&length) => {
            Ok((sequences, length))
        }
        _ => Err("give sequences x tokens, such as 8x512, of at most 512 tokens".into()),
    }
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum ShapeName {
    /// 6 layers, hidden size 384.
    Minilm,
    /// 12 layers, hidden size 384: the bundled model.
    GteSmall,
    /// 12 layers, hidden size 768.
    BertBase,
}

impl ShapeName {
    fn config(self) -> Config {
        match self {
            Self::Minilm => Config::new(30_522, 384, 6, 12, 1536, 512),
            Self::GteSmall => Config::new(30_522, 384, 12, 12, 1536, 512),
            Self::BertBase => Config::new(30_522, 768, 12, 12, 3072, 512),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Minilm => "minilm",
            Self::GteSmall => "gte-small",
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
    /// Wall time of the fastest pass.
    milliseconds: f64,
    peak_mib: Option<f64>,
    /// The vector of the first token at the last layer, to see that all compute the same.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    probe: Vec<f32>,
}

#[derive(Serialize)]
struct EncoderRow {
    shape: String,
    threads: usize,
    sequences: usize,
    length: usize,
    precision: &'static str,
    #[serde(flatten)]
    measurement: EncoderMeasurement,
    /// Our tokens per CPU second over this runtime's, in the same precision.
    becr_ratio: f64,
    /// This row's tokens per CPU second over those of the same runtime in f32.
    over_f32: Option<f64>,
    /// Cosine of the probe with ours in f32.
    cosine: Option<f64>,
}

/// What is held fixed while runtimes and precisions take turns.
struct Setting<'a> {
    shape: &'a str,
    directory: &'a Path,
    script: &'a Path,
    threads: usize,
    batch: (usize, usize),
}

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    if let Some(directory) = &args.own {
        return console.json(&own::measure(args, directory)?);
    }
    ensure!(
        args.threads.iter().all(|&t| t > 0),
        "--threads must be positive"
    );
    let mut rows = Vec::new();
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("runtimes.py");
    std::fs::write(&script, SCRIPT)?;
    let mut models: Vec<(String, PathBuf)> = Vec::new();
    if let Some(model) = &args.model {
        let name = model.file_name().unwrap_or(model.as_os_str());
        models.push((name.to_string_lossy().into_owned(), model.clone()));
    } else {
        for shape in &args.shapes {
            let directory = folder.path().join(shape.name());
            std::fs::create_dir(&directory)?;
            shape.config().write(&directory.join("config.json"))?;
            Weights::random(&shape.config(), 1, 1.0)
                .write(&directory.join("model.safetensors"), Storage::F32)?;
            models.push((shape.name().into(), directory));
        }
    }
    for (shape, directory) in &models {
        for (&threads, &batch) in args
            .threads
            .iter()
            .flat_map(|t| args.batches.iter().map(move |b| (t, b)))
        {
            let setting = Setting {
                shape,
                directory,
                script: &script,
                threads,
                batch,
            };
            rows.extend(compare(args, &setting)?);
        }
    }
    let mixed = mixer::measure(args)?;
    if let Some(path) = &args.json {
        write_json(path, &serde_json::json!({ "rows": rows, "mixer": mixed }))?;
    }
    print(&rows, console.out)?;
    mixer::print(&mixed, console.out)
}

/// All runtimes and precisions in one setting, ours first in each precision.
fn compare(args: &Args, setting: &Setting<'_>) -> anyhow::Result<Vec<EncoderRow>> {
    let mut rows: Vec<EncoderRow> = Vec::new();
    for &precision in &args.precisions {
        let mut ours = ask(&mut own::command(args, setting, precision)?)?;
        let exact = rows.iter().find(|row| row.precision == "f32");
        let probe = exact.map_or_else(|| ours.probe.clone(), |row| row.measurement.probe.clone());
        let speed = ours.tokens_per_cpu_second;
        let mut found = vec![ours.clone()];
        ours.probe = probe;
        for runtime in args.python.iter().flat_map(|_| &args.runtimes) {
            if precision == Precision::F32 || runtime == "onnxruntime" {
                found.push(other(args, setting, precision, runtime)?);
            }
        }
        for measurement in found {
            let cosine = cosine(&measurement.probe, &ours.probe);
            let least = if precision == Precision::F32 {
                0.9999
            } else {
                0.9
            };
            ensure!(
                cosine > least,
                "{} computes something else in {precision}: the cosine with our hidden state is {cosine:.4}",
                measurement.runtime
            );
            let f32 = rows.iter().find(|row| {
                row.precision == "f32" && row.measurement.runtime == measurement.runtime
            });
            rows.push(EncoderRow {
                shape: setting.shape.into(),
                threads: setting.threads,
                sequences: setting.batch.0,
                length: setting.batch.1,
                precision: precision.name(),
                becr_ratio: speed / measurement.tokens_per_cpu_second,
                over_f32: f32.map(|row| {
                    measurement.tokens_per_cpu_second / row.measurement.tokens_per_cpu_second
                }),
                cosine: (precision == Precision::Int8 && args.precisions.contains(&Precision::F32))
                    .then_some(cosine),
                measurement,
            });
        }
    }
    rows.iter_mut()
        .for_each(|row| row.measurement.probe.clear());
    Ok(rows)
}

/// Another runtime, by the script.
fn other(
    args: &Args,
    setting: &Setting<'_>,
    precision: Precision,
    runtime: &str,
) -> anyhow::Result<EncoderMeasurement> {
    let python = args.python.as_deref().context("no Python")?;
    let numbers = [setting.batch.0, setting.batch.1, setting.threads].map(|n| n.to_string());
    ask(Command::new(python)
        .arg(setting.script)
        .arg(setting.directory)
        .args(numbers)
        .arg(args.seconds.to_string())
        .args([runtime, precision.name()]))
    .with_context(|| format!("{runtime} in {}", python.display()))
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

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b));
        products.sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn print(rows: &[EncoderRow], out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "all hidden states kept; ratios are of tokens per CPU second"
    )?;
    writeln!(
        out,
        "shape      threads    batch  precision  runtime                      per CPU s        ms  peak MiB  becr is  over f32  cosine"
    )?;
    let optional = |x: Option<f64>, digits: usize, unit: &str| {
        x.map_or_else(|| "–".into(), |x| format!("{x:.digits$}{unit}"))
    };
    for row in rows {
        let m = &row.measurement;
        writeln!(
            out,
            "{:<10} {:>7} {:>8}  {:<9}  {:<26} {:>11.0} {:>9.2} {:>9} {:>7.2}× {:>9} {:>7}",
            row.shape,
            row.threads,
            format!("{}×{}", row.sequences, row.length),
            row.precision,
            format!("{} {}", m.runtime, m.version),
            m.tokens_per_cpu_second,
            m.milliseconds,
            optional(m.peak_mib, 0, ""),
            row.becr_ratio,
            optional(row.over_f32, 2, "×"),
            optional(row.cosine, 4, ""),
        )?;
    }
    Ok(())
}
