//! A file of queries, on all cores, to a run.

use super::Args;
use crate::commands::corpus;
use crate::{output, progress};
use becr::{Details, Index, RankOptions, SearchOptions, SearchTiming};
use becr_eval::{Run, Table};
use rayon::prelude::*;
use serde::Serialize;
use std::path::Path;

pub(super) fn run(
    index: &Index,
    rank: Option<RankOptions>,
    args: &Args,
    queries: &Path,
    out: &Path,
) -> anyhow::Result<()> {
    let options = SearchOptions {
        k: args.k.unwrap_or(1000),
        depth: args.depth,
        find_by: args.candidates,
        rank,
        details: Details::default(),
    };
    let queries = corpus::queries(queries, args.batch.topic_field.into(), args.batch.on_error)?;
    let bar = progress::counting(queries.len() as u64, "queries");
    let answers: Result<Vec<_>, becr::Error> = queries
        .par_iter()
        .map(|query| {
            let found = index.search(&query.text, &options)?;
            bar.inc(1);
            let rows = found.results.into_iter();
            let rows: Vec<(String, f32)> = rows.map(|row| (row.id, row.score)).collect();
            Ok((rows, found.timing))
        })
        .collect();
    bar.finish_and_clear();
    let answers = answers?;
    let tag = match (&args.batch.tag, rank) {
        (Some(tag), _) => tag,
        (None, Some(_)) => "becr",
        (None, None) => "becr-bm25",
    };
    let mut run = Run::new(tag);
    let mut timings = Vec::with_capacity(answers.len());
    for (query, (rows, timing)) in queries.iter().zip(answers) {
        for (id, score) in rows {
            run.push(&query.id, id, f64::from(score));
        }
        timings.push(timing);
    }
    becr_eval::write_run(out, &run)?;
    let documents: usize = run.queries.values().map(Vec::len).sum();
    let answered = run.queries.len();
    let by_stage = latencies(&timings);
    if args.json {
        return output::json(&Summary {
            run: out,
            queries: queries.len(),
            answered,
            documents,
            timing_ms: by_stage,
        });
    }
    output::note(format_args!(
        "{}: {} for {}",
        output::written(out),
        output::several(documents as u64, "document"),
        output::several(answered as u64, "query")
    ));
    if args.timing && !by_stage.is_empty() {
        output::note(table(&by_stage));
    }
    Ok(())
}

/// What was done, as `--json` prints it.
#[derive(Serialize)]
struct Summary<'a> {
    run: &'a Path,
    queries: usize,
    /// Queries for which something was found.
    answered: usize,
    documents: usize,
    /// Milliseconds of a query, by stage.
    timing_ms: Vec<StageLatency>,
}

/// How long a stage takes a query: mean, median and the slow ones, in milliseconds.
#[derive(Serialize)]
struct StageLatency {
    stage: &'static str,
    mean: f64,
    median: f64,
    p95: f64,
    p99: f64,
}

fn latencies(timings: &[SearchTiming]) -> Vec<StageLatency> {
    let Some(first) = timings.first() else {
        return Vec::new();
    };
    let latency = |(stage, _): (&'static str, f64)| {
        let stage_of = |timing: &SearchTiming| {
            let mut stages = timing.stages().into_iter();
            stages.find(|(name, _)| *name == stage).map(|(_, ms)| ms)
        };
        let mut values: Vec<f64> = timings.iter().filter_map(stage_of).collect();
        values.sort_by(f64::total_cmp);
        let quantile = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        StageLatency {
            stage,
            mean: values.iter().sum::<f64>() / values.len() as f64,
            median: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
        }
    };
    // The model is loaded once, which is no stage of a query.
    let stages = first.stages().into_iter();
    stages
        .filter(|(stage, _)| *stage != "load")
        .map(latency)
        .collect()
}

fn table(stages: &[StageLatency]) -> Table {
    let header = ["ms per query", "mean", "median", "95 %", "99 %"];
    let mut table = Table::new(header.map(String::from).to_vec(), vec![1, 2, 3, 4]);
    for row in stages {
        let cells = [row.mean, row.median, row.p95, row.p99];
        let cells = cells.iter().map(|ms| format!("{ms:.3}"));
        table.row(std::iter::once(row.stage.to_owned()).chain(cells).collect());
    }
    table
}
