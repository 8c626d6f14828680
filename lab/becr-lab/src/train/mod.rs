//! `becr-lab train`: from a configuration file to a trained model.

#[cfg(not(feature = "train"))]
#[path = "absent.rs"]
mod full;
#[cfg(feature = "train")]
mod full;
#[cfg(feature = "train")]
mod watch;

use becr_cli::backend;
use std::path::PathBuf;
use std::process::ExitCode;

/// Train a model, a head, a mixer or a baseline
///
/// Reads a TOML file that says what to start from, which data to learn from and where
/// to put the result.
///
/// It needs a program that was built with training:
///
///   cargo run --release -p becr-lab --features train -- train own.toml
///
///   cargo run --release -p becr-lab --features train -- train own.toml --prepare
///
/// It trains a head on an index that it makes, or the encoder too: a model directory
/// comes out that `becr index --model` takes at once. Such a training can be
/// interrupted at any time: the same command goes on where it stopped, and ends with
/// the same weights. A file with a section [mixer] trains the mixer of composed
/// queries, on the encoder as it is and without judgements; that wants a GPU. The folder
/// lab/becr-train/configs has examples with comments.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The configuration.
    config: PathBuf,
    /// Read the data, build the index, report, and stop before training.
    #[arg(long)]
    prepare: bool,
    /// Start anew: drop what an earlier training with this seed left, and replace an index of other data.
    #[arg(long)]
    restart: bool,
    /// Override the seed of the configuration; trainings with several seeds share the work directory.
    #[arg(long, value_name = "N", env = "BECR_TRAIN_SEED")]
    seed: Option<u64>,
    /// Another place for the result than that of the configuration: a model directory or a head's file.
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    backend: backend::Args,
    /// Print the report and the outcome as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let text = std::fs::read_to_string(&args.config).unwrap_or_default();
    let table: toml::Table = toml::from_str(&text).unwrap_or_default();
    anyhow::ensure!(
        !table.contains_key("tune"),
        "{}: a file with a section [tune] is for `becr tune`, which tunes a head to judgements",
        args.config.display()
    );
    full::run(args)
}
