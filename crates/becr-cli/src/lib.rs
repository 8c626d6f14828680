//! The `becr` command as a library, and what a program with other commands shares with it.
//!
//! Each subcommand is a module of `commands` with its arguments and a `run` function. Results go to standard output, logs
//! and progress to standard error. Exit status: 0 success, 1 the work failed, 2 the command line was wrong.
//!
//! [`becr()`] is the whole command. [`program::run`] runs other commands in the same way, with the same configuration file,
//! and [`rerank`], [`index`] and the modules beside them are what such commands are made of.

pub mod backend;
#[cfg(feature = "redis")]
mod cluster;
mod commands;
mod config;
mod help;
mod hints;
pub mod hub;
mod interrupt;
mod models;
pub mod output;
pub mod program;
pub mod progress;
pub mod ranking;
mod supervise;

pub use commands::{corpus, index, rerank};

use program::Program;
use std::process::ExitCode;

const AFTER_HELP: &str = "Values of flags can stand in ~/.config/becr/config.toml, or in the file that $BECR_CONFIG \
    names: `depth = 200` for every command, or under `[search]` for one.";

/// `becr`, with the arguments of this process.
pub fn becr() -> ExitCode {
    program::run::<commands::Command>(&BECR)
}

const BECR: Program = Program {
    name: "becr",
    about: "Search and re-rank with BERT-quality matching on plain CPUs.",
    after_help: AFTER_HELP,
    features: &[
        ("serve", cfg!(feature = "serve")),
        ("redis", cfg!(feature = "redis")),
        ("burn", cfg!(feature = "burn")),
        ("cuda", cfg!(feature = "cuda-plain")),
    ],
    has_every_flag: true,
};

/// The command line of `becr`, its help grouped.
fn command() -> clap::Command {
    let command = program::command::<commands::Command>(&BECR);
    let template = help::template(&command);
    command.help_template(template)
}
