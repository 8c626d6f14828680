//! `becr-lab index`: `becr index`, and the paper's "tokens for Q&D".

use becr::Documents;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    product: becr_cli::index::Args,
    /// Compose documents from the token groups instead of encoding them, the paper's "tokens for Q&D": a
    /// footprint for each word. Much faster to build, for comparison; adding documents composes them too.
    #[arg(long, conflicts_with_all = ["lexical_only", "vectors_only"])]
    compose_documents: bool,
}

impl Args {
    pub(crate) fn after_interrupt(&self) -> &'static str {
        self.product.after_interrupt()
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match args.compose_documents {
        true => becr_cli::index::run_with(&args.product, Documents::Composed),
        false => becr_cli::index::run(&args.product),
    }
}
