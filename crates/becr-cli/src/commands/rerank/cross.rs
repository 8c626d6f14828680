//! Re-ranking with a cross-encoder in the place of the index's own head.

use super::{Args, Task, Unknown};
use crate::{hub, output, progress};
use anyhow::Context;
use becr::{Index, Model, scores_below};
use becr_encoder::{Classifier, CrossEncoder};
use becr_eval::{Candidates, Run};
use rayon::prelude::*;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// What was done.
#[derive(Serialize)]
struct CrossReport {
    /// Queries in the new run.
    queries: usize,
    /// Documents in the new run.
    documents: usize,
    /// Documents that were read together with a query.
    scored: usize,
    /// Of these, longer than the model can take.
    cut: usize,
    /// Queries of the run that the queries file does not have.
    queries_without_text: usize,
    /// Documents of the run that the index does not have.
    unknown_documents: usize,
    /// Lines of the run that name a document its query has already.
    repeated: u64,
    /// Lines of the run that cannot be used.
    skipped: u64,
    /// Seconds for all queries, on all cores.
    seconds: f64,
}

/// A query's documents, best first, and those that the index does not have.
struct Ranked {
    order: Vec<(usize, f32)>,
    unknown: Vec<usize>,
    cut: usize,
}

pub(super) fn run(
    args: &Args,
    directory: &Path,
    tasks: &[Task<'_>],
    candidates: &Candidates,
) -> anyhow::Result<()> {
    let index = args.rank.open(&args.index)?;
    let (model, classifier) = Classifier::split(Model::read(hub::directory(directory)?)?)?;
    let cross = CrossEncoder::new(args.backend.open(model)?, classifier);
    let begun = Instant::now();
    let documents = tasks.iter().filter(|task| task.text.is_some());
    let documents: usize = documents.map(|task| task.candidates.len()).sum();
    let bar = progress::counting(documents as u64, "documents");
    let ranked = tasks.par_iter().map(|task| {
        let Some(text) = task.text else {
            return Ok(None);
        };
        let ranked =
            rank(&index, &cross, text, task).with_context(|| format!("query {:?}", task.query));
        bar.inc(task.candidates.len() as u64);
        ranked.map(Some)
    });
    let ranked = ranked.collect::<anyhow::Result<Vec<_>>>();
    bar.finish_and_clear();
    let ranked = ranked?;
    let mut run = Run::new(&args.tag);
    for (task, ranked) in tasks.iter().zip(&ranked) {
        for (id, score) in rows(task, ranked.as_ref(), args.unknown) {
            run.push(task.query, id, score);
        }
    }
    becr_eval::write_run(&args.out, &run)?;
    let answered = || ranked.iter().flatten();
    let report = CrossReport {
        queries: run.queries.len(),
        documents: run.queries.values().map(Vec::len).sum(),
        scored: answered().map(|ranked| ranked.order.len()).sum(),
        cut: answered().map(|ranked| ranked.cut).sum(),
        queries_without_text: tasks.len() - answered().count(),
        unknown_documents: answered().map(|ranked| ranked.unknown.len()).sum(),
        repeated: candidates.repeated.count,
        skipped: candidates.skipped.count,
        seconds: begun.elapsed().as_secs_f64(),
    };
    report.tell(args)
}

/// Reads the candidates of a query together with it.
fn rank(
    index: &Index,
    cross: &CrossEncoder,
    text: &str,
    task: &Task<'_>,
) -> anyhow::Result<Ranked> {
    let view = index.view()?;
    let (mut places, mut texts, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    {
        let snapshot = view.snapshot()?;
        for (place, (id, _)) in task.candidates.iter().enumerate() {
            match snapshot.number(id)? {
                Some(number) => {
                    places.push(place);
                    texts.push(snapshot.text(number)?.context(
                        "the index keeps no texts for a cross-encoder to read; build it without --no-text",
                    )?);
                }
                None => unknown.push(place),
            }
        }
    }
    let documents: Vec<(&str, &str)> = texts
        .iter()
        .map(|text| (text.title.as_ref(), text.text.as_ref()))
        .collect();
    let scored = cross.scores(text, &documents)?;
    let mut order: Vec<(usize, f32)> = places.into_iter().zip(scored.scores).collect();
    let id = |place: usize| &task.candidates[place].0;
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| id(a.0).cmp(id(b.0))));
    Ok(Ranked {
        order,
        unknown,
        cut: scored.cut,
    })
}

/// A query's part of the new run.
fn rows<'a>(task: &Task<'a>, ranked: Option<&Ranked>, unknown: Unknown) -> Vec<(&'a str, f64)> {
    let Some(ranked) = ranked else {
        let unchanged = task.candidates.iter();
        return unchanged.map(|(id, score)| (id.as_str(), *score)).collect();
    };
    let lowest = ranked.order.last().map(|(_, score)| *score);
    let behind = ranked.unknown.iter().copied().zip(scores_below(lowest));
    let behind = behind.filter(|_| unknown == Unknown::KeepLast);
    let all = ranked.order.iter().copied().chain(behind);
    all.map(|(place, score)| (task.candidates[place].0.as_str(), f64::from(score)))
        .collect()
}

impl CrossReport {
    /// On standard output if it is JSON, otherwise on standard error: the result is a file.
    fn tell(&self, args: &Args) -> anyhow::Result<()> {
        if args.json {
            return output::json(self);
        }
        let notes = [
            (
                self.queries_without_text,
                "queries of the run are not in the queries file and stay as they were",
            ),
            (
                self.unknown_documents,
                "documents of the run are not in the index",
            ),
            (
                self.cut,
                "documents were longer than the model can take beside the query: their ends were not read",
            ),
        ];
        for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
            output::note(format_args!("{count} {what}"));
        }
        let out = output::written(&args.out);
        let documents = output::several(self.documents as u64, "document");
        let queries = output::several(self.queries as u64, "query");
        output::note(format_args!(
            "{out}: {documents} for {queries}, {:.2} s a query on all cores",
            self.seconds / self.queries.max(1) as f64
        ));
        Ok(())
    }
}
