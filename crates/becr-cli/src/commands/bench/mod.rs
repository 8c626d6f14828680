//! `becr bench`: every speed we claim, measured on your machine.

mod encoder;
mod engine;
mod index;
mod rank;
mod store;

use std::process::ExitCode;

/// Measure speed and memory on this machine
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    /// The scoring engine: the time to re-rank 150 documents of 857 tokens, beside the time to read them
    Engine(engine::Args),
    Encoder(encoder::Args),
    Index(index::Args),
    Rank(rank::Args),
    Store(store::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.benchmark {
        Benchmark::Engine(args) => engine::run(args),
        Benchmark::Encoder(args) => encoder::run(args),
        Benchmark::Index(args) => index::run(args),
        Benchmark::Rank(args) => rank::run(args),
        Benchmark::Store(args) => store::run(args),
    }
}
