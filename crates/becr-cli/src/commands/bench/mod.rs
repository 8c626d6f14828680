//! `becr bench`: one module per benchmark.

mod engine;

use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    /// The scoring engine: the time to re-rank 150 documents of 857 tokens, beside the time to read them.
    Engine(engine::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.benchmark {
        Benchmark::Engine(args) => engine::run(&args),
    }
}
