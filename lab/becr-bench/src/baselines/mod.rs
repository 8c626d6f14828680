//! `becr-lab bench baselines`: the models that the paper compares BECR with, on the work of its RQ2: 150 documents of 857 tokens
//! re-ranked for a query of n words.
//!
//! Model: random weights of the shape of a known encoder, random documents. What can be known of documents before the query is
//! there is in memory when the clock starts. On the CPU one thread works. `burn` is the implementation that the models are trained and
//! served with, on CPUs and GPUs; beside it stands what our own encoder takes on the CPU for what they all wait for: BERT over every
//! document with the query, and the encoder over a query (of n words for BECR⁻, of 32 tokens for ColBERT). Times of BERT and
//! CEDR-KNRM on a CPU are those of four documents, multiplied. Times are lower quartiles.

mod native;

use crate::Console;
use crate::console::write_json;
use anyhow::ensure;
use becr_model::Config;
use becr_train::Device;
use becr_train::baseline::{BaselineKind, SpeedTest};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Most words of a query: half of a sequence.
const MOST_WORDS: usize = 256;

/// The models that the paper compares BECR with: the time to re-rank 150 documents of 857 tokens
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Words of a query.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [3, 5])]
    n: Vec<usize>,
    /// Shapes of the encoder.
    #[arg(long, value_name = "SHAPE", value_enum, value_delimiter = ',', default_values = ["minilm"])]
    encoders: Vec<EncoderShape>,
    /// Candidates of a query.
    #[arg(long, default_value_t = 150)]
    documents: usize,
    /// Tokens of a candidate.
    #[arg(long, default_value_t = 857)]
    tokens: usize,
    /// cpu, cuda, or cuda:1 for a second GPU.
    #[arg(long, default_value = "cpu", value_parser = |name: &str| Device::try_from(name.to_owned()))]
    device: Device,
    /// Also write the rows as JSON to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum EncoderShape {
    /// MiniLM-L6: 6 layers of 384.
    Minilm,
    /// BERT-base: 12 layers of 768.
    BertBase,
    /// For tests: 4 layers of 16.
    #[value(hide = true)]
    Tiny,
}

impl EncoderShape {
    fn name(self) -> &'static str {
        match self {
            Self::Minilm => "MiniLM-L6",
            Self::BertBase => "BERT-base",
            Self::Tiny => "tiny",
        }
    }

    fn config(self) -> Config {
        match self {
            Self::Minilm => Config::new(30_522, 384, 6, 12, 1536, 512),
            Self::BertBase => Config::new(30_522, 768, 12, 12, 3072, 512),
            Self::Tiny => Config::new(100, 16, 4, 2, 32, 64),
        }
    }
}

/// A measured time.
#[derive(Serialize)]
struct BaselineRow {
    model: String,
    /// The encoder's shape, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoder: Option<&'static str>,
    /// The layers that could be kept of it, that of the embeddings among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<usize>,
    implementation: &'static str,
    device: String,
    n: usize,
    documents: usize,
    tokens: usize,
    ms: f64,
}

#[derive(Serialize)]
struct BaselineReport {
    /// What the system says its processor is.
    cpu: Option<String>,
    rows: Vec<BaselineRow>,
}

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    let counts = args.n.iter().chain([&args.documents, &args.tokens]);
    ensure!(
        counts.clone().all(|count| (1..=1 << 20).contains(count)),
        "--n, --documents and --tokens must be 1 to 1048576"
    );
    ensure!(
        args.n.iter().all(|&n| n <= MOST_WORDS),
        "--n: a query of more than {MOST_WORDS} words leaves no room for documents in a sequence"
    );
    args.device.check()?;
    // A pool of one thread, for whatever would spread over the cores.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut report = BaselineReport {
        cpu: processor(),
        rows: Vec::new(),
    };
    for &n in &args.n {
        for kind in [BaselineKind::Knrm, BaselineKind::ConvKnrm] {
            let row = pool.install(|| network(args, kind, None, n))?;
            report.push(row, console);
        }
    }
    for &shape in &args.encoders {
        if args.device == Device::Cpu {
            let rows = pool.install(|| native::measure(args, shape))?;
            rows.into_iter().for_each(|row| report.push(row, console));
        }
        for &n in &args.n {
            for kind in [
                BaselineKind::Colbert,
                BaselineKind::Bert,
                BaselineKind::CedrKnrm,
            ] {
                let row = pool.install(|| network(args, kind, Some(shape), n))?;
                report.push(row, console);
            }
        }
    }
    if let Some(path) = &args.json {
        write_json(path, &report)?;
    }
    report.print(console.out)
}

/// A model in burn.
fn network(
    args: &Args,
    kind: BaselineKind,
    shape: Option<EncoderShape>,
    n: usize,
) -> anyhow::Result<BaselineRow> {
    let test = SpeedTest {
        kind,
        encoder: shape.map(EncoderShape::config),
        documents: args.documents,
        tokens: args.tokens,
        query_words: n,
    };
    let seconds = test.seconds(args.device)?;
    Ok(args.row(kind.to_string(), shape, "burn", n, seconds))
}

impl Args {
    fn row(
        &self,
        model: String,
        shape: Option<EncoderShape>,
        implementation: &'static str,
        n: usize,
        seconds: f64,
    ) -> BaselineRow {
        BaselineRow {
            model,
            encoder: shape.map(EncoderShape::name),
            layers: shape.map(|shape| shape.config().num_hidden_layers + 1),
            implementation,
            device: self.device.into(),
            n,
            documents: self.documents,
            tokens: self.tokens,
            ms: seconds * 1e3,
        }
    }
}

impl BaselineReport {
    /// Takes a row, and says so: some take a minute.
    fn push(&mut self, row: BaselineRow, console: &Console<'_>) {
        console.note(row.line().trim_end());
        self.rows.push(row);
    }

    fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        for row in &self.rows {
            writeln!(out, "{}", row.line())?;
        }
        Ok(())
    }
}

impl BaselineRow {
    fn line(&self) -> String {
        format!(
            "{:<18} {:<10} {:<5} {:<7} n={:<2} {:>12.3} ms",
            self.model,
            self.encoder.unwrap_or("-"),
            self.implementation,
            self.device,
            self.n,
            self.ms
        )
    }
}

/// The processor's name, as Linux tells it.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
