//! A file of queries, on all cores, to a run.

use super::{Args, Searcher, Timing};
use crate::commands::corpus;
use crate::{output, progress};
use becr_eval::{Run, Table};
use becr_rank::RankWorkspace;
use rayon::prelude::*;
use std::path::Path;

pub(super) fn run(
    searcher: &Searcher,
    args: &Args,
    queries: &Path,
    out: &Path,
) -> anyhow::Result<()> {
    let k = args.k.unwrap_or(1000);
    let queries = corpus::queries(queries, args.batch.topic_field.into(), args.batch.on_error)?;
    let bar = progress::counting(queries.len() as u64, "queries");
    let answers: anyhow::Result<Vec<_>> = queries
        .par_iter()
        .map_init(RankWorkspace::new, |work, query| {
            let found = searcher.search(&query.text, k, work)?;
            bar.inc(1);
            let order = found.order().take(k);
            let rows: Vec<(String, f32)> = order
                .map(|(place, score, _)| (found.hits[place].id.clone(), score))
                .collect();
            Ok((rows, found.timing))
        })
        .collect();
    bar.finish_and_clear();
    let answers = answers?;
    let tag = match (&args.batch.tag, &searcher.ranking) {
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
fn latencies(timings: &[Timing]) -> Table {
    let header = ["ms per query", "mean", "median", "95 %", "99 %"];
    let mut table = Table::new(header.map(String::from).to_vec(), vec![1, 2, 3, 4]);
    for (stage, _) in timings[0].stages() {
        let stage_of = |timing: &Timing| {
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
