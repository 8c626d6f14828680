//! One module per subcommand.

mod bench;
mod change;
#[cfg(feature = "redis")]
mod cluster;
mod corpus;
mod cost;
mod demo;
mod encode;
mod eval;
mod explain;
mod folds;
mod index;
mod measured;
mod model;
mod rerank;
mod search;
#[cfg(feature = "serve")]
mod serve;
#[cfg(not(feature = "serve"))]
#[path = "serve_absent.rs"]
mod serve;
mod shell;
mod stats;
mod sync;
mod tables;
mod token_groups;
mod train;
mod verify;

use becr::Existing;
use std::path::Path;
use std::process::ExitCode;

/// A number of documents that is worth asking for.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("ask for at least one".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("expected a whole number".to_owned()),
    }
}

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    Index(index::Args),
    Search(search::Args),
    Rerank(rerank::Args),
    Explain(explain::Args),
    Sync(sync::Args),
    Serve(serve::Args),
    /// Add new documents to an index
    Add(change::AddArgs),
    /// Add documents to an index, in the place of those that have the same ids
    Update(change::PutArgs),
    /// Delete documents from an index
    Delete(change::DeleteArgs),
    /// Rewrite an index without the space that changes have left free
    Compact(change::CompactArgs),
    /// Join indexes that were built as parts of one collection
    Merge(change::MergeArgs),
    #[cfg(feature = "redis")]
    Export(cluster::ExportArgs),
    #[cfg(feature = "redis")]
    Import(cluster::ImportArgs),
    Stats(stats::Args),
    Verify(verify::Args),
    /// Count and choose token groups, for builds in several parts
    #[command(subcommand)]
    Groups(token_groups::Command),
    Eval(eval::Args),
    /// Make or check query-disjoint folds for cross-validation
    #[command(subcommand)]
    Folds(folds::Command),
    Train(train::Args),
    Tables(tables::Args),
    Encode(encode::Args),
    /// Look after model directories
    #[command(subcommand)]
    Model(model::Command),
    Cost(cost::Args),
    Bench(bench::Args),
    Completions(shell::CompletionsArgs),
    Manual(shell::ManualArgs),
}

impl Command {
    /// The index that the command reads, if it is one that may be damaged: not one that it builds itself.
    pub(crate) fn index(&self) -> Option<&Path> {
        match self {
            Self::Search(args) => Some(args.index()),
            Self::Rerank(args) => Some(args.index()),
            Self::Explain(args) => Some(args.index()),
            Self::Sync(args) => args.index(),
            Self::Add(args) => Some(args.index()),
            Self::Update(args) => Some(args.index()),
            Self::Delete(args) => Some(args.index()),
            Self::Compact(args) => Some(args.index()),
            Self::Merge(args) => args.index(),
            #[cfg(feature = "redis")]
            Self::Export(args) => Some(args.index()),
            Self::Stats(args) => Some(args.index()),
            Self::Verify(args) => Some(args.index()),
            Self::Cost(args) => args.index(),
            _ => None,
        }
    }
}

impl Command {
    /// What ^C says: how to go on, where there is something to go on with.
    pub(crate) fn after_interrupt(&self) -> Option<&'static str> {
        match self {
            Self::Index(args) => Some(args.after_interrupt()),
            Self::Sync(_) => {
                Some("what is done is kept; the same command goes on where it stopped")
            }
            Self::Add(_) => Some(
                "documents that are in stay; the same command with --existing skip goes on with the others",
            ),
            Self::Update(_) => {
                Some("documents that are in stay; the same command puts in all of them")
            }
            Self::Delete(_) => Some("the same command deletes what is still there"),
            Self::Compact(_) => Some("the index is as it was; the same command starts over"),
            Self::Merge(_) => Some("nothing was written; the same command starts over"),
            #[cfg(feature = "redis")]
            Self::Export(_) => {
                Some("nothing is published; the same command goes on where it stopped")
            }
            #[cfg(feature = "redis")]
            Self::Import(_) => Some("nothing was written; the same command starts over"),
            _ => None,
        }
    }
}

/// What is said when the process that read the index fell, and why.
pub(crate) fn fell(command: &Command, reason: String) -> anyhow::Result<ExitCode> {
    match command {
        Command::Verify(args) => verify::fell(args, reason),
        _ => Err(anyhow::Error::msg(reason)),
    }
}

pub(crate) fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(args) => demo::run(args),
        Command::Index(args) => index::run(args),
        Command::Search(args) => search::run(args),
        Command::Rerank(args) => rerank::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Sync(args) => sync::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Add(args) => change::add(args),
        Command::Update(args) => change::put(args, Existing::Replace),
        Command::Delete(args) => change::delete(args),
        Command::Compact(args) => change::compact(args),
        Command::Merge(args) => change::merge(args),
        #[cfg(feature = "redis")]
        Command::Export(args) => cluster::export(args),
        #[cfg(feature = "redis")]
        Command::Import(args) => cluster::import(args),
        Command::Stats(args) => stats::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Groups(command) => token_groups::run(command),
        Command::Eval(args) => eval::run(args),
        Command::Folds(command) => folds::run(command),
        Command::Train(args) => train::run(args),
        Command::Tables(args) => tables::run(args),
        Command::Encode(args) => encode::run(args),
        Command::Model(command) => model::run(command),
        Command::Cost(args) => cost::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Completions(args) => shell::completions(args),
        Command::Manual(args) => shell::manual(args),
    }
}
