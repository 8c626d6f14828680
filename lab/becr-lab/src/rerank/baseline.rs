//! Re-ranking with one of the models that the paper compares BECR with.

use anyhow::Context;
use becr_cli::progress;
use becr_cli::rerank::{Args, CandidateTexts, Input, Task, write};
use becr_train::Device;
use becr_train::baseline::{BaselineRanker, QueryTexts};
use std::path::Path;
use std::time::Instant;

pub(super) fn run(args: &Args, directory: &Path) -> anyhow::Result<()> {
    let input = Input::read(args)?;
    let tasks = input.tasks();
    let index = args.rank.open(args.index())?;
    let device = match args.backend.is_cuda() {
        true => Device::Cuda(0),
        false => Device::Cpu,
    };
    let ranker = BaselineRanker::open(directory, device)?;
    let begun = Instant::now();
    let asked: Vec<&Task<'_>> = tasks.iter().filter(|task| task.text.is_some()).collect();
    let bar = progress::counting(asked.len() as u64, "queries");
    let mut read = Vec::with_capacity(asked.len());
    let scores = ranker.scores(asked.len(), &mut |number| {
        let task = asked[number];
        let mut texts = CandidateTexts::read(&index, task)
            .with_context(|| format!("query {:?}", task.query))?;
        let documents = std::mem::take(&mut texts.texts);
        read.push(texts);
        bar.inc(1);
        Ok(QueryTexts {
            query: task.text.unwrap_or_default().to_owned(),
            documents,
        })
    });
    bar.finish_and_clear();
    let mut scored = read.into_iter().zip(scores?);
    let ranked: Vec<_> = tasks
        .iter()
        .map(|task| {
            let (read, scores) = task.text.and_then(|_| scored.next())?;
            Some(read.ranked(task, scores, 0))
        })
        .collect();
    write(args, &input, &tasks, &ranked, begun)
}
