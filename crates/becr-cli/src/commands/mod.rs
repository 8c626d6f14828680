//! One module per subcommand.

mod eval;
mod folds;

use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Measure runs against relevance judgements and test their differences
    Eval(eval::Args),
    /// Make or check query-disjoint folds for cross-validation
    #[command(subcommand)]
    Folds(folds::Command),
}

pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Eval(args) => eval::run(&args),
        Command::Folds(command) => folds::run(&command),
    }
}
