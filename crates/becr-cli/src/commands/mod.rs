//! One module per subcommand.

mod bench;
mod corpus;
mod index;
mod search;

use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Index(index::Args),
    Search(search::Args),
    Bench(bench::Args),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Index(args) => index::run(args),
        Command::Search(args) => search::run(args),
        Command::Bench(args) => bench::run(args),
    }
}
