//! Reading what `becr eval` compares.

use super::Args;
use crate::output;
use anyhow::ensure;
use becr_eval::{Evaluation, Qrels, Run, Scope, evaluate, read_qrels, read_run};
use std::fs;
use std::path::{Path, PathBuf};

/// The runs to measure, then the baselines that are not among them.
pub(super) struct Systems {
    pub(super) all: Vec<System>,
    /// How many of them are runs to measure.
    pub(super) runs: usize,
    /// Positions of the baselines in the order given.
    pub(super) baselines: Vec<usize>,
}

/// One run with its measures.
pub(super) struct System {
    pub(super) path: PathBuf,
    /// A short name, unlike the others'.
    pub(super) label: String,
    pub(super) tag: String,
    pub(super) evaluation: Evaluation,
    pub(super) skipped: u64,
}

impl Systems {
    pub(super) fn runs(&self) -> &[System] {
        &self.all[..self.runs]
    }

    /// Baselines given only as such stand above the runs in a table.
    pub(super) fn in_table_order(&self) -> impl Iterator<Item = (usize, &System)> {
        let systems = || self.all.iter().enumerate();
        systems().skip(self.runs).chain(systems().take(self.runs))
    }
}

pub(super) fn load(args: &Args) -> anyhow::Result<Systems> {
    let (qrels, skips) = read_qrels(&args.qrels, args.on_error.into())?;
    output::note_report(&skips);
    ensure!(
        !qrels.queries.is_empty(),
        "{}: no judgements in it",
        args.qrels.display()
    );

    let (paths, baselines) = distinct_paths(args);
    let labels = labels(&paths);
    let mut all = Vec::with_capacity(paths.len());
    for (path, label) in paths.into_iter().zip(labels) {
        let (run, skips) = read_run(&path, args.on_error.into())?;
        output::note_report(&skips);
        let evaluation = evaluate(&qrels, &run, &args.measures.0, args.scope());
        check_overlap(args, &path, &qrels, &run, &evaluation)?;
        all.push(System {
            path,
            label,
            tag: run.tag,
            evaluation,
            skipped: skips.count,
        });
    }
    Ok(Systems {
        all,
        runs: args.runs.len(),
        baselines,
    })
}

/// The files to read, each once, and the positions of the baselines among them. Runs named twice stay
/// twice: the table has a row for each `--run`.
fn distinct_paths(args: &Args) -> (Vec<PathBuf>, Vec<usize>) {
    let same = |a: &Path, b: &Path| {
        a == b
            || fs::canonicalize(a)
                .ok()
                .is_some_and(|a| fs::canonicalize(b).ok() == Some(a))
    };
    let mut paths = args.runs.clone();
    let mut baselines = Vec::new();
    for baseline in &args.baselines {
        let position = paths
            .iter()
            .position(|path| same(path, baseline))
            .unwrap_or_else(|| {
                paths.push(baseline.clone());
                paths.len() - 1
            });
        if !baselines.contains(&position) {
            baselines.push(position);
        }
    }
    (paths, baselines)
}

/// File names without the usual endings, or whole paths where two would be the same.
fn labels(paths: &[PathBuf]) -> Vec<String> {
    let short = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy();
        let name = name
            .strip_suffix(".gz")
            .or(name.strip_suffix(".zst"))
            .unwrap_or(&name);
        let stem = name
            .strip_suffix(".run")
            .or(name.strip_suffix(".txt"))
            .or(name.strip_suffix(".tsv"));
        stem.filter(|stem| !stem.is_empty())
            .unwrap_or(name)
            .to_owned()
    };
    let shorts: Vec<String> = paths.iter().map(short).collect();
    let unique = |label: &String| shorts.iter().filter(|other| *other == label).count() == 1;
    let choose = |(label, path): (&String, &PathBuf)| match unique(label) {
        true => label.clone(),
        false => path.display().to_string(),
    };
    shorts.iter().zip(paths).map(choose).collect()
}

fn check_overlap(
    args: &Args,
    path: &Path,
    qrels: &Qrels,
    run: &Run,
    evaluation: &Evaluation,
) -> anyhow::Result<()> {
    let judged = qrels.queries.len();
    let (path, from) = (path.display(), args.qrels.display());
    let id = |query: Option<&String>| query.map_or("none".to_owned(), |id| format!("{id:?}"));
    ensure!(
        evaluation.unanswered < judged || args.complete,
        "{path}: expected answers to queries judged in {from} such as {}, found {}; check that the files \
         belong together, or count the missing answers as 0 with --complete",
        id(qrels.queries.keys().next()),
        id(run.queries.keys().next()),
    );
    if evaluation.unanswered > 0 {
        let how = match args.scope() {
            Scope::Complete => "counted as 0",
            Scope::Answered => "left out (--complete counts them as 0)",
        };
        output::note(format_args!(
            "note: {path} does not answer {} of {judged} judged queries: {how}",
            evaluation.unanswered
        ));
    }
    if evaluation.unjudged > 0 {
        output::note(format_args!(
            "note: {path} answers {} queries without judgements in {from}: left out",
            evaluation.unjudged
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_distinct() {
        let paths = ["a/bm25.run", "b/bm25.run.gz", "c/becr.run.zst", "d/x"].map(PathBuf::from);
        assert_eq!(labels(&paths), ["a/bm25.run", "b/bm25.run.gz", "becr", "x"]);
    }
}
