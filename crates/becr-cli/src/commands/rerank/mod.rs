//! `becr rerank`: a run of any first stage, re-ranked.

mod cross;
mod reading;
mod report;

use super::corpus::{self, OnError};
use super::search::TopicField;
use crate::ranking::RankArgs;
use crate::{backend, output, progress};
use anyhow::Context;
use becr::{Candidate, Index, RerankAnswer};
use becr_corpus::Query;
use becr_eval::{Candidates, PairFeatures, Run, ranking, read_candidates, read_features};
use rayon::prelude::*;
pub use reading::{CandidateTexts, RankedTexts, write};
use report::RerankReport;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Re-rank the run of a first stage
///
/// Any first stage will do: candidates come as a TREC run (six columns) or as MS
/// MARCO's (query, document, rank), and a TREC run goes out. The scores of the run in
/// are a feature, taken relative to each query's list. All cores share the work; the
/// run that comes out does not depend on how many there are.
///
/// A document that the index does not have is told of and kept behind the others in
/// its order, or dropped (--unknown). Of a document that stands twice in a query's
/// list the first line counts. A query of the run that the queries file does not have
/// cannot be re-ranked: it is told of and goes out as it came in.
///
/// Examples:
///
///   becr rerank corpus.becr --queries queries.tsv --run bm25.run --out becr.run
///
///   becr rerank corpus.becr --queries queries.tsv --run bm25.run --out a.run --without deep
///
///   becr rerank corpus.becr --queries queries.tsv --run bm25.run --out b.run --features clicks.tsv
///
///   becr rerank corpus.becr --queries queries.tsv --run bm25.run --out c.run --mode encoded
///
///   becr rerank corpus.becr --queries queries.tsv --run bm25.run --out d.run --scorer one-vector
///
///   becr rerank redis://redis-1:7000/corpus --queries queries.tsv --run bm25.run --out becr.run
///
///   becr rerank corpus.becr --queries queries.tsv --run bm25.run --out e.run --cross-encoder hf:cross-encoder/ms-marco-MiniLM-L-12-v2
#[derive(Clone, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Directory of the index, or its address in a cluster: redis://host:port[,host:port…]/name.
    index: PathBuf,
    /// The queries: TSV (id, text), JSON lines or TREC topics.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// The run to re-rank, plain or compressed.
    #[arg(long, value_name = "FILE")]
    run: PathBuf,
    /// The run to write; compressed if its name ends in .zst.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Write the best so many of each query; all if not said.
    #[arg(long, short = 'k', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    k: Option<u32>,
    /// Name of the new run, its last column.
    #[arg(long, default_value = "becr")]
    tag: String,
    /// What to do with documents that the index does not have.
    #[arg(long, value_enum, default_value_t)]
    unknown: Unknown,
    /// Features of query and document together, such as click rates: query, document, name and value a line,
    /// between tabs. They count where the head has a weight for the name; a missing one contributes nothing.
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// Score with a cross-encoder instead: any Hugging Face BERT sequence classifier of one label, a directory or
    /// hf:owner/name. It reads query and document together, title and text as the index keeps them, as much of them as
    /// the model has positions for (512). Seconds a query, where the index takes milliseconds; nothing of the index's own ranking counts.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["features", "mode", "scorer", "weight", "without", "timing"])]
    cross_encoder: Option<PathBuf>,
    /// How to rank.
    #[command(flatten)]
    pub rank: RankArgs,
    /// What computes where a model reads texts.
    #[command(flatten, next_help_heading = "With --cross-encoder")]
    pub backend: backend::Args,
    /// Part of a TREC topic that is the query.
    #[arg(long, value_enum, default_value_t)]
    topic_field: TopicField,
    /// What to do with a line that cannot be read: stop, or skip and count it.
    #[arg(long, value_enum, default_value_t, env = "BECR_ON_ERROR")]
    on_error: OnError,
    /// Tell how long a query took on average: look-up, fetch, lexical, deep, total. `--json` tells it always.
    #[arg(long)]
    timing: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Default, PartialEq, clap::ValueEnum)]
enum Unknown {
    /// Keep them behind the others, in the order in which they came.
    #[default]
    KeepLast,
    /// Leave them out.
    Drop,
}

/// A query of the run, with its candidates in the order of their scores.
pub struct Task<'a> {
    /// Its id.
    pub query: &'a str,
    /// `None` if the queries file does not have it.
    pub text: Option<&'a str>,
    candidates: Vec<&'a (String, f64)>,
}

impl Task<'_> {
    /// The id of the candidate at a place.
    pub fn id(&self, place: usize) -> &str {
        &self.candidates[place].0
    }
}

impl Args {
    /// The index to rank with.
    pub fn index(&self) -> &Path {
        &self.index
    }

    /// What of a query's ranking is written.
    fn best<'a>(&self, mut rows: Vec<(&'a str, f64)>) -> Vec<(&'a str, f64)> {
        rows.truncate(self.k.map_or(usize::MAX, |k| k as usize));
        rows
    }
}

/// The input: a run, and the texts of its queries.
pub struct Input {
    candidates: Candidates,
    queries: Vec<Query>,
}

impl Input {
    /// Reads the files that the arguments name.
    pub fn read(args: &Args) -> anyhow::Result<Self> {
        output::check_file(&args.out)?;
        let candidates = read_candidates(&args.run, args.on_error.into())?;
        output::note_report(&candidates.skipped);
        let queries = corpus::queries(&args.queries, args.topic_field.into(), args.on_error)?;
        Ok(Self {
            candidates,
            queries,
        })
    }

    /// The queries of the run.
    pub fn tasks(&self) -> Vec<Task<'_>> {
        let texts = self.queries.iter();
        let texts: HashMap<&str, &str> = texts
            .map(|query| (query.id.as_str(), query.text.as_str()))
            .collect();
        let queries = self.candidates.run.queries.iter();
        queries
            .map(|(query, documents)| Task {
                query,
                text: texts.get(query.as_str()).copied(),
                candidates: ranking(documents),
            })
            .collect()
    }
}

/// A change of the scores that the index gives, before the new run is written.
pub trait Rescore {
    /// Refuses an index that it cannot be done with, before anything is ranked.
    fn check(&self, index: &Index, args: &Args) -> anyhow::Result<()>;

    /// Changes answers and puts them in their new order. They are those of the tasks.
    fn rescore(
        &self,
        index: &Index,
        args: &Args,
        tasks: &[Task<'_>],
        answers: &mut [Option<RerankAnswer>],
    ) -> anyhow::Result<()>;
}

/// Does the work.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let input = Input::read(args)?;
    match &args.cross_encoder {
        Some(directory) => cross::run(args, directory, &input)?,
        None => rank(args, &input, None)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the command, with other scores than the index gives.
pub fn run_with(args: &Args, change: &dyn Rescore) -> anyhow::Result<ExitCode> {
    rank(args, &Input::read(args)?, Some(change))?;
    Ok(ExitCode::SUCCESS)
}

fn rank(args: &Args, input: &Input, change: Option<&dyn Rescore>) -> anyhow::Result<()> {
    let tasks = input.tasks();
    let index = args.rank.open_ranked(&args.index)?;
    if let Some(change) = change {
        change.check(&index, args)?;
    }
    let features = features(args, &index)?;
    let mut answers = answers(&index, args, &tasks, &features)?;
    if let Some(change) = change {
        change.rescore(&index, args, &tasks, &mut answers)?;
    }

    let mut run = Run::new(&args.tag);
    let mut report = RerankReport::new(&input.candidates, &input.queries);
    for (task, ranked) in tasks.iter().zip(&answers) {
        report.add(task, ranked.as_ref());
        for (id, score) in args.best(rows(task, ranked.as_ref(), args.unknown)) {
            run.push(task.query, id, score);
        }
    }
    becr_eval::write_run(&args.out, &run)?;
    report.tell(args, &run)
}

/// Ranks every query whose text is known.
fn answers(
    index: &Index,
    args: &Args,
    tasks: &[Task<'_>],
    features: &PairFeatures,
) -> anyhow::Result<Vec<Option<RerankAnswer>>> {
    let options = args.rank.options();
    let bar = progress::counting(tasks.len() as u64, "queries");
    let answers = tasks
        .par_iter()
        .map(|task| {
            let ranked = task.text.map(|text| {
                let candidates: Vec<Candidate<'_>> = task
                    .candidates
                    .iter()
                    .map(|&(id, score)| Candidate {
                        id,
                        score: Some(*score as f32),
                        features: features.of(task.query, id),
                    })
                    .collect();
                index.rerank(text, &candidates, &options)
            });
            bar.inc(1);
            ranked
                .transpose()
                .with_context(|| format!("query {:?}", task.query))
        })
        .collect();
    bar.finish_and_clear();
    answers
}

/// A query's part of the new run.
fn rows<'a>(
    task: &Task<'a>,
    answer: Option<&RerankAnswer>,
    unknown: Unknown,
) -> Vec<(&'a str, f64)> {
    let Some(answer) = answer else {
        let unchanged = task.candidates.iter();
        return unchanged.map(|(id, score)| (id.as_str(), *score)).collect();
    };
    let kept = match unknown {
        Unknown::KeepLast => answer.order.len() + answer.unknown.len(),
        Unknown::Drop => answer.order.len(),
    };
    let rows = answer.with_unknown().take(kept);
    rows.map(|(place, score)| (task.candidates[place].0.as_str(), f64::from(score)))
        .collect()
}

/// Reads the caller's features; names that the head has no weight for are told of.
fn features(args: &Args, index: &Index) -> anyhow::Result<PairFeatures> {
    let Some(path) = &args.features else {
        return Ok(PairFeatures::default());
    };
    let (features, skips) = read_features(path, args.on_error.into())?;
    output::note_report(&skips);
    let ranker = index.ranker()?;
    let known = &ranker.head().others.features;
    for (name, values) in &features.names {
        if !known.iter().any(|feature| feature.name == *name) {
            output::note(format_args!(
                "{}: the head has no weight for \"{name}\": {values} values are not used",
                path.display()
            ));
        }
    }
    Ok(features)
}
