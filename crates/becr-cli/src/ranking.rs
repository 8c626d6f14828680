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
    /// How queries are read [default: as the index and its head say].
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// What composed queries are composed of, the paper's ablation: becr, no-pairs, no-unigrams, window-1. Or one-vector,
    /// the score to compare with: that of the first stage + a weight · the z-scored cosine of the whole query's vector
    /// and the document's. becr-minus is another name for --mode encoded. The paper's "tokens for Q&D" is a property
    /// of an index: build one with `becr index --compose-documents`.
    #[arg(long, default_value = "becr", value_parser = clap::value_parser!(Variant))]
    variant: Variant,
    /// The weight of --variant one-vector [default: the head's, or 0.8].
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    weight: Option<f32>,
    /// Leave a part out of the score: deep, lexi or others; may be given more than once.
    #[arg(long, value_enum, value_name = "PART")]
    without: Vec<Part>,
    /// Directory of the index's model or its hf:owner/name, which only encoded queries need, if it is no longer where it
    /// was.
    #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
    model: Option<PathBuf>,
    /// Read the records of an index in a cluster, also where its nodes could score them.
    #[cfg(feature = "redis")]
    #[arg(long, env = "BECR_NO_MODULE", value_parser = clap::builder::FalseyValueParser::new())]
    no_module: bool,
}

/// How queries are read.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// Composed of words and pairs that were encoded when the index was built: the encoder is not asked, about a millisecond
    /// before documents are scored. With the bundled model 0.012 of nDCG@10 less than encoded.
    Composed,
    /// The whole query goes through the encoder once: some milliseconds more, and better, most of all for long questions.
    /// Needs no token groups.
    Encoded,
}

impl From<Mode> for QueryMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Composed => Self::Composed,
            Mode::Encoded => Self::Encoded,
        }
    }
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Part {
    Deep,
    Lexi,
    Others,
}

impl RankArgs {
    /// Whether a flag says how to rank.
    pub(crate) fn is_chosen(&self) -> bool {
        self.mode.is_some() || self.variant != Variant::default() || !self.without.is_empty()
    }

    /// What the library is told.
    pub(crate) fn options(&self) -> RankOptions {
        let without = |part| self.without.contains(&part);
        RankOptions {
            mode: self.mode.map(QueryMode::from),
            variant: self.variant,
            anchor_weight: self.weight,
            without: Parts {
                deep: without(Part::Deep),
                lexi: without(Part::Lexi),
                others: without(Part::Others),
            },
        }
    }

    /// Opens an index, to be ranked with or not.
    pub(crate) fn open(&self, index: &Path) -> anyhow::Result<Index> {
        self.open_beside(index, None)
    }

    /// The same, with candidates from the first stage of another index.
    pub(crate) fn open_beside(
        &self,
        index: &Path,
        first_stage: Option<&Path>,
    ) -> anyhow::Result<Index> {
        let mut options = OpenOptions::new();
        #[cfg(feature = "redis")]
        {
            options = options.cluster(crate::cluster::ranking(self.no_module));
        }
        if let Some(path) = first_stage {
            options = options.first_stage(Index::open(path)?);
        }
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

    /// Whether the head that was named belongs to the index, and the index can do what is asked.
    pub(crate) fn check(&self, index: &Index) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.weight.is_none() || self.variant == Variant::OneVector,
            "--weight goes with --variant one-vector"
        );
        let ranker = index.ranker();
        match &self.head {
            Some(head) => ranker.with_context(|| head.display().to_string())?,
            None => ranker?,
        };
        index.query_mode(&self.options())?;
        Ok(())
    }
}
