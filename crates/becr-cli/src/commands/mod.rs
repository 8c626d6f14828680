//! One module per subcommand.

mod change;
#[cfg(feature = "redis")]
mod cluster;
pub mod corpus;
mod cost;
mod demo;
mod encode;
mod eval;
mod explain;
pub mod index;
mod measured;
mod model;
mod moved;
pub mod rerank;
mod search;
#[cfg(feature = "serve")]
mod serve;
#[cfg(not(feature = "serve"))]
#[path = "serve_absent.rs"]
mod serve;
mod shell;
mod stats;
mod sync;
mod token_groups;
mod tune;
mod verify;

use crate::program::{Commands, Program};
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
    Tune(tune::Args),
    Encode(encode::Args),
    /// Look after model directories
    #[command(subcommand)]
    Model(model::Command),
    Cost(cost::Args),
    Completions(shell::CompletionsArgs),
    Manual(shell::ManualArgs),
    #[command(hide = true, disable_help_flag = true)]
    Bench(moved::Args),
    #[command(hide = true, disable_help_flag = true)]
    Folds(moved::Args),
    #[command(hide = true, disable_help_flag = true)]
    Tables(moved::Args),
    #[command(hide = true, disable_help_flag = true)]
    Train(moved::Args),
}

impl Commands for Command {
    fn index(&self) -> Option<&Path> {
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

    fn after_interrupt(&self) -> Option<&'static str> {
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

    fn fell(&self, reason: String) -> anyhow::Result<ExitCode> {
        match self {
            Self::Verify(args) => verify::fell(args, reason),
            _ => Err(anyhow::Error::msg(reason)),
        }
    }

    fn run(&self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Demo(args) => demo::run(args),
            Self::Index(args) => index::run(args),
            Self::Search(args) => search::run(args),
            Self::Rerank(args) => rerank::run(args),
            Self::Explain(args) => explain::run(args),
            Self::Sync(args) => sync::run(args),
            Self::Serve(args) => serve::run(args),
            Self::Add(args) => change::add(args),
            Self::Update(args) => change::put(args, Existing::Replace),
            Self::Delete(args) => change::delete(args),
            Self::Compact(args) => change::compact(args),
            Self::Merge(args) => change::merge(args),
            #[cfg(feature = "redis")]
            Self::Export(args) => cluster::export(args),
            #[cfg(feature = "redis")]
            Self::Import(args) => cluster::import(args),
            Self::Stats(args) => stats::run(args),
            Self::Verify(args) => verify::run(args),
            Self::Groups(command) => token_groups::run(command),
            Self::Eval(args) => eval::run(args),
            Self::Tune(args) => tune::run(args),
            Self::Encode(args) => encode::run(args),
            Self::Model(command) => model::run(command),
            Self::Cost(args) => cost::run(args),
            Self::Completions(args) => shell::completions(args),
            Self::Manual(args) => shell::manual(args),
            Self::Bench(_) => moved::run("bench"),
            Self::Folds(_) => moved::run("folds"),
            Self::Tables(_) => moved::run("tables"),
            Self::Train(_) => moved::run("train"),
        }
    }

    fn command_line(_: &Program) -> clap::Command {
        crate::command()
    }
}
