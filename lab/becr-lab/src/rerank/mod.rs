//! `becr-lab rerank`: `becr rerank`, with baselines and with vectors in the place of footprints.

#[cfg(feature = "train")]
mod baseline;
#[cfg(not(feature = "train"))]
#[path = "baseline_absent.rs"]
mod baseline;
mod raw;

use becr::Variant;
use becr_cli::rerank;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    product: rerank::Args,
    /// Compare vectors in the place of footprints, for evaluation: documents, token groups and whole queries are encoded
    /// again, which takes as long as building the index. Goes with --mode, --variant and --without.
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true,
          default_missing_value = "sum-of-cosines", conflicts_with = "cross_encoder")]
    raw: Option<raw::Joined>,
    /// Score with a model that the paper compares BECR with instead: a directory that `becr-lab train` made of a file with
    /// a section [baseline]. It reads the texts that the index keeps. Needs a build with the feature `train`.
    #[arg(long, value_name = "DIR",
          conflicts_with_all = ["cross_encoder", "raw", "features", "mode", "scorer", "variant", "weight", "without", "timing"])]
    baseline: Option<PathBuf>,
    /// What composed queries are composed of: the paper's ablations, and plain, which leaves a model's mixer out. The paper's
    /// "tokens for Q&D" is a property of an index: build one with `becr-lab index --compose-documents`.
    #[arg(long, default_value = Variant::default().name(), value_parser = clap::value_parser!(Variant),
          conflicts_with = "cross_encoder")]
    variant: Variant,
}

impl Args {
    pub(crate) fn index(&self) -> &Path {
        self.product.index()
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut product = args.product.clone();
    product.rank.variant = args.variant;
    match (&args.baseline, args.raw) {
        (Some(directory), _) => baseline::run(&product, directory)?,
        (None, Some(joined)) => return rerank::run_with(&product, &raw::Raw(joined)),
        (None, None) => return rerank::run(&product),
    }
    Ok(ExitCode::SUCCESS)
}
