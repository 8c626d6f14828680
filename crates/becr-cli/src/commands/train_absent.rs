//! `becr train` in a program that was built without it.

use std::ffi::OsString;
use std::process::ExitCode;

/// Train a model (not part of this program: see its --help)
///
/// This program was built without training, which needs a framework that takes minutes
/// to build. From the sources, with the same arguments:
///
///   cargo run --release --features train -- train own.toml
///
/// It reads a TOML file that says which model to start from, which data to learn from
/// and where to put the result; the folder crates/becr-train/configs has examples with
/// comments. All options: cargo run --release --features train -- train --help
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Whatever the full command takes: a configuration, and options.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let asked = args
        .arguments
        .iter()
        .map(|argument| argument.to_string_lossy());
    anyhow::bail!(
        "this becr was built without training, which needs a framework that takes minutes to build; from the sources, run \
         `cargo run --release --features train -- train {}`",
        asked.collect::<Vec<_>>().join(" ")
    )
}
