//! `becr model`: look after model directories.

use crate::{hub, output, progress};
use anyhow::{Context, bail};
use becr_encoder::Document;
use becr_model::{Head, HyperplaneKind, Layers, Model, Storage, WORDS_FILE, WordVectors};
use becr_text::groups::TokenGroup;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Convert(ConvertArgs),
    Prepare(PrepareArgs),
    Words(WordsArgs),
}

/// Make a BECR encoder of a BERT encoder: which layers are kept, in how many bits, seen from which centre.
///
/// The centre is measured on documents of your choice, some thousand of mixed subjects. Hidden states of many
/// encoders crowd around one direction; seen from their centre, footprints tell words apart again.
///
/// Example:
///
///   becr model prepare hf:thenlper/gte-small --out becr-gte --layers 12, --relative \
///       --centre corpus.jsonl.zst --documents 2000 --dtype int8
///
/// A model of the hub is kept in its usual cache, ~/.cache/huggingface/hub; HF_HOME, HF_ENDPOINT, HF_TOKEN and
/// HF_HUB_OFFLINE mean what they mean to Hugging Face's own tools.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PrepareArgs {
    /// Directory of the encoder, or hf:owner/name or hf:owner/name@revision of the Hugging Face hub.
    model: PathBuf,
    /// Directory to write.
    #[arg(long)]
    out: PathBuf,
    /// Hidden states to keep: all, 5, 1 or a list such as 0,3,6 (3, is layer 3 alone).
    #[arg(long)]
    layers: Option<Layers>,
    /// Bits of a token's footprint.
    #[arg(long)]
    bits: Option<usize>,
    /// Keep the mean vector of every document, in four bits a dimension, and take footprints of what its tokens add to
    /// it: their error is over a third smaller. Takes one layer; token groups grow by half a byte for each dimension. "=false"
    /// undoes it.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    relative: Option<bool>,
    /// How hyperplanes are drawn.
    #[arg(long, value_enum)]
    hyperplanes: Option<Planes>,
    /// Seed of their draw.
    #[arg(long, value_name = "N")]
    hyperplane_seed: Option<u64>,
    /// Take the encoder's centre away: vectors are hashed as they are, the paper's way.
    #[arg(long, conflicts_with = "centre")]
    no_centre: bool,
    /// Take the ranking head along though bits, hyperplanes or centre change: its weights were learned with others.
    #[arg(long)]
    keep_head: bool,
    /// Corpora to measure the centre on; without any, the encoder's own centre stays, if it has one.
    #[arg(long, value_name = "CORPUS", num_args = 1..)]
    centre: Vec<PathBuf>,
    /// How many documents of each corpus, from its beginning, to measure the centre on.
    #[arg(long, default_value_t = 2000, value_name = "N")]
    documents: usize,
    /// How to store the weights.
    #[arg(long, value_enum, default_value = "f32")]
    dtype: Dtype,
    /// Print what was written as JSON.
    #[arg(long)]
    json: bool,
}

/// Copy a model with its weights stored in another number format.
///
/// f32 and f16 are read by Hugging Face's loader too; int8 (one scale per row) is a quarter of f32 and is read by
/// BECR only. The ranking head and the mixer go along where no weight changes its value.
#[derive(clap::Args)]
pub(crate) struct ConvertArgs {
    /// Directory of the model, or hf:owner/name or hf:owner/name@revision of the Hugging Face hub.
    model: PathBuf,
    /// Directory to write.
    #[arg(long)]
    out: PathBuf,
    /// How to store the weights.
    #[arg(long, value_enum)]
    dtype: Dtype,
    /// Print what was written as JSON.
    #[arg(long)]
    json: bool,
}

/// Compute the vectors of a model's WordPieces and keep them beside it, so that no index computes them again.
///
/// They lie in words.bin: half a byte for each dimension and WordPiece, those of plain letters and digits first.
#[derive(clap::Args)]
pub(crate) struct WordsArgs {
    /// Directory of the model, whose footprints are relative.
    model: PathBuf,
    /// How many WordPieces at most, in the order of the vocabulary.
    #[arg(long, value_name = "N")]
    most: Option<usize>,
    /// Print what was written as JSON.
    #[arg(long)]
    json: bool,
}

/// How the normal vectors of hyperplanes relate to each other.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Planes {
    /// Orthogonal: cosines come out better at the same number of bits.
    Orthogonal,
    /// Independent, as in the paper.
    Gaussian,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Dtype {
    F32,
    F16,
    Int8,
}

pub(crate) fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Convert(args) => convert(args),
        Command::Prepare(args) => prepare(args),
        Command::Words(args) => words(args),
    }
}

fn convert(args: &ConvertArgs) -> anyhow::Result<ExitCode> {
    output::check_folder(&args.out)?;
    let model = Model::read(hub::directory(&args.model)?)?;
    write(&model, &args.out, args.dtype, false, args.json)
}

fn prepare(args: &PrepareArgs) -> anyhow::Result<ExitCode> {
    output::check_folder(&args.out)?;
    let directory = hub::directory(&args.model)?;
    let mut model = Model::read(&directory)?;
    let mut settings = model.config.settings();
    if let Some(layers) = &args.layers {
        settings.layers = layers.clone();
    }
    if args.bits.is_some() {
        settings.bits = args.bits;
    }
    settings.relative = args.relative.unwrap_or(settings.relative);
    if let Some(planes) = args.hyperplanes {
        settings.hyperplanes.kind = match planes {
            Planes::Orthogonal => HyperplaneKind::Orthogonal,
            Planes::Gaussian => HyperplaneKind::Gaussian,
        };
    }
    settings.hyperplanes.seed = args.hyperplane_seed.unwrap_or(settings.hyperplanes.seed);
    if args.no_centre {
        model.weights.centres = None;
    }
    model.config.becr = Some(settings);
    model.config.check(&directory.join("config.json"))?;
    if !args.centre.is_empty() {
        let documents = sample(&args.centre, args.documents)?;
        if documents.is_empty() {
            bail!("no documents to measure the centre on: see --centre and --documents");
        }
        let bar = progress::counting(documents.len() as u64, "documents");
        let centres = becr_encoder::measure_centres(&model, documents, |_| bar.inc(1))?;
        bar.finish_and_clear();
        model.weights.centres = Some(centres);
    }
    write(&model, &args.out, args.dtype, args.keep_head, args.json)
}

fn words(args: &WordsArgs) -> anyhow::Result<ExitCode> {
    let model = Model::read(&args.model)?;
    let encoder_id = model.encoder_id();
    let encoder = becr_encoder::Encoder::of_model(model)?;
    let shape = encoder.backend().shape();
    if !shape.relative {
        bail!(
            "{}: word vectors are kept for relative footprints only; see becr model prepare --relative",
            args.model.display()
        );
    }
    let mut pieces = encoder.word_pieces().vocabulary();
    let plain = |piece: &str| {
        let bare = piece.strip_prefix("##").unwrap_or(piece);
        !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    pieces.retain(|(_, piece)| plain(piece));
    pieces.truncate(args.most.unwrap_or(usize::MAX));
    let (ids, groups): (Vec<u32>, Vec<TokenGroup>) = pieces
        .into_iter()
        .map(|(id, piece)| (id, TokenGroup::Unigram(piece)))
        .unzip();
    let bar = progress::counting(groups.len() as u64, "WordPieces");
    let encoded = encoder.groups_observed(&groups, |count| {
        bar.inc(count as u64);
        anyhow::Ok(())
    })?;
    bar.finish_and_clear();
    let vectors = encoded.iter().flat_map(|group| &group.packed).copied();
    let width = shape.vector_width();
    let words = WordVectors::new(encoder_id, width, ids, vectors.collect());
    let (path, bytes) = (args.model.join(WORDS_FILE), words.to_bytes());
    std::fs::write(&path, &bytes).with_context(|| format!("cannot write {}", path.display()))?;
    let mut out = output::stdout();
    match args.json {
        true => writeln!(
            out,
            "{}",
            serde_json::json!({ "file": path, "words": words.len(), "bytes": bytes.len() })
        )?,
        false => writeln!(
            out,
            "{}: {} WordPieces, {}",
            path.display(),
            words.len(),
            indicatif::BinaryBytes(bytes.len() as u64)
        )?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The first documents of each corpus.
fn sample(corpora: &[PathBuf], each: usize) -> anyhow::Result<Vec<Document>> {
    let mut sample = Vec::new();
    for path in corpora {
        let corpus = becr_corpus::Corpus::open(&[path], &becr_corpus::CorpusOptions::default())?;
        for document in corpus.take(each) {
            sample.push(document?);
        }
    }
    Ok(sample)
}

fn write(
    model: &Model,
    to: &Path,
    dtype: Dtype,
    keep_head: bool,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let storage = match dtype {
        Dtype::F32 => Storage::F32,
        Dtype::F16 => Storage::F16,
        Dtype::Int8 => Storage::I8,
    };
    model.write(to, storage)?;
    // Read it back: a model that was written is a model that opens.
    let written = Model::read(to)?;
    let encoder_id = written.encoder_id();
    if let Some(mixer) = &model.mixer {
        match mixer.encoder_id == encoder_id {
            true => mixer.write(&to.join(becr_model::MIXER_FILE), Storage::I8)?,
            false => output::note(
                "The mixer was not taken along: it belongs to another encoder; train one for this.",
            ),
        }
    }
    if let Some(head) = &model.head {
        let path = to.join(becr_model::HEAD_FILE);
        match (head.encoder_id == encoder_id, keep_head) {
            (true, _) => head.write(&path)?,
            (false, true) => {
                let encoder_id = encoder_id.clone();
                let head = head.clone();
                Head { encoder_id, ..head }.write(&path)?;
                // A head for other layers does not fit, and says so.
                Model::read(to)?;
            }
            (false, false) => output::note(
                "The head was not taken along: it belongs to another encoder; train one for this, or see --keep-head.",
            ),
        }
    }
    let bytes = std::fs::metadata(to.join("model.safetensors"))?.len();
    if json {
        let id = written.encoder_id();
        let summary = serde_json::json!({ "model": to, "bytes": bytes, "encoder_id": id });
        output::json(&summary)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output::stdout();
    writeln!(
        out,
        "{}: {}, encoder_id {}",
        to.display(),
        indicatif::BinaryBytes(bytes),
        encoder_id
    )?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
