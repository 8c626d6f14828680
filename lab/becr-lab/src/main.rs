//! The `becr-lab` command: what the reproduction of the paper and our measurements need beside the product.
//!
//! Its own commands are modules here. Every other command is the product's: `becr-lab search …` is `becr search …`, so that a
//! script needs one program, and a table is made by the commands that its footer names.

mod bench;
mod folds;
mod index;
mod rerank;
mod tables;
mod train;

use becr_cli::program::{self, Commands, Program};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
enum Command {
    Bench(bench::Args),
    Train(train::Args),
    Tables(tables::Args),
    /// Make or check query-disjoint folds for cross-validation
    #[command(subcommand)]
    Folds(folds::Command),
    /// Re-rank a run: `becr rerank`, and the paper's ablations, baselines and vectors without footprints
    Rerank(rerank::Args),
    /// Build an index: `becr index`, and documents composed of token groups
    Index(index::Args),
}

impl Commands for Command {
    fn index(&self) -> Option<&Path> {
        match self {
            Self::Rerank(args) => Some(args.index()),
            _ => None,
        }
    }

    fn after_interrupt(&self) -> Option<&'static str> {
        match self {
            Self::Index(args) => Some(args.after_interrupt()),
            _ => None,
        }
    }

    fn run(&self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Bench(args) => bench::run(args),
            Self::Train(args) => train::run(args),
            Self::Tables(args) => tables::run(args),
            Self::Folds(command) => folds::run(command),
            Self::Rerank(args) => rerank::run(args),
            Self::Index(args) => index::run(args),
        }
    }
}

const LAB: Program = Program {
    name: "becr-lab",
    about: "The laboratory of BECR: trainings, baselines, ablations, benchmarks and the tables of the reproduction.",
    after_help: "Every other command is the product's: `becr-lab search …` is `becr search …`.",
    features: &[
        ("train", cfg!(feature = "train")),
        ("burn", cfg!(feature = "burn")),
        ("cuda", cfg!(feature = "cuda-plain")),
    ],
    has_every_flag: false,
};

fn main() -> ExitCode {
    let own = program::command::<Command>(&LAB);
    match command_word(std::env::args_os().skip(1)) {
        Some(word) if word != "help" && own.find_subcommand(&word).is_none() => becr_cli::becr(),
        _ => program::run::<Command>(&LAB),
    }
}

/// The first word that is neither a flag of every command nor its value.
fn command_word(words: impl Iterator<Item = OsString>) -> Option<OsString> {
    let mut words = words;
    while let Some(word) = words.next() {
        if word == "--color" {
            words.next();
        } else if !word.to_string_lossy().starts_with('-') {
            return Some(word);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_stands_behind_the_flags_of_all() {
        let word = |line: &str| command_word(line.split_whitespace().map(OsString::from));
        assert_eq!(word("--color never -q train --help"), Some("train".into()));
        assert_eq!(word("--color=never search x"), Some("search".into()));
        assert_eq!(word("--version"), None);
        assert_eq!(word(""), None);
    }
}
