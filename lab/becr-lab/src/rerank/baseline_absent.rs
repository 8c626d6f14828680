//! Re-ranking with a baseline, in a program that was built without training.

use super::{Args, Task};
use becr_eval::Candidates;
use std::path::Path;

pub(super) fn run(
    _: &Args,
    directory: &Path,
    _: &[Task<'_>],
    _: &Candidates,
) -> anyhow::Result<()> {
    anyhow::bail!(
        "{}: this becr was built without the baselines; build it from the sources with `--features train`",
        directory.display()
    )
}
