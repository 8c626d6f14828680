//! A file of queries, on all cores, to a run.

use super::Args;
use crate::commands::corpus;
use crate::{output, progress};
use becr::{Details, Index, RankOptions, SearchOptions, SearchTiming};
use becr_eval::{Run, Table};
use rayon::prelude::*;
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
    let (path, answered) = (out.display(), run.queries.len());
    output::note(format_args!(
        "{path}: {documents} documents for {answered} queries"
    ));
    if args.timing && !timings.is_empty() {
        output::note(latencies(&timings));
    }
    Ok(())
}

/// How long each stage takes a query: mean, median and the slow ones.
fn latencies(timings: &[SearchTiming]) -> Table {
    let header = ["ms per query", "mean", "median", "95 %", "99 %"];
    let mut table = Table::new(header.map(String::from).to_vec(), vec![1, 2, 3, 4]);
    for (stage, _) in timings[0].stages() {
        let stage_of = |timing: &SearchTiming| {
            let mut stages = timing.stages().into_iter();
            stages.find(|(name, _)| *name == stage).map(|(_, ms)| ms)
        };
        let mut values: Vec<f64> = timings.iter().filter_map(stage_of).collect();
        values.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let quantile = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        let cells = [mean, quantile(0.5), quantile(0.95), quantile(0.99)];
        let cells = cells.iter().map(|ms| format!("{ms:.3}"));
        table.row(std::iter::once(stage.to_owned()).chain(cells).collect());
    }
    table
}
