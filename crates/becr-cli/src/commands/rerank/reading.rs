//! What re-rankers that read texts share: the cross-encoder and the baselines.

use super::{Args, Input, Task, Unknown};
use crate::output;
use anyhow::Context;
use becr::{Index, scores_below};
use becr_eval::Run;
use serde::Serialize;
use std::time::Instant;

/// What was done.
#[derive(Serialize)]
struct ReadingReport {
    /// Queries in the new run.
    queries: usize,
    /// Documents in the new run.
    documents: usize,
    /// Documents that were read.
    scored: usize,
    /// Of these, longer than the model can take: their ends were not read.
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
pub struct RankedTexts {
    order: Vec<(usize, f32)>,
    unknown: Vec<usize>,
    cut: usize,
}

/// The texts of a query's candidates.
pub struct CandidateTexts {
    /// Title and text.
    pub texts: Vec<(String, String)>,
    places: Vec<usize>,
    unknown: Vec<usize>,
}

impl CandidateTexts {
    /// Reads them from the index.
    pub fn read(index: &Index, task: &Task<'_>) -> anyhow::Result<Self> {
        let view = index.view()?;
        let snapshot = view.snapshot()?;
        let (mut texts, mut places, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (id, _)) in task.candidates.iter().enumerate() {
            match snapshot.number(id)? {
                Some(number) => {
                    let text = snapshot.text(number)?.context(
                        "the index keeps no texts for a model to read; build it without --no-text",
                    )?;
                    places.push(place);
                    texts.push((text.title.to_string(), text.text.to_string()));
                }
                None => unknown.push(place),
            }
        }
        Ok(Self {
            texts,
            places,
            unknown,
        })
    }

    /// Puts them in the order of their scores; of `cut` texts the ends were not read.
    pub fn ranked(self, task: &Task<'_>, scores: Vec<f32>, cut: usize) -> RankedTexts {
        let mut order: Vec<(usize, f32)> = self.places.into_iter().zip(scores).collect();
        let id = |place: usize| &task.candidates[place].0;
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| id(a.0).cmp(id(b.0))));
        RankedTexts {
            order,
            unknown: self.unknown,
            cut,
        }
    }
}

/// Writes the new run and tells what was done. A query without a text is `None`.
pub fn write(
    args: &Args,
    input: &Input,
    tasks: &[Task<'_>],
    ranked: &[Option<RankedTexts>],
    begun: Instant,
) -> anyhow::Result<()> {
    let mut run = Run::new(&args.tag);
    for (task, ranked) in tasks.iter().zip(ranked) {
        for (id, score) in args.best(rows(task, ranked.as_ref(), args.unknown)) {
            run.push(task.query, id, score);
        }
    }
    becr_eval::write_run(&args.out, &run)?;
    let answered = || ranked.iter().flatten();
    let report = ReadingReport {
        queries: run.queries.len(),
        documents: run.queries.values().map(Vec::len).sum(),
        scored: answered().map(|ranked| ranked.order.len()).sum(),
        cut: answered().map(|ranked| ranked.cut).sum(),
        queries_without_text: tasks.len() - answered().count(),
        unknown_documents: answered().map(|ranked| ranked.unknown.len()).sum(),
        repeated: input.candidates.repeated.count,
        skipped: input.candidates.skipped.count,
        seconds: begun.elapsed().as_secs_f64(),
    };
    report.tell(args)
}

/// A query's part of the new run.
fn rows<'a>(
    task: &Task<'a>,
    ranked: Option<&RankedTexts>,
    unknown: Unknown,
) -> Vec<(&'a str, f64)> {
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

impl ReadingReport {
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
