//! `becr train`: from a configuration file to a trained model.

#[cfg(not(feature = "train"))]
#[path = "absent.rs"]
mod full;
#[cfg(feature = "train")]
mod full;
mod tune;
#[cfg(feature = "train")]
mod watch;

use crate::{backend, output};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Train a model, or fine-tune a head
///
/// Reads a TOML file that says what to start from, which data to learn from and where
/// to put the result.
///
/// A file with a section [tune] fits the head of an index to a few judgements, in
/// seconds, and says what that gains on queries it was not fitted to; if it loses, the
/// head stays as it was. crates/becr-tune/configs has an example with comments:
///
///   becr train fine-tune.toml
///
///   becr search own.becr --head own-head.json …
///
/// Everything else needs a program that was built with training, from the sources:
///
///   cargo run --release --features train -- train own.toml
///
///   cargo run --release --features train -- train own.toml --prepare
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
    /// Read the data, build the index, report, and stop before training. Not with [tune].
    #[arg(long)]
    prepare: bool,
    /// Start anew: drop what an earlier training with this seed left, and replace an index of other data. Not with
    /// [tune].
    #[arg(long)]
    restart: bool,
    /// Another seed than that of the configuration; trainings with several seeds share the work directory.
    #[arg(long, value_name = "N", env = "BECR_TRAIN_SEED")]
    seed: Option<u64>,
    /// Another place for the result than that of the configuration: a model directory, or with [tune] a head's file.
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    backend: backend::Args,
    /// Print the report and the outcome as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match becr_tune::Config::read(&args.config)? {
        Some(config) => tune::run(args, config),
        None => full::run(args),
    }
}

fn print(text: &impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = output::stdout();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}
