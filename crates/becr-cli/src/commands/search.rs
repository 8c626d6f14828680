//! `becr search`: one query to read, or a file of queries to a TREC run.

use super::corpus::OnError;
use crate::{output, progress};
use anyhow::bail;
use becr_index::IndexError;
use becr_index::first_stage::FirstStage;
use rayon::prelude::*;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Search an index
///
/// Examples:
///
///   becr search notes.becr "sourdough dense crumb"
///
///   becr search corpus.becr --queries queries.tsv --run-out bm25.run --first-stage --k 150
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// What to search for.
    #[arg(required_unless_present = "queries", conflicts_with = "queries")]
    query: Option<String>,
    /// How many results [default: 10; 1000 with --queries].
    #[arg(long)]
    k: Option<usize>,
    /// Rank by BM25 alone: for now the only ranking.
    #[arg(long)]
    first_stage: bool,
    /// Print the results as JSON.
    #[arg(long, conflicts_with = "queries")]
    json: bool,
    #[command(flatten)]
    batch: Batch,
}

/// Many queries at once.
#[derive(clap::Args)]
struct Batch {
    /// A file of queries: TSV (id, text), JSON lines or TREC topics.
    #[arg(long, value_name = "FILE", requires = "run_out")]
    queries: Option<PathBuf>,
    /// The TREC run to write.
    #[arg(
        long,
        value_name = "FILE",
        requires = "queries",
        conflicts_with = "query"
    )]
    run_out: Option<PathBuf>,
    /// Name of the run, its last column.
    #[arg(long, default_value = "becr-bm25", requires = "queries")]
    tag: String,
    /// Part of a TREC topic to search for.
    #[arg(long, value_enum, default_value_t, requires = "queries")]
    topic_field: TopicField,
    /// What to do with a query that cannot be read: stop, or skip and count it.
    #[arg(
        long,
        value_enum,
        default_value_t,
        requires = "queries",
        env = "BECR_ON_ERROR"
    )]
    on_error: OnError,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum TopicField {
    #[default]
    Title,
    Description,
    Both,
}

/// A query's answer, as `--json` prints it.
#[derive(Serialize)]
struct Answer<'a> {
    query: &'a str,
    results: Vec<Row>,
    timing_ms: Timing,
}

#[derive(Serialize)]
struct Row {
    rank: usize,
    id: String,
    title: String,
    score: f32,
    first_stage_rank: usize,
}

#[derive(Serialize)]
struct Timing {
    first_stage: f64,
    total: f64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let index = FirstStage::open(&args.index)?;
    match (&args.query, &args.batch.queries, &args.batch.run_out) {
        (Some(query), _, _) => {
            if !args.first_stage && !args.json {
                output::note("Ranked by BM25: re-ranking is not part of this version yet.");
            }
            if !becr_text::words::words(query).any(|_| true) {
                output::note("The query has no words.");
            }
            let answer = answer(&index, query, args.k.unwrap_or(10))?;
            if args.json {
                output::json(&answer)?;
            } else {
                print(&answer)?;
            }
        }
        (None, Some(queries), Some(run_out)) => {
            let run = run_file(&index, queries, args.k.unwrap_or(1000), &args.batch)?;
            becr_eval::write_run(run_out, &run)?;
            let documents: usize = run.queries.values().map(Vec::len).sum();
            let (path, answered) = (run_out.display(), run.queries.len());
            output::note(format_args!(
                "{path}: {documents} documents for {answered} queries"
            ));
        }
        _ => bail!("give a query, or --queries FILE with --run-out FILE"),
    }
    Ok(ExitCode::SUCCESS)
}

fn answer<'a>(index: &FirstStage, query: &'a str, k: usize) -> anyhow::Result<Answer<'a>> {
    let started = Instant::now();
    let hits = index.search(query, k)?;
    let first_stage = milliseconds(started);
    let row = |(hit, rank): (becr_index::first_stage::Hit, usize)| {
        let title = index.title(&hit)?;
        Ok(Row {
            rank,
            title,
            score: hit.score,
            first_stage_rank: rank,
            id: hit.id,
        })
    };
    let results: Result<Vec<Row>, IndexError> = hits.into_iter().zip(1..).map(row).collect();
    let timing_ms = Timing {
        first_stage,
        total: milliseconds(started),
    };
    Ok(Answer {
        query,
        results: results?,
        timing_ms,
    })
}

fn print(answer: &Answer<'_>) -> anyhow::Result<()> {
    let mut out = output::stdout();
    if answer.results.is_empty() {
        writeln!(out, "nothing found")?;
    }
    for row in &answer.results {
        let title = if row.title.is_empty() {
            "(no title)"
        } else {
            &row.title
        };
        writeln!(
            out,
            "{:>4}  {:>8.3}  {title}  [{}]",
            row.rank, row.score, row.id
        )?;
    }
    out.flush()?;
    output::note(format_args!("{:.1} ms", answer.timing_ms.total));
    Ok(())
}

/// Runs a file of queries on all cores.
fn run_file(
    index: &FirstStage,
    path: &std::path::Path,
    k: usize,
    batch: &Batch,
) -> anyhow::Result<becr_eval::Run> {
    let queries = super::corpus::queries(path, batch.topic_field.into(), batch.on_error)?;
    let bar = progress::counting(queries.len() as u64, "queries");
    let answers: Result<Vec<_>, IndexError> = queries
        .par_iter()
        .map(|query| {
            let hits = index.search(&query.text, k)?;
            bar.inc(1);
            Ok(hits)
        })
        .collect();
    bar.finish_and_clear();
    let mut run = becr_eval::Run::new(&batch.tag);
    for (query, hits) in queries.iter().zip(answers?) {
        for hit in hits {
            run.push(&query.id, hit.id, f64::from(hit.score));
        }
    }
    Ok(run)
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

impl From<TopicField> for becr_corpus::TopicField {
    fn from(field: TopicField) -> Self {
        match field {
            TopicField::Title => Self::Title,
            TopicField::Description => Self::Description,
            TopicField::Both => Self::Both,
        }
    }
}
