//! Re-ranking with a cross-encoder in the place of the index's own head.

use super::reading::{self, CandidateTexts, RankedTexts};
use super::{Args, Input, Task};
use crate::{hub, progress};
use anyhow::Context;
use becr::{Index, Model};
use becr_encoder::{Classifier, CrossEncoder};
use rayon::prelude::*;
use std::path::Path;
use std::time::Instant;

pub(super) fn run(args: &Args, directory: &Path, input: &Input) -> anyhow::Result<()> {
    let tasks = input.tasks();
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
    reading::write(args, input, &tasks, &ranked?, begun)
}

/// Reads the candidates of a query together with it.
fn rank(
    index: &Index,
    cross: &CrossEncoder,
    text: &str,
    task: &Task<'_>,
) -> anyhow::Result<RankedTexts> {
    let read = CandidateTexts::read(index, task)?;
    let documents: Vec<(&str, &str)> = read
        .texts
        .iter()
        .map(|(title, text)| (title.as_str(), text.as_str()))
        .collect();
    let scored = cross.scores(text, &documents)?;
    Ok(read.ranked(task, scored.scores, scored.cut))
}
