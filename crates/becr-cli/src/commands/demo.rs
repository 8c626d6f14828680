//! `becr demo`: the main job on the sample collection that is built into the program.

use super::sample::Sample;
use crate::output;
use becr_eval::{Run, Scope, evaluate, parse_measures};
use becr_index::IndexBuilder;
use becr_index::first_stage::FirstStage;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

/// Index, search and evaluate the built-in sample collection
///
/// Needs no files and no network. The index lives in a temporary folder and is
/// removed at the end.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {}

/// Queries that show what words alone can and cannot do.
const SHOWN: [&str; 3] = ["q02", "q19", "q38"];
const DEPTH: usize = 5;

pub(crate) fn run(_: &Args) -> anyhow::Result<ExitCode> {
    let sample = Sample::load()?;
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("sample.becr");
    let started = Instant::now();
    let mut builder = IndexBuilder::create(&target, false)?;
    for document in &sample.documents {
        builder.add(&document.id, &document.title, &document.text)?;
    }
    builder.finish()?;
    let indexing = started.elapsed();
    let index = FirstStage::open(&target)?;

    let mut out = output::stdout();
    let documents = sample.documents.len();
    writeln!(
        out,
        "Indexed {documents} documents in {:.0} ms.",
        indexing.as_secs_f64() * 1e3
    )?;
    for id in SHOWN {
        show(&sample, &index, id, &mut out)?;
    }
    score(&sample, &index, &mut out)?;
    write!(out, "{NEXT}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The best documents of one query, each with its judgement.
fn show(sample: &Sample, index: &FirstStage, id: &str, out: &mut impl Write) -> anyhow::Result<()> {
    let Some(query) = sample.queries.iter().find(|query| query.id == id) else {
        return Ok(());
    };
    writeln!(out, "\n{}", query.text)?;
    for (hit, rank) in index.search(&query.text, DEPTH)?.iter().zip(1..) {
        let grade = sample.qrels.queries[id].get(&hit.id).copied().unwrap_or(0);
        let judged = ["not relevant", "marginal", "relevant", "exactly it"];
        let judged = judged[grade.clamp(0, 3) as usize];
        writeln!(out, "  {rank}. {:<54} {judged}", index.title(hit)?)?;
    }
    Ok(())
}

/// Runs all queries and measures the answers.
fn score(sample: &Sample, index: &FirstStage, out: &mut impl Write) -> anyhow::Result<()> {
    let mut run = Run::new("BM25");
    let started = Instant::now();
    for query in &sample.queries {
        for hit in index.search(&query.text, 150)? {
            run.push(&query.id, hit.id, f64::from(hit.score));
        }
    }
    let each = started.elapsed().as_secs_f64() * 1e3 / sample.queries.len() as f64;
    let measures = parse_measures("nDCG@10 RR@10 P@5")?;
    let evaluation = evaluate(&sample.qrels, &run, &measures, Scope::Complete);
    writeln!(
        out,
        "\nBM25 on all {} queries, {each:.2} ms each:",
        sample.queries.len()
    )?;
    for (n, measure) in measures.iter().enumerate() {
        writeln!(
            out,
            "  {:<8} {:.3}",
            measure.to_string(),
            evaluation.mean(n).unwrap_or_default()
        )?;
    }
    Ok(())
}

const NEXT: &str = "
The traps are on purpose: the same words in another sense, titles that promise, answers in other
words. They are what re-ranking is for; this version has its first stage, its encoder and its scoring
engine, and the ranker that joins them comes next.

With your own documents:
  becr index FOLDER --out notes.becr --lexical-only
  becr search notes.becr \"what you are looking for\"
";
