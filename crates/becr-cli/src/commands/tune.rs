//! `becr tune`: a head fitted to judgements.

use crate::{output, progress};
use anyhow::Context;
use becr_tune::Config;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Tune a ranking head to your judgements
///
/// Fits the weights of an index's head to a few judged queries, in seconds, and says
/// what that gains on queries it was not fitted to. If it loses there, the head stays
/// as it was. The index is not changed. crates/becr-tune/configs has an example of the
/// file with comments:
///
///   becr tune fine-tune.toml
///
///   becr search own.becr --head own-head.json …
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// A TOML file with a section [tune]: the index, the judged queries, and where the new head goes.
    config: PathBuf,
    /// Override the seed of the configuration.
    #[arg(long, value_name = "N", env = "BECR_TRAIN_SEED")]
    seed: Option<u64>,
    /// Write the head to this file instead of the one in the configuration.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the outcome as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut config = Config::read(&args.config)?.with_context(|| {
        format!(
            "{}: expected a section [tune]; the laboratory's `becr-lab train` does other trainings (lab/README.md)",
            args.config.display()
        )
    })?;
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
    if args.json {
        output::json(&outcome)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output::stdout();
    writeln!(out, "{outcome}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
