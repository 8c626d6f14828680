//! `becr serve` in a program that was built without it.

use std::ffi::OsString;
use std::process::ExitCode;

/// Serve indexes over HTTP (not part of this program: see its --help)
///
/// This program was built without the server. From the sources, with the same arguments:
///
///   cargo run --release --features serve -- serve --demo
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
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
        "this becr was built without the server; from the sources, run `cargo run --release --features serve -- serve {}`",
        asked.collect::<Vec<_>>().join(" ")
    )
}
