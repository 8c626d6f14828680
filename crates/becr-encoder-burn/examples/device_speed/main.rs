//! Tokens per second from text to packed footprints on a device of burn's, and how far its results are from the
//! native encoder's.
//!
//! What is measured: documents lie in memory as text; the clock runs while they are tokenised on all cores, cut into
//! segments, encoded, and put together again with a footprint per WordPiece and kept layer. The first pass, in which
//! a GPU tunes and compiles, is reported by itself; of the others the fastest counts. A token is a WordPiece: [CLS],
//! [SEP] and padding are computed but not counted.

mod compare;
mod text;

use anyhow::Context;
use becr_encoder::{Backend, Document, EncodeError, Encoder, NativeEncoder};
use becr_encoder_burn::on_cpu;
use becr_model::{Layers, Model};
use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Parser)]
struct Args {
    /// Model directory.
    #[arg(long)]
    model: PathBuf,
    /// Documents: `.jsonl` or `.jsonl.zst` with `title` and `text`, or plain text, one document a line.
    #[arg(long)]
    corpus: PathBuf,
    /// Read at most this many documents.
    #[arg(long, default_value_t = usize::MAX)]
    documents: usize,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "cpu")]
    device: Where,
    /// Hidden states to keep: all, 5 (0, 1, 2, 3 and the last), 1 (the last).
    #[arg(long, default_value = "all")]
    layers: Layers,
    /// Tokens handed to the device together.
    #[arg(long, default_value_t = 262_144)]
    batch: usize,
    /// Measured passes over the corpus.
    #[arg(long, default_value_t = 3)]
    passes: usize,
    /// Compare this many documents with the native encoder.
    #[arg(long, default_value_t = 8)]
    compare: usize,
    /// Where tuning results and compiled kernels are kept.
    #[arg(long)]
    cache: Option<PathBuf>,
    /// Write the figures to this file too.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Where {
    Cpu,
    Cuda,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut model = Model::read(&args.model)?;
    let mut settings = model.config.settings();
    settings.layers = args.layers.clone();
    settings.bits = Some(256);
    settings.relative = false;
    model.config.becr = Some(settings);
    let backend = open(&args, &model)?;
    run(&args, model, backend)
}

fn open(args: &Args, model: &Model) -> anyhow::Result<Box<dyn Backend>> {
    let Model {
        config, weights, ..
    } = model;
    match args.device {
        Where::Cpu => Ok(on_cpu(config, weights)?),
        #[cfg(feature = "cuda")]
        Where::Cuda => {
            use becr_encoder_burn::cuda;
            let cache = args.cache.clone().unwrap_or_else(cuda::default_cache);
            Ok(cuda::on_cuda(
                config,
                weights,
                0,
                cuda::TOKENS_PER_LAUNCH,
                &cache,
            )?)
        }
        #[cfg(not(feature = "cuda"))]
        Where::Cuda => anyhow::bail!("built without GPU support; build with --features cuda"),
    }
}

fn run(args: &Args, model: Model, backend: Box<dyn Backend>) -> anyhow::Result<()> {
    let documents = text::read(&args.corpus, args.documents)?;
    anyhow::ensure!(
        !documents.is_empty(),
        "{}: no documents",
        args.corpus.display()
    );
    let (mut out, mut notes) = (std::io::stdout(), std::io::stderr());
    let encoder = Encoder::new(&model.tokenizer, backend)?.with_batch_tokens(args.batch);
    let first = pass(&encoder, &documents)?;
    writeln!(notes, "first pass: {:.2} s", first.seconds)?;
    let mut passes = Vec::new();
    for _ in 0..args.passes {
        let pass = pass(&encoder, &documents)?;
        writeln!(notes, "pass: {:.2} s", pass.seconds)?;
        passes.push(pass);
    }
    let fastest = passes.iter().map(|p| p.seconds).fold(f64::MAX, f64::min);
    let start = Instant::now();
    let batches = text::batches(&encoder, &documents, args.batch);
    let tokenising = start.elapsed().as_secs_f64();
    let start = Instant::now();
    for (batch, wanted) in &batches {
        encoder.backend().encode(batch, wanted)?;
    }
    let encoding = start.elapsed().as_secs_f64();
    let mut figures = json!({
        "device": format!("{:?}", args.device).to_lowercase(),
        "layers": encoder.backend().shape().layers,
        "batch": args.batch,
        "documents": documents.len(),
        "tokens": first.tokens,
        "first_pass_seconds": first.seconds,
        "pass_seconds": passes.iter().map(|p| p.seconds).collect::<Vec<_>>(),
        "tokens_per_second": first.tokens as f64 / fastest,
        "tokenising_alone_tokens_per_second": first.tokens as f64 / tokenising,
        "encoding_alone_tokens_per_second": first.tokens as f64 / encoding,
        "same_bits_in_every_pass": passes.iter().all(|p| p.digest == first.digest),
    });
    // Written before the comparison, so that a run that is cut short keeps its speed.
    save(args, &figures)?;
    writeln!(out, "{}", serde_json::to_string_pretty(&figures)?)?;
    if args.compare > 0 {
        let native = NativeEncoder::new(&model.config, model.weights)?;
        let few = &documents[..args.compare.min(documents.len())];
        let (batch, wanted) = &text::batches(&encoder, few, usize::MAX)[0];
        let found = compare::compare(encoder.backend(), &native, batch, wanted)?;
        writeln!(out, "{}", serde_json::to_string_pretty(&found)?)?;
        figures["compared"] = found;
        save(args, &figures)?;
    }
    Ok(())
}

fn save(args: &Args, figures: &Value) -> anyhow::Result<()> {
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(figures)?;
        std::fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// What a pass over the corpus gave.
struct Pass {
    seconds: f64,
    tokens: usize,
    /// Of all footprints, so that the work cannot be left out and passes can be compared.
    digest: u64,
}

fn pass(encoder: &Encoder, documents: &[Document]) -> Result<Pass, EncodeError> {
    let start = Instant::now();
    let (mut tokens, mut digest) = (0, 0u64);
    let finish = |_, encoded| Ok(encoded);
    encoder.documents(documents.iter().cloned(), finish, |document| {
        tokens += document.pieces.len();
        for &word in &document.footprints {
            digest = digest.rotate_left(5) ^ u64::from(word);
        }
        Ok::<_, EncodeError>(())
    })?;
    Ok(Pass {
        seconds: start.elapsed().as_secs_f64(),
        tokens,
        digest,
    })
}
