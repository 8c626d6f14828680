//! The `becr` command.
//!
//! Each subcommand is a module of [`commands`] with its arguments and a `run` function. Results go to
//! standard output, logs and progress to standard error. Exit status: 0 success, 1 the work failed,
//! 2 the command line was wrong.

mod backend;
#[cfg(feature = "redis")]
mod cluster;
mod commands;
mod config;
mod hints;
mod hub;
mod interrupt;
mod models;
mod output;
mod progress;
mod ranking;
mod supervise;

use clap::Parser;
use clap::builder::FalseyValueParser;
use std::process::ExitCode;
use std::sync::OnceLock;
use supervise::Ended;

const AFTER_HELP: &str = "Values of flags can stand in ~/.config/becr/config.toml, or in the file that $BECR_CONFIG \
    names: `depth = 200` for every command, or under `[search]` for one.";

/// Search and re-rank with BERT-quality matching on plain CPUs.
#[derive(Parser)]
#[command(name = "becr", version = version(), about, long_about = None, propagate_version = true, after_help = AFTER_HELP)]
struct Cli {
    /// When to use colours and bold type.
    #[arg(long, global = true, value_enum, default_value_t, env = "BECR_COLOR")]
    color: output::Colour,
    /// Say nothing on standard error but errors: no progress, no remarks.
    #[arg(long, short, global = true, env = "BECR_QUIET", value_parser = FalseyValueParser::new())]
    quiet: bool,
    #[command(subcommand)]
    command: commands::Command,
}

/// Number, what was built in, and what this processor computes with.
fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(described)
}

fn described() -> String {
    let features: Vec<&str> = [
        ("serve", cfg!(feature = "serve")),
        ("redis", cfg!(feature = "redis")),
        ("train", cfg!(feature = "train")),
        ("burn", cfg!(feature = "burn")),
        ("cuda", cfg!(feature = "cuda-plain")),
    ]
    .into_iter()
    .filter_map(|(name, on)| on.then_some(name))
    .collect();
    let features = match features.is_empty() {
        true => "none".to_owned(),
        false => features.join(", "),
    };
    let engine = becr_footprint::Engine::new();
    let engine = engine.map_or("none", |engine| engine.implementation().name());
    let version = env!("CARGO_PKG_VERSION");
    format!("{version} (features: {features}; engine: {engine})")
}

fn main() -> ExitCode {
    let cli = match config::parse() {
        Ok(cli) => cli,
        Err(error) => {
            output::report(&error);
            return ExitCode::from(2);
        }
    };
    output::choose_colour(cli.color);
    output::be_quiet(cli.quiet);
    if let Some(advice) = cli
        .command
        .after_interrupt()
        .filter(|_| !supervise::is_child())
    {
        interrupt::advise(advice);
    }
    match run(&cli.command) {
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
        Some(index) => match supervise::run(index) {
            Ok(Ended::Told(code)) => Ok(code),
            Ok(Ended::Fell(reason)) => commands::fell(command, reason),
            // No child can be started, where the program's file was replaced or handles are short: here, then.
            Err(_) => commands::run(command),
        },
    }
}
