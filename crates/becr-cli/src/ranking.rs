//! The flags of the commands that rank.

use crate::models;
use anyhow::Context;
use becr::{Head, Index, OpenOptions, Part, QueryMode, RankOptions, Scorer, Variant};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How to rank.
#[derive(Clone, Default, clap::Args)]
pub struct RankArgs {
    /// A trained head to rank with, instead of the one in the index; it must be of the same encoder.
    #[arg(long, value_name = "FILE", env = "BECR_HEAD")]
    head: Option<PathBuf>,
    /// How queries are read [default: as the index and its head say].
    #[arg(long, value_parser = modes())]
    mode: Option<QueryMode>,
    /// What the score is.
    #[arg(long, default_value = Scorer::default().name(), value_parser = scorers())]
    scorer: Scorer,
    /// The weight of the cosine in --scorer one-vector [default: the head's, or 0.8].
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    weight: Option<f32>,
    /// Leave a part out of the score; may be given more than once.
    #[arg(long, value_name = "PART", value_parser = parts())]
    without: Vec<Part>,
    /// What composed queries are composed of: the paper's ablations, for which `becr` has no flag.
    #[arg(skip)]
    pub variant: Variant,
    /// Directory of the index's model or its hf:owner/name, which only encoded queries need, if it is no longer where it
    /// was.
    #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
    model: Option<PathBuf>,
    /// Read the records of an index in a cluster, also where its nodes could score them.
    #[cfg(feature = "redis")]
    #[arg(long, env = "BECR_NO_MODULE", value_parser = clap::builder::FalseyValueParser::new())]
    no_module: bool,
}

/// Reads one of the names of a type of the library.
pub(crate) fn named<T>(values: Vec<PossibleValue>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(values).try_map(|name| name.parse::<T>())
}

/// How queries are read.
pub(crate) fn modes() -> impl TypedValueParser<Value = QueryMode> {
    let help = |mode| match mode {
        QueryMode::Composed => {
            "Composed of words and pairs that were encoded when the index was built: the encoder is not asked, about a \
             millisecond before documents are scored. With the bundled model 0.012 of nDCG@10 less than encoded."
        }
        QueryMode::Encoded => {
            "The whole query goes through the encoder once: some milliseconds more, and better, most of all for long \
             questions. Needs no token groups."
        }
    };
    let value = |mode: QueryMode| PossibleValue::new(mode.name()).help(help(mode));
    named(QueryMode::ALL.map(value).to_vec())
}

fn scorers() -> impl TypedValueParser<Value = Scorer> {
    let help = |scorer| match scorer {
        Scorer::Composite => "The head's sum of deep, lexical and other parts.",
        Scorer::OneVector => {
            "The score to compare with: that of the first stage + a weight · the z-scored cosine of the whole query's vector \
             and the document's."
        }
    };
    let value = |scorer: Scorer| PossibleValue::new(scorer.name()).help(help(scorer));
    named(Scorer::ALL.map(value).to_vec())
}

fn parts() -> impl TypedValueParser<Value = Part> {
    named(
        Part::ALL
            .map(|part| PossibleValue::new(part.name()))
            .to_vec(),
    )
}

impl RankArgs {
    /// Whether a flag says how to rank.
    pub(crate) fn is_chosen(&self) -> bool {
        self.options() != RankOptions::default()
    }

    /// The same for the library.
    pub fn options(&self) -> RankOptions {
        RankOptions {
            mode: self.mode,
            scorer: self.scorer,
            weight: self.weight,
            without: self.without.iter().copied().collect(),
            variant: self.variant,
        }
    }

    /// Opens an index, to be ranked with or not.
    pub fn open(&self, index: &Path) -> anyhow::Result<Index> {
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
        let ranker = index.ranker();
        match &self.head {
            Some(head) => ranker.with_context(|| head.display().to_string())?,
            None => ranker?,
        };
        index.query_mode(&self.options())?;
        Ok(())
    }
}
