//! One module per subcommand.

mod bench;
mod corpus;
mod encode;
mod eval;
mod folds;
mod index;
mod model;
mod search;

use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Index(index::Args),
    Search(search::Args),
    Eval(eval::Args),
    /// Make or check query-disjoint folds for cross-validation
    #[command(subcommand)]
    Folds(folds::Command),
    Encode(encode::Args),
    /// Look after model directories
    #[command(subcommand)]
    Model(model::Command),
    Bench(bench::Args),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Index(args) => index::run(args),
        Command::Search(args) => search::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Folds(command) => folds::run(command),
        Command::Encode(args) => encode::run(args),
        Command::Model(command) => model::run(command),
        Command::Bench(args) => bench::run(args),
    }
}
