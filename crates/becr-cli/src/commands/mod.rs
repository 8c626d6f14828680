//! One module per subcommand.

mod bench;

use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Measure the speed of a part of BECR on this machine.
    Bench(bench::Args),
}

pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Bench(args) => bench::run(args),
    }
}
