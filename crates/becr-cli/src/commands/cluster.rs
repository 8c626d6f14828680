//! `becr export` and `becr import`: indexes into a cluster and back.

use crate::{output, progress};
use anyhow::Context;
use becr::{ClusterOptions, Exported, Index};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write an index into a Redis Cluster
///
/// Records, token groups and statistics go to the cluster, with head and tokenizer, so
/// that any number of servers can share it: `becr serve`, `becr rerank` and `becr
/// explain` take the address in the place of a directory. What is there under the name
/// is replaced in one step, when everything has been written, replicated and counted.
/// Interrupted, or out of memory, the same command goes on where it stopped.
///
/// Examples:
///
///   becr export wiki.becr redis://10.0.0.1:7000,10.0.0.2:7000/wiki
///
///   becr serve redis://10.0.0.1:7000,10.0.0.2:7000/wiki
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExportArgs {
    /// Directory of the index.
    index: PathBuf,
    /// Where to: redis://[user:password@]host:port[,host:port…]/name, some nodes of the cluster and a name.
    #[arg(value_name = "ADDRESS", env = "BECR_CLUSTER", hide_env_values = true)]
    to: String,
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

/// How a cluster is written to.
#[derive(Clone, Default, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Replicas of each master that must have everything before it is published [default: all it has].
    #[arg(long, value_name = "NUMBER")]
    replicas: Option<usize>,
}

impl ClusterArgs {
    fn options(&self) -> ClusterOptions {
        ClusterOptions {
            replicas: self.replicas,
            ..ClusterOptions::default()
        }
    }
}

/// Write an index of a Redis Cluster into a directory
///
/// The first stage is made anew, from texts or, where they were not kept, from words.
///
/// Example:
///
///   becr import redis://10.0.0.1:7000/wiki --out wiki.becr
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ImportArgs {
    /// Where from: redis://[user:password@]host:port[,host:port…]/name.
    #[arg(value_name = "ADDRESS", env = "BECR_CLUSTER", hide_env_values = true)]
    from: String,
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

impl ExportArgs {
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }
}

pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let done = write(&args.index, &args.to, &args.cluster)?;
    if args.json {
        output::json(&serde_json::json!({
            "documents": done.documents, "rows": done.rows, "written": done.written, "bytes": done.bytes,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output::stdout();
    write!(out, "{} documents, {} rows", done.documents, done.rows)?;
    if done.written < done.rows {
        write!(out, " ({} were there before)", done.rows - done.written)?;
    }
    writeln!(out, ", {} written", indicatif::BinaryBytes(done.bytes))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the index in a directory to an address.
pub(super) fn write(index: &Path, to: &str, cluster: &ClusterArgs) -> anyhow::Result<Exported> {
    let stages = progress::Stages::default();
    let done = Index::open(index)?.export(to, cluster.options(), &stages);
    stages.clear();
    Ok(done?)
}

pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let stages = progress::Stages::default();
    let documents = becr::import(&args.from, &args.out, args.overwrite, &stages);
    stages.clear();
    let documents = documents?;
    if args.json {
        output::json(&serde_json::json!({ "documents": documents }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output::stdout();
    writeln!(out, "{}: {documents} documents", args.out.display())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The address that a path is, if it is one.
pub(super) fn address(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    (text.starts_with("redis://") || text.starts_with("rediss://")).then_some(text)
}

/// Where an index is built that goes to a cluster: here, under its name.
pub(super) fn local(address: &str) -> anyhow::Result<PathBuf> {
    let name = address.rsplit('/').next().filter(|name| !name.is_empty());
    let name = name.context("the address ends with / and the name of the index")?;
    Ok(PathBuf::from(format!("{name}.becr")))
}
