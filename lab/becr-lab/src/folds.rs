//! `becr-lab folds`: query-disjoint splits for cross-validation.

use anyhow::ensure;
use becr_cli::corpus::{self, OnError};
use becr_cli::output;
use becr_corpus::TopicField;
use becr_eval::{Folds, Table, read_ids, read_qrels};
use becr_text::words::words;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Split queries at random into folds, each with training, validation and test queries
    ///
    /// Fold i tests on the i-th part of the queries, validates on the next one and trains on the
    /// others. The same queries and seed give the same folds, on any machine. Queries with the same
    /// words fall into one fold if --queries tells the words. The file is JSON:
    /// {"format": "becr-folds", "version": 1, "seed": 42, "always_train": [id…],
    /// "folds": [{"train": [id…], "validation": [id…], "test": [id…]}…]}
    Make(MakeArgs),
    /// Check fold files and show what is in them
    ///
    /// Reads the JSON file of `becr-lab folds make`, a JSON list of lists of query ids (one list a fold),
    /// or one file a fold with one query id a line. Fails if a query could leak from training into
    /// testing.
    Show(ShowArgs),
}

#[derive(clap::Args)]
pub(crate) struct MakeArgs {
    #[command(flatten)]
    source: Source,

    /// The number of folds, at least 3
    #[arg(long, value_name = "N", default_value_t = Folds::DEFAULT_COUNT)]
    folds: usize,

    /// Another seed gives another split
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// Queries, one id a line, that every fold trains on and none tests
    #[arg(long, value_name = "FILE")]
    always_train: Option<PathBuf>,

    /// Where to write the folds [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Source {
    /// Split the queries of this file: `id TAB text`, JSON lines or TREC topics
    #[arg(long, value_name = "FILE", required_unless_present = "qrels")]
    queries: Option<PathBuf>,

    /// Split the queries judged in this file
    #[arg(long, value_name = "FILE", conflicts_with = "queries")]
    qrels: Option<PathBuf>,

    /// What to do with a line that cannot be understood: stop, or leave it out and say so
    #[arg(long, value_enum, default_value_t, env = "BECR_ON_ERROR")]
    on_error: OnError,
}

#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// One JSON file, or one file of query ids for each fold
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Queries, one id a line, that every fold trains on, for files without roles
    #[arg(long, value_name = "FILE")]
    always_train: Option<PathBuf>,

    /// Print the folds as the JSON file `becr-lab folds make` writes
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Make(args) => make(args)?,
        Command::Show(args) => show(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn make(args: &MakeArgs) -> anyhow::Result<()> {
    if let Some(out) = &args.out {
        output::check_file(out)?;
    }
    let sets = args.source.sets()?;
    let always_train = always_train(args.always_train.as_ref())?;
    let folds = Folds::split_together(sets, args.folds, args.seed, always_train)?;
    match &args.out {
        None => print_json(&folds),
        Some(path) => {
            folds.write(path)?;
            output::note(summary(&folds));
            output::note(format_args!("wrote {}", path.display()));
            Ok(())
        }
    }
}

fn show(args: &ShowArgs) -> anyhow::Result<()> {
    let folds = Folds::read(&args.files, always_train(args.always_train.as_ref())?)?;
    if args.json {
        return print_json(&folds);
    }
    let mut out = output::stdout();
    writeln!(out, "{}", summary(&folds))?;
    out.flush()?;
    Ok(())
}

fn print_json(folds: &Folds) -> anyhow::Result<()> {
    let mut out = output::stdout();
    writeln!(out, "{}", folds.to_json())?;
    out.flush()?;
    Ok(())
}

impl Source {
    /// The queries, those with the same words together.
    fn sets(&self) -> anyhow::Result<Vec<Vec<String>>> {
        let (sets, path): (Vec<_>, _) = match (&self.queries, &self.qrels) {
            (Some(path), _) => {
                let mut equal: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
                for query in corpus::queries(path, TopicField::Title, self.on_error)? {
                    let words = words(&query.text).map(|word| word.text);
                    equal.entry(words.collect()).or_default().push(query.id);
                }
                (equal.into_values().collect(), path)
            }
            (None, Some(path)) => {
                let (qrels, skips) = read_qrels(path, self.on_error.into())?;
                output::note_report(&skips);
                (qrels.queries.into_keys().map(|id| vec![id]).collect(), path)
            }
            (None, None) => anyhow::bail!("give --queries or --qrels"),
        };
        ensure!(!sets.is_empty(), "{}: no queries in it", path.display());
        Ok(sets)
    }
}

fn always_train(path: Option<&PathBuf>) -> anyhow::Result<Vec<String>> {
    Ok(path.map(read_ids).transpose()?.unwrap_or_default())
}

fn summary(folds: &Folds) -> String {
    let header = ["fold", "train", "validation", "test"].map(String::from);
    let mut table = Table::new(header.to_vec(), vec![1, 2, 3]);
    for (number, fold) in (1..).zip(folds.folds()) {
        let sizes = [
            number,
            fold.train.len(),
            fold.validation.len(),
            fold.test.len(),
        ];
        table.row(sizes.iter().map(usize::to_string).collect());
    }
    let tested: usize = folds.folds().iter().map(|fold| fold.test.len()).sum();
    let always = folds.always_train().len();
    let seed = folds
        .seed()
        .map_or(String::new(), |seed| format!(", seed {seed}"));
    format!("{table}{tested} queries tested once, {always} more always trained on{seed}")
}
