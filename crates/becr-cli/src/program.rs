//! A program of commands: flags for all of them, the configuration file, errors, and a child process for what reads an
//! index. `becr` is one.

use crate::supervise::{self, Ended};
use crate::{config, interrupt, output};
use clap::CommandFactory;
use clap::builder::FalseyValueParser;
use std::path::Path;
use std::process::ExitCode;

/// The commands of a program.
pub trait Commands: clap::Subcommand {
    /// The index that the command reads, if it is one that may be damaged: not one that it builds itself.
    fn index(&self) -> Option<&Path>;

    /// What ^C says: how to go on, where there is something to go on with.
    fn after_interrupt(&self) -> Option<&'static str>;

    /// Does the work.
    fn run(&self) -> anyhow::Result<ExitCode>;

    /// Says that the process that read the index fell, and why.
    fn fell(&self, reason: String) -> anyhow::Result<ExitCode> {
        Err(anyhow::Error::msg(reason))
    }

    /// The command line as the user sees it.
    fn command_line(program: &Program) -> clap::Command {
        command::<Self>(program)
    }
}

/// Name and help texts of a program.
pub struct Program {
    /// As it is typed.
    pub name: &'static str,
    /// In one line.
    pub about: &'static str,
    /// Behind the help.
    pub after_help: &'static str,
    /// What can be built in, and whether it is.
    pub features: &'static [(&'static str, bool)],
    /// The configuration file may name no flag and no command that the program does not have.
    pub has_every_flag: bool,
}

impl Program {
    /// Number, what was built in, and what this processor computes with.
    fn version(&self) -> &'static str {
        let features: Vec<&str> = self
            .features
            .iter()
            .filter_map(|(name, on)| on.then_some(*name))
            .collect();
        let features = match features.is_empty() {
            true => "none".to_owned(),
            false => features.join(", "),
        };
        let engine = becr_footprint::Engine::new();
        let engine = engine.map_or("none", |engine| engine.implementation().name());
        let version = env!("CARGO_PKG_VERSION");
        // It is asked once or twice, and clap keeps it.
        format!("{version} (features: {features}; engine: {engine})").leak()
    }
}

/// What stands on the command line.
#[derive(clap::Parser)]
#[command(propagate_version = true)]
pub(crate) struct Cli<C: clap::Subcommand> {
    /// When to use colours and bold type.
    #[arg(long, global = true, value_enum, default_value_t, env = "BECR_COLOR")]
    color: output::Colour,
    /// Say nothing on standard error but errors: no progress, no remarks.
    #[arg(long, short, global = true, env = "BECR_QUIET", value_parser = FalseyValueParser::new())]
    quiet: bool,
    #[command(subcommand)]
    command: C,
}

/// The command line of a program.
pub fn command<C: Commands>(program: &Program) -> clap::Command {
    Cli::<C>::command()
        .name(program.name)
        .bin_name(program.name)
        .about(program.about)
        .long_about(None)
        .version(program.version())
        .after_help(program.after_help)
}

/// Runs the command that this process was started with.
pub fn run<C: Commands>(program: &Program) -> ExitCode {
    let line = C::command_line(program);
    let cli: Cli<C> = match config::parse(line, program.has_every_flag) {
        Ok(cli) => cli,
        Err(error) => {
            output::report(&error);
            return ExitCode::from(2);
        }
    };
    output::choose_colour(cli.color);
    output::be_quiet(cli.quiet);
    let advice = cli.command.after_interrupt();
    if let Some(advice) = advice.filter(|_| !supervise::is_child()) {
        interrupt::advise(advice);
    }
    match supervised(&cli.command) {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::report(&error);
            ExitCode::FAILURE
        }
    }
}

fn supervised(command: &impl Commands) -> anyhow::Result<ExitCode> {
    match command.index() {
        None => command.run(),
        Some(index) if supervise::is_child() => supervise::child(index, || command.run()),
        Some(index) => match supervise::run(index) {
            Ok(Ended::Told(code)) => Ok(code),
            Ok(Ended::Fell(reason)) => command.fell(reason),
            // No child can be started, where the program's file was replaced or handles are short: here, then.
            Err(_) => command.run(),
        },
    }
}
