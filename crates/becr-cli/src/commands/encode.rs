//! `becr encode`: what the encoder makes of a text, to look at.

use anyhow::{Context, bail, ensure};
use becr_corpus::{Corpus, CorpusOptions};
use becr_encoder::{Batch, Document, EncodedDocument, Encoder, NativeEncoder, Shape, Tokenised};
use becr_model::{Data, Layers, Model, Tensor, write_tensors};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Hidden states of more than this are refused: a look at a text does not need them.
const MOST_BYTES: usize = 2 << 30;

/// Encode texts into vectors or footprints of every layer.
///
/// Writes a safetensors file with a tensor `hidden` [layers, tokens, dim], [CLS] and [SEP] included, or with
/// `footprints` [layers, tokens, words], `cls` and `mean` [dim]; with several texts the names end in .0, .1 and so on.
/// Tokens and words are in the header. A file that ends in .json gets the same as JSON. A text longer than the model
/// takes is cut into even segments, each with its own [CLS] and [SEP].
///
/// Examples:
///
///   becr encode --model minilm --text "neural ranking" --out look.safetensors
///
///   becr encode --model minilm --text one --text two --footprints --layers 5 --out look.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Directory of the model.
    #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
    model: PathBuf,
    /// A text; may be given several times. They are encoded as one batch.
    #[arg(long, required_unless_present = "file", allow_hyphen_values = true)]
    text: Vec<String>,
    /// A file: .jsonl gives one text per document, anything else is one text.
    #[arg(long)]
    file: Option<PathBuf>,
    /// File to write: .safetensors or .json.
    #[arg(long)]
    out: PathBuf,
    /// Hidden states to keep: all, 5 (0, 1, 2, 3 and the last), 1 (the last), or a list such as 0,3,6.
    #[arg(long, default_value = "all")]
    layers: Layers,
    /// Write footprints instead of vectors.
    #[arg(long)]
    footprints: bool,
    /// What computes.
    #[arg(long, value_enum, default_value_t, env = "BECR_BACKEND")]
    backend: BackendKind,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum BackendKind {
    /// Our own code for CPUs.
    #[default]
    Native,
    /// The burn framework; needs a build with the feature `burn`.
    Burn,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let json = match args
        .out
        .extension()
        .and_then(|extension| extension.to_str())
    {
        Some("json") => true,
        Some("safetensors") => false,
        _ => bail!(
            "{}: the name must end in .safetensors or .json",
            args.out.display()
        ),
    };
    let documents = documents(args)?;
    let mut model = Model::read(&args.model)?;
    let mut settings = model.config.settings();
    settings.layers = args.layers.clone();
    model.config.becr = Some(settings);
    model
        .config
        .check(&args.model.join("config.json"))
        .context("--layers does not fit the model")?;
    let header = json!({
        "encoder_id": model.encoder_id(),
        "layers": model.config.kept_layers().map_err(anyhow::Error::msg)?,
    });
    let encoder = open(args.backend, model)?;
    let results = if args.footprints {
        footprints(&encoder, documents)?
    } else {
        hidden(&encoder, &documents)?
    };
    let shape = encoder.backend().shape();
    if json {
        write_json(&args.out, header, shape, &results)
    } else {
        write_safetensors(&args.out, &header, shape, &results)
    }?;
    Ok(ExitCode::SUCCESS)
}

fn open(kind: BackendKind, model: Model) -> anyhow::Result<Encoder> {
    let Model {
        config,
        tokenizer,
        weights,
        ..
    } = model;
    match kind {
        BackendKind::Native => Ok(Encoder::new(
            &tokenizer,
            Box::new(NativeEncoder::new(&config, weights)?),
        )?),
        BackendKind::Burn => bail!(
            "this becr was built without burn; build it with `--features burn`, or use --backend native"
        ),
    }
}

fn documents(args: &Args) -> anyhow::Result<Vec<Document>> {
    let mut documents: Vec<_> = args
        .text
        .iter()
        .map(|text| Document {
            title: String::new(),
            text: text.clone(),
        })
        .collect();
    if let Some(path) = &args.file {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy())
            .unwrap_or_default();
        if name.contains(".jsonl") {
            for document in Corpus::open(&[path], &CorpusOptions::default())? {
                let document = document?;
                documents.push(Document {
                    title: document.title,
                    text: document.text,
                });
            }
        } else {
            let bytes =
                std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            documents.push(Document {
                title: String::new(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
            });
        }
    }
    Ok(documents)
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
    encoder.documents(documents, |document| {
        let rows = (0..document.pieces.len()).map(Some);
        let tokens = tokens(encoder, &document.pieces, document.title_pieces, rows);
        results.push(EncodedText {
            tokens,
            values: Values::Footprints(document),
        });
        anyhow::Ok(())
    })?;
    Ok(results)
}

fn hidden(encoder: &Encoder, documents: &[Document]) -> anyhow::Result<Vec<EncodedText>> {
    let shape = encoder.backend().shape();
    let tokenised: Vec<Tokenised> = documents
        .iter()
        .map(|document| encoder.tokenise(document))
        .collect();
    let mut batch = Batch::new();
    let mut ranges = Vec::with_capacity(tokenised.len());
    for tokenised in &tokenised {
        let start = batch.tokens();
        for sequence in encoder.sequences(tokenised) {
            batch.push(sequence);
        }
        ranges.push(start..batch.tokens());
    }
    let bytes = batch.tokens() * shape.dim * shape.layers.len() * 4;
    ensure!(
        bytes <= MOST_BYTES,
        "the hidden states of {} tokens take {} MiB; keep fewer --layers, or use --footprints",
        batch.tokens(),
        bytes >> 20
    );
    let states = encoder.backend().hidden_states(&batch)?;
    let results = tokenised.iter().zip(ranges).map(|(tokenised, range)| {
        let of_text =
            |layer: &Vec<f32>| layer[range.start * shape.dim..range.end * shape.dim].to_vec();
        let mut next = 0;
        let rows = encoder.sequences(tokenised).flat_map(|sequence| {
            let inner = next..next + sequence.len() - 2;
            next = inner.end;
            std::iter::once(None).chain(inner.map(Some)).chain([None])
        });
        let rows: Vec<_> = rows.collect();
        let mut tokens = tokens(
            encoder,
            &tokenised.pieces,
            tokenised.title_pieces,
            rows.into_iter(),
        );
        name_special(encoder, &mut tokens, &batch.ids()[range.clone()]);
        EncodedText {
            tokens,
            values: Values::Hidden(states.layers.iter().flat_map(of_text).collect()),
        }
    });
    Ok(results.collect())
}

/// Describes rows: those that are WordPieces by their number, the others left blank.
fn tokens(
    encoder: &Encoder,
    pieces: &becr_text::pieces::Pieces,
    title_pieces: usize,
    rows: impl Iterator<Item = Option<usize>>,
) -> Vec<Token> {
    let describe = |row| match row {
        Some(i) => Token {
            token: encoder
                .word_pieces()
                .piece(pieces.ids[i])
                .unwrap_or_default(),
            word: pieces.words[i],
            title: i < title_pieces,
        },
        None => Token {
            token: String::new(),
            word: None,
            title: false,
        },
    };
    rows.map(describe).collect()
}

fn name_special(encoder: &Encoder, tokens: &mut [Token], ids: &[u32]) {
    for (token, &id) in tokens
        .iter_mut()
        .zip(ids)
        .filter(|(token, _)| token.token.is_empty())
    {
        token.token = encoder.word_pieces().piece(id).unwrap_or_default();
    }
}

fn write_safetensors(
    path: &Path,
    header: &Value,
    shape: &Shape,
    results: &[EncodedText],
) -> anyhow::Result<()> {
    let mut tensors = Vec::new();
    for (i, result) in results.iter().enumerate() {
        let name = |base: &str| {
            if results.len() == 1 {
                base.to_owned()
            } else {
                format!("{base}.{i}")
            }
        };
        let rows = vec![shape.layers.len(), result.tokens.len()];
        match &result.values {
            Values::Hidden(states) => {
                let shape = [rows, vec![shape.dim]].concat();
                tensors.push(Tensor {
                    name: name("hidden"),
                    shape,
                    data: Data::F32(states),
                });
            }
            Values::Footprints(document) => {
                let footprints = [rows, vec![shape.words()]].concat();
                tensors.push(Tensor {
                    name: name("footprints"),
                    shape: footprints,
                    data: Data::U32(&document.footprints),
                });
                tensors.push(Tensor {
                    name: name("cls"),
                    shape: vec![shape.dim],
                    data: Data::F32(&document.cls),
                });
                tensors.push(Tensor {
                    name: name("mean"),
                    shape: vec![shape.dim],
                    data: Data::F32(&document.mean),
                });
            }
        }
    }
    let tokens: Vec<_> = results.iter().map(|result| &result.tokens).collect();
    let tokens = serde_json::to_string(&tokens)?;
    let layers = header["layers"].to_string();
    let id = header["encoder_id"].as_str().unwrap_or_default();
    write_tensors(
        path,
        &tensors,
        &[("encoder_id", id), ("layers", &layers), ("tokens", &tokens)],
    )?;
    Ok(())
}

fn write_json(
    path: &Path,
    mut header: Value,
    shape: &Shape,
    results: &[EncodedText],
) -> anyhow::Result<()> {
    let texts: Vec<Value> = results
        .iter()
        .map(|result| text_json(shape, result))
        .collect();
    header["texts"] = texts.into();
    let mut bytes = serde_json::to_vec(&header)?;
    bytes.push(b'\n');
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Vectors as numbers per layer and token; footprints as hexadecimal, eight digits per 32 bits, bit 0 last in each.
fn text_json(shape: &Shape, result: &EncodedText) -> Value {
    let rows = result.tokens.len();
    match &result.values {
        Values::Hidden(states) => {
            let of_layer = |layer: &[f32]| {
                layer
                    .chunks_exact(shape.dim)
                    .map(|row| json!(row))
                    .collect::<Vec<_>>()
            };
            let layers: Vec<_> = states
                .chunks_exact(rows * shape.dim)
                .map(of_layer)
                .collect();
            json!({"tokens": result.tokens, "hidden": layers})
        }
        Values::Footprints(document) => {
            let hex = |words: &[u32]| {
                words
                    .iter()
                    .map(|word| format!("{word:08x}"))
                    .collect::<String>()
            };
            let of_layer = |layer| {
                (0..rows)
                    .map(|row| hex(document.footprint(layer, row, shape.words())))
                    .collect()
            };
            let layers: Vec<Vec<String>> = (0..shape.layers.len()).map(of_layer).collect();
            json!({"tokens": result.tokens, "footprints": layers, "cls": document.cls, "mean": document.mean})
        }
    }
}
