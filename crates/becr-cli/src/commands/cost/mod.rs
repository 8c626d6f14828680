//! `becr cost`: what an index of any collection takes.

mod prediction;
mod text;
mod units;

use crate::output;
use becr_groups::cost::paper;
use becr_groups::cost::predict::Target;
use becr_groups::cost::storage::{Collection, Encoding, Storage, TradeOff, trade_offs};
use prediction::Forecast;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use units::{count, positive};

/// Compute what an index of any size takes
///
/// The arithmetic of the paper for any collection. Without options it is the
/// paper's example, ClueWeb09-Cat-B, beside what the paper prints. Numbers may
/// end in k, M or G: --documents 8.8M.
///
/// With --index it is what an index that was built and measured predicts for a
/// collection of another size.
///
/// Examples:
///
///   becr cost
///
///   becr cost --documents 8.8M --tokens 77 --words 2M --pairs 40M --dim 384 --layers 7 --stored-layers 1
///
///   becr cost --all-groups --json
///
///   becr cost --index notes.becr --target-documents 1M
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// D: documents.
    #[arg(long, value_name = "D", default_value = "50M", value_parser = count)]
    documents: u64,
    /// m: WordPieces per document, on average.
    #[arg(long, value_name = "m", default_value = "857", value_parser = positive)]
    tokens: f64,
    /// V: words in the token store.
    #[arg(long, value_name = "V", default_value = "14.5M", value_parser = count)]
    words: u64,
    /// H: word pairs in the token store.
    #[arg(long, value_name = "H", default_value = "467M", value_parser = count)]
    pairs: u64,
    /// Keep all groups of the paper's example, those met only once too: V = 32.4M, H = 940.3M.
    #[arg(long, conflicts_with_all = ["words", "pairs"])]
    all_groups: bool,
    /// p: numbers in a vector, the hidden size of the model.
    #[arg(long, value_name = "p", default_value_t = 768, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    dim: u64,
    /// L: layers of the model, that of the embeddings included.
    #[arg(long, value_name = "L", default_value_t = 13, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    layers: u64,
    /// L': layers stored as footprints.
    #[arg(long, value_name = "L'", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    stored_layers: u64,
    /// b: bits of a footprint.
    #[arg(long, value_name = "b", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    bits: u64,
    /// Go on from this index instead of from the paper's formulas.
    #[arg(long, value_name = "DIR", requires = "target_documents", conflicts_with_all = FORMULA)]
    index: Option<PathBuf>,
    /// Documents of the collection to predict for.
    #[arg(long, value_name = "N", requires = "index", value_parser = count)]
    target_documents: Option<u64>,
    /// Tokens of an average document of it; those of the index if not given.
    #[arg(long, value_name = "M", requires = "index", value_parser = positive)]
    target_tokens: Option<f64>,
    /// Its token groups; those of the index if not given.
    #[arg(long, value_name = "G", requires = "index", value_parser = count)]
    target_groups: Option<u64>,
    /// Print as JSON, sizes in bytes.
    #[arg(long)]
    json: bool,
}

/// Options of the formulas, which an index takes the place of.
const FORMULA: [&str; 9] = [
    "documents",
    "tokens",
    "words",
    "pairs",
    "all_groups",
    "dim",
    "layers",
    "stored_layers",
    "bits",
];

/// All that is printed.
#[derive(Serialize)]
struct Cost {
    collection: Collection,
    encoding: Encoding,
    storage: Storage,
    trade_offs: Vec<TradeOff>,
    /// What the paper prints, where the question is the paper's.
    paper: Printed,
}

/// The parts of the paper's tables that answer the same question.
#[derive(Serialize)]
struct Printed {
    #[serde(skip_serializing_if = "Option::is_none")]
    storage: Option<PrintedSizes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trade_offs: Option<[(f64, f64); 10]>,
}

/// The four sizes of the paper's example, in bytes.
#[derive(Serialize, Clone, Copy)]
struct PrintedSizes {
    documents_raw: f64,
    documents_compressed: f64,
    /// Not printed for all groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups_raw: Option<f64>,
    groups_compressed: f64,
}

impl Args {
    pub(crate) fn index(&self) -> Option<&Path> {
        self.index.as_deref()
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let (Some(index), Some(documents)) = (&args.index, args.target_documents) {
        let target = Target {
            documents,
            tokens_per_document: args.target_tokens,
            groups: args.target_groups,
        };
        return forecast(&Forecast::new(index, target)?, args.json);
    }
    let cost = args.cost();
    if args.json {
        output::json(&cost)?;
    } else {
        let mut out = output::stdout();
        text::write(&mut out, &cost)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn forecast(forecast: &Forecast, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::json(forecast)?;
    } else {
        let mut out = output::stdout();
        forecast.write(&mut out)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn cost(&self) -> Cost {
        let groups = match self.all_groups {
            true => Collection::with_all_groups(),
            false => Collection {
                words: self.words,
                pairs: self.pairs,
                ..Collection::default()
            },
        };
        let collection = Collection {
            documents: self.documents,
            tokens: self.tokens,
            ..groups
        };
        let encoding = Encoding {
            dim: self.dim,
            layers: self.layers,
            stored_layers: self.stored_layers,
            bits: self.bits,
        };
        Cost {
            collection,
            encoding,
            storage: Storage::new(&collection, &encoding),
            trade_offs: trade_offs(&collection, self.dim),
            paper: Printed::new(&collection, &encoding),
        }
    }
}

impl Printed {
    fn new(collection: &Collection, encoding: &Encoding) -> Self {
        let example = *collection == Collection::default();
        let all_groups = *collection == Collection::with_all_groups();
        let same_encoding = *encoding == Encoding::default();
        let sizes = || PrintedSizes {
            documents_raw: paper::STORAGE.documents_raw,
            documents_compressed: paper::STORAGE.documents_compressed,
            groups_raw: example.then_some(paper::STORAGE.groups_raw),
            groups_compressed: match example {
                true => paper::STORAGE.groups_compressed,
                false => paper::STORAGE.all_groups_compressed,
            },
        };
        Self {
            storage: (same_encoding && (example || all_groups)).then(sizes),
            trade_offs: (example && encoding.dim == Encoding::default().dim)
                .then_some(paper::TRADE_OFFS),
        }
    }
}
