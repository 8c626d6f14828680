//! `becr-lab bench`: every speed we claim, measured on your machine.
//!
//! The command line is part of this crate: [`Args`] says what to measure, [`run`] does it. Where results, remarks and
//! progress bars go is up to the caller's [`Console`]. Some benchmarks measure in processes of their own and start the
//! running program again for that, as `PROGRAM bench …`: they only work inside `becr-lab`.

#[cfg(feature = "train")]
mod baselines;
mod column;
mod console;
mod encoder;
mod engine;
mod index;
mod random;
mod rank;
#[cfg(feature = "redis")]
mod redis;
mod scaling;
mod scoring;
mod server;
mod store;

pub use console::Console;

/// Measure speed and memory on this machine
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    #[cfg(feature = "train")]
    Baselines(baselines::Args),
    Column(column::Args),
    /// The scoring engine: the time to re-rank 150 documents of 857 tokens, beside the time to read them
    Engine(engine::Args),
    Encoder(encoder::Args),
    Index(index::Args),
    Rank(rank::Args),
    #[cfg(feature = "redis")]
    Redis(redis::Args),
    Scaling(scaling::Args),
    Serve(server::Args),
    Store(store::Args),
}

impl Args {
    /// Whether standard output is for JSON: tables go elsewhere then.
    pub fn prints_json(&self) -> bool {
        let json = match &self.benchmark {
            #[cfg(feature = "train")]
            Benchmark::Baselines(args) => &args.json,
            Benchmark::Column(args) => &args.json,
            Benchmark::Engine(args) => &args.json,
            Benchmark::Encoder(args) => &args.json,
            Benchmark::Index(args) => &args.json,
            Benchmark::Rank(args) => &args.json,
            #[cfg(feature = "redis")]
            Benchmark::Redis(args) => &args.json,
            Benchmark::Scaling(args) => &args.json,
            Benchmark::Serve(args) => &args.json,
            Benchmark::Store(args) => &args.json,
        };
        json.as_deref() == Some(std::path::Path::new("-"))
    }
}

/// Runs the benchmark that was asked for.
pub fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    match &args.benchmark {
        #[cfg(feature = "train")]
        Benchmark::Baselines(args) => baselines::run(args, console),
        Benchmark::Column(args) => column::run(args, console),
        Benchmark::Engine(args) => engine::run(args, console),
        Benchmark::Encoder(args) => encoder::run(args, console),
        Benchmark::Index(args) => index::run(args, console),
        Benchmark::Rank(args) => rank::run(args, console),
        #[cfg(feature = "redis")]
        Benchmark::Redis(args) => redis::run(args, console),
        Benchmark::Scaling(args) => scaling::run(args, console),
        Benchmark::Serve(args) => server::run(args, console),
        Benchmark::Store(args) => store::run(args, console),
    }
}
