//! Re-ranking with a baseline, in a program that was built without training.

use becr_cli::rerank::Args;
use std::path::Path;

pub(super) fn run(_: &Args, directory: &Path) -> anyhow::Result<()> {
    anyhow::bail!(
        "{}: this becr-lab was built without the baselines; build it from the sources with `--features train`",
        directory.display()
    )
}
