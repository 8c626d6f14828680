//! Trainings that need more than this program was built with.

use super::Args;
use std::process::ExitCode;

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // What stands on the command line is what the full program takes, too.
    let asked = std::env::args().skip_while(|argument| argument != "train");
    let asked: Vec<String> = asked.skip(1).collect();
    anyhow::bail!(
        "{}: this becr-lab was built without training, which needs a framework that takes minutes to build; from the sources, run \
         `cargo run --release -p becr-lab --features train -- train {}`",
        args.config.display(),
        asked.join(" ")
    )
}
