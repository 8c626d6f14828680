//! `becr encode`: what the encoder makes of a text, to look at.

mod write;

use crate::{backend, models, output};
use anyhow::{Context, bail, ensure};
use becr_corpus::{Corpus, CorpusOptions};
use becr_encoder::{Batch, Document, EncodedDocument, Encoder, Tokenised};
use becr_model::Layers;
use becr_text::pieces::Pieces;
use serde::Serialize;
use serde_json::json;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Hidden states of more than this are refused: a look at a text does not need them.
const MOST_BYTES: usize = 2 << 30;

/// Tokens encoded at once.
const BATCH_TOKENS: usize = 8192;

/// Encode texts into vectors or footprints of every layer.
///
/// Writes a safetensors file with a tensor `hidden` (layers × tokens × dim), special tokens included, or with
/// `footprints` (layers × tokens × words), `cls` and `mean`; with several texts the names end in .0, .1 and so on.
/// Footprints are those of whole tokens, also where the model's are relative to the document. Tokens and words are in
/// the header. A file that ends in .json gets the same as JSON. A text longer than the model
/// takes is cut into even segments, each with its own special tokens.
///
/// Examples:
///
///   becr encode --model minilm --text "neural ranking" --out look.safetensors
///
///   becr encode --model minilm --text one --text two --footprints --layers 5 --out look.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Directory of the model, or hf:owner/name or hf:owner/name@revision of the Hugging
    /// Face hub [default: the bundled model].
    #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
    model: Option<PathBuf>,
    /// A text; may be given several times. They are encoded as one batch.
    #[arg(long, required_unless_present = "file", allow_hyphen_values = true)]
    text: Vec<String>,
    /// A file: .jsonl gives one text per document, anything else is one text; `-` is standard input.
    #[arg(long)]
    file: Option<PathBuf>,
    /// File to write: .safetensors or .json; `-` is JSON on standard output.
    #[arg(long)]
    out: PathBuf,
    /// Hidden states to keep: all, 5 (0, 1, 2, 3 and the last), 1 (the last), or a list such as 0,3,6.
    #[arg(long, default_value = "all")]
    layers: Layers,
    /// Write JSON, whatever the name ends in.
    #[arg(long)]
    json: bool,
    /// Write footprints instead of vectors.
    #[arg(long)]
    footprints: bool,
    #[command(flatten)]
    backend: backend::Args,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let json = match args
        .out
        .extension()
        .and_then(|extension| extension.to_str())
    {
        Some("json") => true,
        _ if args.json || output::is_standard(&args.out) => true,
        Some("safetensors") => false,
        _ => bail!(
            "{}: the name must end in .safetensors or .json, or be - for JSON on standard output",
            args.out.display()
        ),
    };
    output::check_file(&args.out)?;
    let documents = documents(args)?;
    let mut model = models::model(args.model.as_deref())?;
    let mut settings = model.config.settings();
    settings.layers = args.layers.clone();
    // A look at tokens: whole ones, at any layers, also where the model's footprints are relative.
    settings.relative = false;
    model.config.becr = Some(settings);
    model
        .config
        .check(&model.directory.join("config.json"))
        .context("--layers does not fit the model")?;
    let header = json!({
        "encoder_id": model.encoder_id(),
        "layers": model.config.kept_layers().map_err(anyhow::Error::msg)?,
    });
    let encoder = args.backend.open(model)?;
    let results = if args.footprints {
        footprints(&encoder, documents)?
    } else {
        hidden(&encoder, &documents)?
    };
    let shape = encoder.backend().shape();
    if json {
        write::json(&args.out, header, shape, &results)
    } else {
        write::safetensors(&args.out, &header, shape, &results)
    }?;
    Ok(ExitCode::SUCCESS)
}

fn documents(args: &Args) -> anyhow::Result<Vec<Document>> {
    let mut documents: Vec<_> = args
        .text
        .iter()
        .map(|text| Document::new("", "", text))
        .collect();
    if let Some(path) = &args.file {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy())
            .unwrap_or_default();
        if name.contains(".jsonl") {
            for document in Corpus::open(&[path], &CorpusOptions::default())? {
                documents.push(document?);
            }
        } else {
            let mut bytes = Vec::new();
            match output::is_standard(path) {
                true => std::io::stdin().read_to_end(&mut bytes).map(drop),
                false => std::fs::read(path).map(|read| bytes = read),
            }
            .with_context(|| format!("cannot read {}", path.display()))?;
            let text = String::from_utf8(bytes).map_err(|error| not_utf8(path, &error))?;
            documents.push(Document::new("", "", text));
        }
    }
    Ok(documents)
}

/// Says where a file is not UTF-8: to take it for something else would encode other words than it has.
fn not_utf8(path: &Path, error: &std::string::FromUtf8Error) -> anyhow::Error {
    let (bytes, at) = (error.as_bytes(), error.utf8_error().valid_up_to());
    let line = bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
    anyhow::anyhow!(
        "{}:{line}: not UTF-8: byte {:#04x}; convert the file with iconv",
        path.display(),
        bytes[at]
    )
}

/// What came out for one text.
struct EncodedText {
    tokens: Vec<Token>,
    values: Values,
}

enum Values {
    /// Per layer, `tokens × dim`, end to end.
    Hidden(Vec<f32>),
    Footprints(EncodedDocument),
}

/// A row of the result.
#[derive(Serialize)]
struct Token {
    token: String,
    /// Position of its word within its field; none for punctuation, `[CLS]` and `[SEP]`.
    word: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    title: bool,
}

fn footprints(encoder: &Encoder, documents: Vec<Document>) -> anyhow::Result<Vec<EncodedText>> {
    let mut results = Vec::with_capacity(documents.len());
    encoder.documents(
        documents,
        |_, encoded| Ok(encoded),
        |document| {
            let tokens = pieces(encoder, &document.pieces, document.title_pieces).collect();
            results.push(EncodedText {
                tokens,
                values: Values::Footprints(document),
            });
            anyhow::Ok(())
        },
    )?;
    Ok(results)
}

fn hidden(encoder: &Encoder, documents: &[Document]) -> anyhow::Result<Vec<EncodedText>> {
    let shape = encoder.backend().shape();
    let tokenised: Vec<Tokenised> = documents
        .iter()
        .map(|document| encoder.tokenise(document))
        .collect();
    let sequences: Vec<Vec<u32>> = tokenised
        .iter()
        .flat_map(|text| encoder.sequences(text))
        .collect();
    let tokens: usize = sequences.iter().map(Vec::len).sum();
    let bytes = tokens * shape.dim * shape.layers.len() * 4;
    ensure!(
        bytes <= MOST_BYTES,
        "the hidden states of {tokens} tokens take {} MiB; keep fewer --layers, or use --footprints",
        bytes >> 20
    );
    let layers = in_batches(encoder, &sequences)?;
    let mut first = 0;
    let results = tokenised.iter().map(|text| {
        let tokens = rows(encoder, text);
        let range = first * shape.dim..(first + tokens.len()) * shape.dim;
        first += tokens.len();
        let states = layers
            .iter()
            .flat_map(|layer| &layer[range.clone()])
            .copied()
            .collect();
        EncodedText {
            tokens,
            values: Values::Hidden(states),
        }
    });
    Ok(results.collect())
}

/// The hidden states of all sequences, layer by layer, computed a batch at a time.
fn in_batches(encoder: &Encoder, sequences: &[Vec<u32>]) -> anyhow::Result<Vec<Vec<f32>>> {
    let mut layers = vec![Vec::new(); encoder.backend().shape().layers.len()];
    let mut rest = sequences;
    while !rest.is_empty() {
        let mut batch = Batch::new();
        while let Some((sequence, others)) = rest.split_first()
            && (batch.is_empty() || batch.tokens() + sequence.len() <= BATCH_TOKENS)
        {
            batch.push(sequence.iter().copied());
            rest = others;
        }
        let states = encoder.backend().hidden_states(&batch)?;
        layers
            .iter_mut()
            .zip(states.layers)
            .for_each(|(all, part)| all.extend(part));
    }
    Ok(layers)
}

/// Describes every token that the model is given: WordPieces, and `[CLS]` and `[SEP]` around each segment.
fn rows(encoder: &Encoder, text: &Tokenised) -> Vec<Token> {
    let special = |id| Token {
        token: encoder.word_pieces().piece(id).unwrap_or_default(),
        word: None,
        title: false,
    };
    let mut inner = pieces(encoder, &text.pieces, text.title_pieces);
    let mut rows = Vec::new();
    for sequence in encoder.sequences(text) {
        rows.push(special(sequence[0]));
        rows.extend(inner.by_ref().take(sequence.len() - 2));
        rows.push(special(sequence[sequence.len() - 1]));
    }
    rows
}

/// Describes WordPieces.
fn pieces(encoder: &Encoder, pieces: &Pieces, title_pieces: usize) -> impl Iterator<Item = Token> {
    (0..pieces.len()).map(move |i| Token {
        token: encoder
            .word_pieces()
            .piece(pieces.ids[i])
            .unwrap_or_default(),
        word: pieces.words[i],
        title: i < title_pieces,
    })
}
