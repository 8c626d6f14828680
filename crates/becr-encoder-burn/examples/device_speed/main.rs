//! Tokens per second from text to packed footprints on a device of burn's, and how far its results are from the
//! native encoder's.
//!
//! What is measured: documents lie in memory as text; the clock runs while they are tokenised on all cores, cut
//! into segments, encoded, and their footprints (one per WordPiece and kept layer) and two vectors per segment are
//! back in host memory in document order. The first pass, in which a GPU tunes and compiles, is reported by itself.
//! A token is a WordPiece; [CLS], [SEP] and padding are computed but not counted.

mod compare;
mod text;

use anyhow::Context;
use becr_encoder::{Backend, Batch, EncodeError, NativeEncoder, Wanted};
use becr_encoder_burn::{BurnEncoder, Options, Precision, Shapes, encode_stream};
use becr_model::{Layers, Model};
use burn::tensor::backend::Backend as Device;
use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::time::Instant;
use text::{Documents, Segments};

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
    /// Keep all hidden states, or five: 0, 1, 2, 3 and the last.
    #[arg(long, value_enum, default_value = "all")]
    layers: Kept,
    /// Numbers of the matrix products.
    #[arg(long, value_enum, default_value = "single")]
    precision: Numbers,
    /// Tokens that go through the model together.
    #[arg(long, default_value_t = 32_768)]
    launch: usize,
    /// Tokens handed over together; several launches.
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kept {
    All,
    Five,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Numbers {
    Single,
    Half,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut model = Model::read(&args.model)?;
    let mut settings = model.config.settings();
    settings.layers = match args.layers {
        Kept::All => Layers::All,
        Kept::Five => Layers::Five,
    };
    settings.bits = Some(256);
    model.config.becr = Some(settings);
    let documents = Documents::read(&args.corpus, args.documents)?;
    let options = Options {
        shapes: match args.device {
            Where::Cpu => Shapes::exact(args.launch),
            Where::Cuda => Shapes::fixed(args.launch),
        },
        precision: match args.precision {
            Numbers::Single => Precision::Single,
            Numbers::Half => Precision::Half,
        },
    };
    match args.device {
        Where::Cpu => {
            let encoder = BurnEncoder::<becr_encoder_burn::Cpu>::new(
                &model.config,
                &model.weights,
                Default::default(),
                options,
            )?;
            run(&args, model, &documents, &encoder)
        }
        #[cfg(feature = "cuda")]
        Where::Cuda => {
            let cache = args.cache.clone();
            let cache = cache.unwrap_or_else(becr_encoder_burn::cuda::default_cache);
            let encoder = BurnEncoder::on_cuda(&model.config, &model.weights, 0, &cache, options)?;
            run(&args, model, &documents, &encoder)
        }
        #[cfg(not(feature = "cuda"))]
        Where::Cuda => anyhow::bail!("built without GPU support; build with --features cuda"),
    }
}

fn run<B: Device>(
    args: &Args,
    model: Model,
    documents: &Documents,
    encoder: &BurnEncoder<B>,
) -> anyhow::Result<()> {
    let segments = Segments::new(&model)?;
    let (mut out, mut notes) = (std::io::stdout(), std::io::stderr());
    let first = from_text(args, documents, &segments, encoder)?;
    writeln!(notes, "first pass: {:.2} s", first.seconds)?;
    let mut passes = Vec::new();
    for _ in 0..args.passes {
        let pass = from_text(args, documents, &segments, encoder)?;
        writeln!(notes, "pass: {:.2} s", pass.seconds)?;
        passes.push(pass);
    }
    let fastest = passes.iter().map(|p| p.seconds).fold(f64::MAX, f64::min);
    let start = Instant::now();
    let batches: Vec<_> = segments.batches(&documents.texts, args.batch).collect();
    let tokenising = start.elapsed().as_secs_f64();
    let encoding = pass(batches, encoder)?.seconds;
    let mut figures = json!({
        "device": format!("{:?}", args.device).to_lowercase(),
        "layers": format!("{:?}", args.layers).to_lowercase(),
        "precision": format!("{:?}", args.precision).to_lowercase(),
        "launch": args.launch,
        "batch": args.batch,
        "documents": documents.texts.len(),
        "tokens": first.tokens,
        "first_pass_seconds": first.seconds,
        "pass_seconds": passes.iter().map(|p| p.seconds).collect::<Vec<_>>(),
        "tokens_per_second": first.tokens as f64 / fastest,
        "tokenising_alone_tokens_per_second": first.tokens as f64 / tokenising,
        "encoding_alone_tokens_per_second": first.tokens as f64 / encoding,
        "same_bits_in_every_pass": passes.iter().all(|p| p.digest == first.digest),
    });
    // Written before the comparison, which is the slow part: a run that is cut short keeps its speed.
    save(args, &figures)?;
    writeln!(out, "{}", serde_json::to_string_pretty(&figures)?)?;
    if args.compare > 0 {
        let native = NativeEncoder::new(&model.config, model.weights)?;
        let (batch, wanted) = segments.batch(&documents.texts[..args.compare.min(documents.texts.len())]);
        let found = compare::compare(encoder, &native, &batch, &wanted)?;
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

/// From text, tokenised while the device computes.
fn from_text<B: Device>(
    args: &Args,
    documents: &Documents,
    segments: &Segments,
    encoder: &BurnEncoder<B>,
) -> anyhow::Result<Pass> {
    std::thread::scope(|scope| {
        let (sender, batches) = sync_channel(3);
        scope.spawn(move || {
            for batch in segments.batches(&documents.texts, args.batch) {
                // The receiver is gone when encoding failed, which is reported there.
                if sender.send(batch).is_err() {
                    return;
                }
            }
        });
        pass(batches, encoder)
    })
}

fn pass<B: Device>(
    batches: impl IntoIterator<Item = (Batch, Wanted)>,
    encoder: &BurnEncoder<B>,
) -> anyhow::Result<Pass> {
    let start = Instant::now();
    let shape = encoder.shape();
    let (mut tokens, mut digest) = (0, 0u64);
    let batches = batches.into_iter();
    let batches = batches.map(|(batch, wanted)| ((), batch, wanted));
    encode_stream(encoder, batches, |(), encoded| {
        tokens += encoded.footprints.len() / (shape.layers.len() * shape.words());
        for &word in &encoded.footprints {
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
