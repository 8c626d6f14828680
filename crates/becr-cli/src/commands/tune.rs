//! Fine-tuning of a head.

use super::{Args, print};
use crate::{output, progress};
use anyhow::ensure;
use becr_tune::Config;
use std::process::ExitCode;

pub(super) fn run(args: &Args, mut config: Config) -> anyhow::Result<ExitCode> {
    ensure!(
        !args.prepare && !args.restart,
        "{}: --prepare and --restart don't go with [tune], which takes seconds and leaves nothing behind but the head",
        args.config.display()
    );
    if let Some(seed) = args.seed {
        config.seed = seed;
    }
    if let Some(out) = &args.out {
        config.out.clone_from(out);
    }
    output::check_file(&config.out)?;
    let bar = progress::counting(0, "queries measured");
    let outcome = becr_tune::tune(&config, &|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let outcome = outcome?;
    match args.json {
        true => output::json(&outcome)?,
        false => print(&outcome)?,
    }
    Ok(ExitCode::SUCCESS)
}
