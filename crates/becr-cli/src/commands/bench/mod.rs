//! `becr bench`: every speed we claim, measured on your machine.

mod encoder;
mod index;

use std::process::ExitCode;

/// Measure speed and memory on this machine.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(clap::Subcommand)]
enum Bench {
    Index(index::Args),
    Encoder(encoder::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.bench {
        Bench::Index(args) => index::run(args),
        Bench::Encoder(args) => encoder::run(args),
    }
}
