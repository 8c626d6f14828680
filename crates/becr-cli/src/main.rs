//! The `becr` command.
//!
//! Each subcommand is a module of [`commands`] with its arguments and a `run` function. Results go to
//! standard output, logs and progress to standard error. Exit status: 0 success, 1 the work failed,
//! 2 the command line was wrong.

mod backend;
mod commands;
mod hints;
mod hub;
mod models;
mod output;
mod progress;
mod ranking;

use clap::Parser;
use std::process::ExitCode;

/// Search and re-rank with BERT-quality matching on plain CPUs.
#[derive(Parser)]
#[command(name = "becr", version, about, long_about = None, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    match commands::run(&Cli::parse().command) {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::report(&error);
            ExitCode::FAILURE
        }
    }
}
