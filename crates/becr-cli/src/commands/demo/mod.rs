//! `becr demo`: the main job on the sample collection that is built into the program.

mod compare;
mod measure;
mod sample;

use crate::ranking::modes;
use crate::{output, progress};
use becr::{Build, FullSummary, Index, QueryMode, RankOptions};
use compare::Comparison;
use measure::Measurement;
use sample::Sample;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Index, search and evaluate the built-in sample collection
///
/// Needs no files and no network: collection and model are part of the program. The
/// index lives in a temporary folder and is removed at the end, unless it is to be
/// kept.
///
/// Examples:
///
///   becr demo
///
///   becr demo --mode encoded
///
///   becr demo --keep sample.becr
///
///   becr explain sample.becr "getting over a breakup" hearts-mend --html why.html
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Keep the index in this new directory, to search and explain on.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// How queries are read [default: as the bundled model says]; with encoded, the index has no token groups.
    #[arg(long, value_parser = modes())]
    mode: Option<QueryMode>,
    /// Print everything as JSON, at the end.
    #[arg(long)]
    json: bool,
}

/// What is shown, as `--json` prints it.
#[derive(Serialize)]
struct Report {
    documents: u64,
    groups: u64,
    seconds: f64,
    bytes: u64,
    mode: QueryMode,
    searches: Vec<Comparison>,
    measured: Measurement,
    /// The index, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<PathBuf>,
}

/// Queries to look at, and what each is an example of. The last one is a failure.
const SHOWN: [(&str, &str); 4] = [
    (
        "q18",
        "Words: “hot” and “dog” are in many texts, seldom in this sense and next to “car”.",
    ),
    (
        "q42",
        "A question: most of its words say little, and a plane is also a tool.",
    ),
    (
        "q130",
        "Meaning: the texts that answer it do not have the word “breakup”.",
    ),
    (
        "q91",
        "A failure: the texts that answer it never name the ants, but speak of a column on the tiles and of scouts\n  \
         in the larder. The one that is about ants, and of no use, has all the words.",
    ),
];

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let sample = Sample::load()?;
    let folder = tempfile::tempdir()?;
    let target = args
        .keep
        .clone()
        .unwrap_or_else(|| folder.path().join("sample.becr"));
    let mut out: Box<dyn Write> = match args.json {
        true => Box::new(std::io::sink()),
        false => Box::new(output::stdout()),
    };
    writeln!(
        out,
        "Building an index of {} short texts on everyday matters, with the bundled model …",
        Sample::CORPUS.lines().count()
    )?;
    out.flush()?;
    let started = Instant::now();
    let mode = args.mode;
    let (index, built) = build(&target, mode)?;
    let seconds = started.elapsed().as_secs_f64();
    let groups = match built.groups {
        0 => String::new(),
        groups => format!(" and {} token groups", indicatif::HumanCount(groups)),
    };
    writeln!(
        out,
        "{} documents{groups} encoded in {seconds:.1} s, {} on disk.",
        built.documents,
        indicatif::BinaryBytes(built.bytes)
    )?;
    let rank = RankOptions {
        mode,
        ..RankOptions::default()
    };
    let mode = index.query_mode(&rank)?;
    writeln!(out, "Queries are {}.", mode.name())?;
    writeln!(
        out,
        "Four searches, the last one a failure. Judged by reading: *** answers the query, ** relevant, * marginal."
    )?;
    let mut searches = Vec::new();
    for (id, shows) in SHOWN {
        if let Some(query) = sample.queries.iter().find(|query| query.id == id) {
            let comparison = compare::compare(&index, &sample, query, shows, rank)?;
            write!(out, "{comparison}")?;
            searches.push(comparison);
        }
    }
    let measured = measure::measure(&index, &sample, rank, built.groups > 0)?;
    write!(out, "{measured}")?;
    next(&mut out, args.keep.as_deref())?;
    out.flush()?;
    if args.json {
        output::json(&Report {
            documents: built.documents,
            groups: built.groups,
            seconds,
            bytes: built.bytes,
            mode,
            searches,
            measured,
            index: args.keep.clone(),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds a full index of the sample, as `becr index` does.
pub(super) fn build(
    target: &Path,
    mode: Option<QueryMode>,
) -> anyhow::Result<(Index, FullSummary)> {
    let stages = progress::Stages::default();
    let build = Build::new().mode(mode.unwrap_or_default());
    let built = build.run(target, Sample::documents(), &stages);
    stages.clear();
    Ok(built?)
}

fn next(out: &mut impl Write, kept: Option<&Path>) -> std::io::Result<()> {
    let index = kept.map_or("sample.becr".into(), |path| path.display().to_string());
    if kept.is_none() {
        writeln!(out, "\nThe same index to play with:")?;
        writeln!(out, "  becr demo --keep {index}")?;
    } else {
        writeln!(out, "\nThe index is yours to play with:")?;
    }
    write!(
        out,
        "  becr search {index} \"dog in hot car\" --explain
  becr explain {index} \"dog in hot car\" pets-heatstroke hot-hatch --html why.html

Your own documents, a folder of notes or a .jsonl file with id, title and text:
  becr index FOLDER --out notes.becr
  becr search notes.becr \"what you are looking for\"

Your own first stage, as a TREC run:
  becr rerank notes.becr --queries queries.tsv --run bm25.run --out becr.run
"
    )
}
