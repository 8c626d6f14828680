//! One module per subcommand.

use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(crate) enum Command {}

pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {}
}
