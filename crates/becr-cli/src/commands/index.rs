//! `becr index`: from a corpus to an index directory.

use super::corpus::CorpusArgs;
use super::token_groups::RuleArgs;
use crate::{backend, models, output, progress};
#[cfg(feature = "redis")]
use anyhow::Context;
use becr::{Build, Documents, FullSummary, Index, QueryMode, Shard};
use indexmap::IndexMap;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Build an index from a corpus
///
/// Documents and token groups are encoded into footprints for re-ranking, with the
/// model that comes with the program or with one of your own (--model). The build can
/// be interrupted at any time: the same command goes on where it stopped. With
/// --lexical-only it is a plain BM25 index, in seconds.
///
/// The index appears at --out when it is complete: a build that fails or is
/// interrupted leaves the index that was there before, or none.
///
/// With --mode encoded the index is for queries that go through the encoder: no token
/// groups are counted and encoded, and the corpus is read once. Queries composed of
/// token groups are refused then.
///
/// Examples:
///
///   becr index ~/notes --out notes.becr
///
///   becr index ~/notes --out notes.becr --mode encoded
///
///   becr index corpus.jsonl.zst --out corpus.becr --model minilm-l6
///
///   becr index ~/notes --out words.becr --lexical-only
///
///   becr index corpus.jsonl --out redis://redis-1:7000,redis-2:7000/corpus
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
#[command(group = clap::ArgGroup::new("known_groups").args(["groups", "mode"]).multiple(true))]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Directory of the new index, or its address in a cluster, redis://host:port[,host:port…]/name, in the place of what is
    /// there.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Where an index for a cluster is built before it is exported; removed then [default: NAME.becr-export in this folder].
    #[cfg(feature = "redis")]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Directory of the model that encodes documents and token groups, or hf:owner/name or hf:owner/name@revision of
    /// the Hugging Face hub [default: the bundled model].
    #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
    model: Option<PathBuf>,
    /// Index words only, for BM25 search: no document is encoded.
    #[arg(long)]
    lexical_only: bool,
    /// Replace the index at --out, in one step, when the new one is complete.
    #[arg(long)]
    overwrite: bool,
    /// Keep no titles and texts for display: a smaller index.
    #[arg(long, conflicts_with = "lexical_only")]
    no_text: bool,
    /// Which queries the index is for [default: composed, which serves encoded ones too].
    #[arg(long, value_enum, conflicts_with = "lexical_only")]
    mode: Option<BuildMode>,
    /// Use this list of token groups (see `becr groups`) instead of choosing them from the corpus.
    #[arg(long, value_name = "FILE", conflicts_with = "lexical_only")]
    groups: Option<PathBuf>,
    /// Build one part of several, `0/4` to `3/4`; `becr merge` joins them. All parts need the same --groups, or --mode
    /// encoded.
    #[arg(long, value_name = "I/N", value_parser = parse_shard, requires = "known_groups")]
    shard: Option<Shard>,
    /// Keep one vector of each document and no footprints of its tokens, for collections that are too large for those: 0.2 KB
    /// a document beside its words and text, whatever its length. Ranking goes by BM25 and vectors, with the same head but for
    /// its kernels, and does not say which words are near the query.
    #[arg(long, conflicts_with = "lexical_only")]
    vectors_only: bool,
    #[command(flatten)]
    rules: RuleArgs,
    /// Largest distance of the words of a pair that is kept [default: the model's window]
    #[arg(long, value_name = "N", conflicts_with_all = ["groups", "lexical_only"], value_parser = clap::value_parser!(u32).range(1..=500))]
    pair_distance: Option<u32>,
    #[command(flatten)]
    backend: backend::Args,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// Which queries an index is for.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum BuildMode {
    /// Queries composed of token groups, and encoded ones anyway.
    Composed,
    /// Queries that go through the encoder alone: no token groups are made.
    Encoded,
}

/// What was built.
#[derive(Serialize)]
struct Summary {
    index: PathBuf,
    #[serde(flatten)]
    built: FullSummary,
    skipped: u64,
    seconds: f64,
    /// Of these, by stage.
    stages: IndexMap<&'static str, f64>,
    documents_per_second: f64,
}

impl Args {
    /// What ^C says.
    pub fn after_interrupt(&self) -> &'static str {
        match self.lexical_only || self.corpus.reads_stdin() {
            true => "nothing was built; the same command starts over",
            false => "what is done is kept; the same command goes on where it stopped",
        }
    }
}

/// Does the work.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let documents = match args.vectors_only {
        true => Documents::Vectors,
        false => Documents::Encoded,
    };
    run_with(args, documents)
}

/// Builds an index whose documents are kept in this way, whatever the flags say of that.
pub fn run_with(args: &Args, documents: Documents) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    #[cfg(feature = "redis")]
    if let Some(address) = crate::cluster::address(&args.out) {
        return in_cluster(args, documents, address);
    }
    let (built, skipped, stages) = build(args, documents, &args.out)?;
    let seconds = started.elapsed().as_secs_f64();
    let summary = Summary {
        index: args.out.clone(),
        built,
        skipped,
        seconds,
        stages,
        documents_per_second: (built.documents - built.resumed) as f64 / seconds,
    };
    print(&summary, args.json)
}

/// Builds an index beside, exports it and removes it. What an export that failed left is exported again, not built.
#[cfg(feature = "redis")]
fn in_cluster(args: &Args, documents: Documents, address: &str) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !args.lexical_only,
        "an index in a cluster re-ranks, which one of words alone cannot; leave --lexical-only out"
    );
    let started = Instant::now();
    let shown = becr::cluster::shown(address)?;
    let work = match &args.work {
        Some(work) => work.clone(),
        None => format!("{}.becr-export", becr::cluster::name(address)?).into(),
    };
    let index = match becr_index::manifest::Manifest::is_in(&work) && !args.overwrite {
        true => {
            output::note(format_args!(
                "{}: this index is built; it is exported now (--overwrite builds it anew)",
                work.display()
            ));
            Index::open(&work)?
        }
        false => {
            build(args, documents, &work)?;
            Index::open(&work)?
        }
    };
    let exported = super::cluster::write(&index, address).with_context(|| {
        format!(
            "the index is built and stays in {}; the same command exports it",
            work.display()
        )
    })?;
    drop(index);
    std::fs::remove_dir_all(&work)
        .with_context(|| format!("{}: cannot remove what was exported", work.display()))?;
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        output::json(&serde_json::json!({
            "index": shown, "documents": exported.documents, "rows": exported.rows,
            "written": exported.written, "bytes": exported.bytes, "seconds": seconds,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output::stdout();
    let documents = indicatif::HumanCount(exported.documents);
    let bytes = indicatif::BinaryBytes(exported.bytes);
    writeln!(
        out,
        "{shown}: {documents} documents, {bytes}, {seconds:.1} s"
    )?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn build(
    args: &Args,
    kept: Documents,
    out: &Path,
) -> anyhow::Result<(FullSummary, u64, IndexMap<&'static str, f64>)> {
    output::check_directory(out)?;
    let mut corpus = args.corpus.open()?;
    // What an index of texts, and of all of them, can be kept in step with.
    let folders = match args.no_text || args.lexical_only || args.shard.is_some() {
        true => Vec::new(),
        false => args.corpus.folders(),
    };
    let stages = progress::Stages::reading(&corpus);
    let mut build = Build::new().overwrite(args.overwrite).folders(folders);
    // Standard input cannot be read again: such a build cannot be gone on with.
    if let Some(identity) = args.corpus.identity(&corpus) {
        build = build.identity(identity);
    }
    let documents = corpus.by_ref();
    let built = match args.lexical_only {
        true => build.lexical(out, documents, &stages),
        false => full(args, kept, build)?.run(out, documents, &stages),
    };
    stages.clear();
    let seconds = stages.seconds();
    let skipped = corpus.skipped();
    args.corpus.note(&skipped);
    let (index, built) = built?;
    note_unweighted(&index)?;
    Ok((built, skipped.total_faults(), seconds))
}

/// Says which numbers of the documents do not count, once: when they come in.
pub(super) fn note_unweighted(index: &Index) -> anyhow::Result<()> {
    let names = index.unweighted()?;
    if !names.is_empty() {
        output::note(format_args!(
            "Numbers of the documents that do not count, as the model's head has no weight for them: {}.",
            names.join(", ")
        ));
    }
    Ok(())
}

/// What an index with footprints takes beside documents.
fn full(args: &Args, documents: Documents, build: Build) -> anyhow::Result<Build> {
    let mode = match args.mode {
        Some(BuildMode::Encoded) => QueryMode::Encoded,
        _ => QueryMode::Composed,
    };
    anyhow::ensure!(
        args.shard.is_none() || args.groups.is_some() || mode == QueryMode::Encoded,
        "parts for composed queries need one list of token groups: name it with --groups"
    );
    let model = models::model(args.model.as_deref())?;
    let encoder = args.backend.open_new(model.clone())?;
    Ok(build
        .encoder(Arc::new(encoder))
        .keep_text(!args.no_text)
        .group_list(args.groups.clone())
        .rules(becr::Rules {
            pair_distance: args.pair_distance,
            ..args.rules.rules(&model)?
        })
        .query_log(args.rules.query_log()?)
        .count_memory(args.rules.memory())
        .shard(args.shard)
        .mode(mode)
        .documents(documents)
        .model(model))
}

fn print(summary: &Summary, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::json(summary)?;
        return Ok(ExitCode::SUCCESS);
    }
    let built = &summary.built;
    let mut out = output::stdout();
    let several = |count, one| {
        let number = indicatif::HumanCount(count);
        format!("{number} {}", output::noun(count, one))
    };
    let documents = several(built.documents, "document");
    write!(out, "{}: {documents}", summary.index.display())?;
    if built.tokens > 0 {
        write!(out, ", {}", several(built.tokens, "token"))?;
    }
    if built.groups > 0 {
        write!(out, ", {}", several(built.groups, "token group"))?;
    }
    if built.resumed > 0 {
        write!(
            out,
            " ({} done before)",
            indicatif::HumanCount(built.resumed)
        )?;
    }
    let bytes = indicatif::BinaryBytes(built.bytes);
    let rate = summary.documents_per_second;
    writeln!(
        out,
        ", {bytes}, {:.1} s ({rate:.1} documents/s)",
        summary.seconds
    )?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn parse_shard(text: &str) -> Result<Shard, String> {
    let expected = || format!("expected I/N with I below N, such as 0/4, found {text:?}");
    let (part, of) = text.split_once('/').ok_or_else(expected)?;
    let (part, of) = (
        part.parse().map_err(|_| expected())?,
        of.parse().map_err(|_| expected())?,
    );
    if part < of {
        Ok(Shard { part, of })
    } else {
        Err(expected())
    }
}
