//! `becr train` in a program that was built without it.

use std::ffi::OsString;
use std::process::ExitCode;

/// Train a model (this program was built without training: see the message when called)
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Whatever the full command takes.
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
