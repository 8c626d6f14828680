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
mod supervise;

use clap::Parser;
use std::process::ExitCode;
use supervise::Ended;

/// Search and re-rank with BERT-quality matching on plain CPUs.
#[derive(Parser)]
#[command(name = "becr", version, about, long_about = None, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    match run(&command) {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::report(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(command: &commands::Command) -> anyhow::Result<ExitCode> {
    match command.index() {
        None => commands::run(command),
        Some(index) if supervise::is_child() => supervise::child(index, || commands::run(command)),
        Some(index) => match supervise::run(index)? {
            Ended::Told(code) => Ok(code),
            Ended::Fell(reason) => commands::fell(command, reason),
        },
    }
}
