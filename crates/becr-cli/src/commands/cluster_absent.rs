//! What stands for `becr export` and `becr import` in a program without clusters.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const ABSENT: &str = "this program was built without the feature `redis`";

/// Write an index into a Redis Cluster (not in this build)
#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    /// Directory of the index.
    index: PathBuf,
    #[arg(hide = true)]
    to: Option<String>,
}

/// Write an index of a Redis Cluster into a directory (not in this build)
#[derive(clap::Args)]
pub(crate) struct ImportArgs {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// How a cluster is written to.
#[derive(Clone, Default, clap::Args)]
pub(crate) struct ClusterArgs {}

/// Nothing is ever written.
pub(super) struct Exported {
    pub(super) rows: u64,
}

impl ExportArgs {
    pub(crate) fn index(&self) -> &Path {
        let _ = &self.to;
        &self.index
    }
}

pub(crate) fn export(_: &ExportArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!(ABSENT)
}

pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let _ = &args.rest;
    anyhow::bail!(ABSENT)
}

pub(super) fn write(_: &Path, _: &str, _: &ClusterArgs) -> anyhow::Result<Exported> {
    anyhow::bail!(ABSENT)
}

pub(super) fn address(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    (text.starts_with("redis://") || text.starts_with("rediss://")).then_some(text)
}

pub(super) fn local(_: &str) -> anyhow::Result<PathBuf> {
    anyhow::bail!(ABSENT)
}
