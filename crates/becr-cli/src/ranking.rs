//! The flags of the commands that rank.

use crate::models;
use anyhow::Context;
use becr::{Head, Index, OpenOptions, Parts, QueryMode, RankOptions, Variant};
use std::path::{Path, PathBuf};

/// How to rank.
#[derive(Default, clap::Args)]
pub(crate) struct RankArgs {
    /// A trained head to rank with, instead of the one in the index; it must be of the same encoder.
    #[arg(long, value_name = "FILE", env = "BECR_HEAD")]
    head: Option<PathBuf>,
    /// How query terms are composed, the paper's ablation: becr, becr-minus (the whole query goes through the
    /// encoder), no-pairs, no-unigrams, window-1. The paper's "tokens for Q&D" is a property of an index:
    /// build one with `becr index --compose-documents`.
    #[arg(long, default_value = "becr", value_parser = clap::value_parser!(Variant))]
    variant: Variant,
    /// Leave a part out of the score: deep, lexi or others; may be given more than once.
    #[arg(long, value_enum, value_name = "PART")]
    without: Vec<Part>,
    /// Directory of the index's model or its hf:owner/name, which only --variant becr-minus needs, if it is no longer where
    /// it was.
    #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
    model: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Part {
    Deep,
    Lexi,
    Others,
}

impl RankArgs {
    /// What the library is told.
    pub(crate) fn options(&self) -> RankOptions {
        let without = |part| self.without.contains(&part);
        RankOptions {
            mode: match self.variant {
                Variant::WholeQuery => QueryMode::Encoded,
                _ => QueryMode::Composed,
            },
            variant: self.variant,
            without: Parts {
                deep: without(Part::Deep),
                lexi: without(Part::Lexi),
                others: without(Part::Others),
            },
        }
    }

    /// Whether the score is that of token groups, as a whole.
    pub(crate) fn is_plain(&self) -> bool {
        self.variant != Variant::WholeQuery && self.without.is_empty()
    }

    /// Opens an index, to be ranked with or not.
    pub(crate) fn open(&self, index: &Path) -> anyhow::Result<Index> {
        let mut options = OpenOptions::new();
        if let Some(head) = &self.head {
            options = options.head(Head::read(head)?);
        }
        if let Some(model) = &self.model {
            options = options.model(models::model(Some(model))?);
        }
        Ok(options.open(index)?)
    }

    /// Opens an index that must be able to rank.
    pub(crate) fn open_ranked(&self, index: &Path) -> anyhow::Result<Index> {
        let opened = self.open(index)?;
        self.check(&opened)?;
        Ok(opened)
    }

    /// Whether the head that was named belongs to the index.
    pub(crate) fn check(&self, index: &Index) -> anyhow::Result<()> {
        let ranker = index.ranker();
        match &self.head {
            Some(head) => ranker.with_context(|| head.display().to_string())?,
            None => ranker?,
        };
        Ok(())
    }
}
