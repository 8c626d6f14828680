//! `becr index`: from a corpus to an index directory.

use super::corpus::CorpusArgs;
use crate::{output, progress};
use anyhow::Context;
use becr_corpus::Corpus;
use becr_index::IndexBuilder;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Build an index from a corpus.
///
/// The index appears at --out when it is complete: a build that fails or is interrupted leaves the index
/// that was there before, or none.
///
/// Examples:
///
///   becr index ~/notes --out notes.becr --lexical-only
///
///   becr index corpus.jsonl.zst --out corpus.becr --lexical-only --on-error skip
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Directory of the new index.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Index words only, for BM25 search: no document is encoded. For now the only kind of index.
    #[arg(long, required = true)]
    lexical_only: bool,
    /// Replace the index at --out, in one step, when the new one is complete.
    #[arg(long)]
    overwrite: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// What was built.
#[derive(Serialize)]
struct Summary {
    index: PathBuf,
    documents: u64,
    skipped: u64,
    bytes: u64,
    seconds: f64,
    documents_per_second: f64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    debug_assert!(args.lexical_only, "clap requires it");
    let started = Instant::now();
    let mut corpus = args.corpus.open()?;
    let mut builder = IndexBuilder::create(&args.out, args.overwrite)?;
    let bar = progress::reading(&corpus.progress());
    fill(&mut builder, &mut corpus, &bar)?;
    bar.set_message("committing");
    let built = builder.finish()?;
    bar.finish_and_clear();
    let skipped = corpus.skipped();
    output::note_report(&skipped);
    let seconds = started.elapsed().as_secs_f64();
    let summary = Summary {
        index: args.out.clone(),
        documents: built.documents,
        skipped: skipped.total_faults(),
        bytes: built.bytes,
        seconds,
        documents_per_second: built.documents as f64 / seconds,
    };
    print(&summary, args.json)
}

fn fill(
    builder: &mut IndexBuilder,
    corpus: &mut Corpus,
    bar: &progress::Reading,
) -> anyhow::Result<()> {
    for document in corpus {
        let document = document.context(
            "the corpus has a fault; mend it, or pass --on-error skip to leave such documents out",
        )?;
        builder.add(&document.id, &document.title, &document.text)?;
        bar.update();
    }
    Ok(())
}

fn print(summary: &Summary, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::json(summary)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output::stdout();
    writeln!(
        out,
        "{}: {} documents, {}, {:.1} s ({:.0} documents/s)",
        summary.index.display(),
        indicatif::HumanCount(summary.documents),
        indicatif::BinaryBytes(summary.bytes),
        summary.seconds,
        summary.documents_per_second,
    )?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
