//! `becr export` and `becr import`: an index between this machine's disk and a Redis Cluster.

use crate::{cluster, output, progress};
use anyhow::Context;
use becr::Index;
use becr::cluster::Exported;
use indicatif::{BinaryBytes, HumanCount};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Write an index to a Redis Cluster
///
/// Records, token groups, statistics, head and tokenizer go there: what re-ranking needs,
/// for any number of servers. What is at the address already is replaced in one step when
/// all of it is written, taken by replicas and counted. An export that was interrupted, or
/// whose nodes ran out of memory, is gone on with by the same command.
///
/// Examples:
///
///   becr export corpus.becr redis://redis-1:7000,redis-2:7000/corpus
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExportArgs {
    /// Directory of the index.
    index: PathBuf,
    /// Where to: redis://[user:password@]host:port[,host:port…]/name.
    address: String,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

/// Make an index directory of an index in a Redis Cluster
///
/// The first stage is made anew from what the cluster has of the documents.
///
/// Examples:
///
///   becr import redis://redis-1:7000/corpus --out corpus.becr
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ImportArgs {
    /// Where from: redis://[user:password@]host:port[,host:port…]/name.
    address: String,
    /// Directory of the new index.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Replace the index at --out, in one step, when the new one is complete.
    #[arg(long)]
    overwrite: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ExportOutput {
    address: String,
    documents: u64,
    rows: u64,
    /// Rows that an export which was interrupted had not written.
    written: u64,
    bytes: u64,
    seconds: f64,
}

impl ExportArgs {
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }
}

pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let index = Index::open(&args.index)?;
    let begun = Instant::now();
    let exported = write(&index, &args.address)?;
    let output = ExportOutput {
        address: becr::cluster::shown(&args.address)?,
        documents: exported.documents,
        rows: exported.rows,
        written: exported.written,
        bytes: exported.bytes,
        seconds: begun.elapsed().as_secs_f64(),
    };
    if args.json {
        output::json(&output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output::stdout();
    write!(
        out,
        "{}: {} documents, {} rows",
        output.address,
        HumanCount(output.documents),
        HumanCount(output.rows)
    )?;
    if output.written < output.rows {
        let before = HumanCount(output.rows - output.written);
        write!(out, " ({before} done before)")?;
    }
    let bytes = BinaryBytes(output.bytes);
    writeln!(out, ", {bytes}, {:.1} s", output.seconds)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Exports an index, with a bar.
pub(super) fn write(index: &Index, address: &str) -> anyhow::Result<Exported> {
    // A wrong address is told before rows are counted.
    becr::cluster::shown(address)?;
    let bar = progress::counting(becr::cluster::rows(index)?, "rows");
    let exported = becr::cluster::export(index, address, cluster::writing(), &mut |rows| {
        bar.inc(rows);
    });
    bar.finish_and_clear();
    Ok(exported?)
}

pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let address = becr::cluster::shown(&args.address)?;
    let stages = progress::Stages::default();
    let (out, options) = (&args.out, cluster::reading_all());
    let documents = becr::cluster::import(&args.address, out, args.overwrite, options, &stages);
    stages.clear();
    let documents = documents.with_context(|| format!("importing {address}"))?;
    if args.json {
        output::json(&serde_json::json!({ "address": address, "documents": documents }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut to = output::stdout();
    let count = HumanCount(documents);
    writeln!(to, "{}: {count} documents from {address}", out.display())?;
    to.flush()?;
    Ok(ExitCode::SUCCESS)
}
