//! How to search and rank.

use crate::Error;
use becr_rank::{Options, Parts, Variant};

/// How a query is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum QueryMode {
    /// Composed of token groups that were encoded offline: look-ups, no transformer.
    #[default]
    Composed,
    /// The whole query goes through the encoder once, the paper's BECR⁻: better for long questions, milliseconds slower.
    Encoded,
}

/// How candidates are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RankOptions {
    /// How the query is read.
    pub mode: QueryMode,
    /// What a composed query is composed of: the paper's ablation.
    pub variant: Variant,
    /// Parts of the score that are left out.
    pub without: Parts,
}

impl RankOptions {
    /// The same as the ranker says it, which counts the encoded query among the variants.
    pub(crate) fn resolve(&self) -> Result<Options, Error> {
        let variant = match (self.mode, self.variant) {
            (QueryMode::Composed, variant) => variant,
            (QueryMode::Encoded, Variant::Becr | Variant::WholeQuery) => Variant::WholeQuery,
            (QueryMode::Encoded, _) => {
                return Err(Error::Options(
                    "an encoded query is not composed of token groups: leave the variant at its default",
                ));
            }
        };
        Ok(Options {
            variant,
            without: self.without,
        })
    }
}

impl From<Options> for RankOptions {
    fn from(options: Options) -> Self {
        let mode = match options.variant {
            Variant::WholeQuery => QueryMode::Encoded,
            _ => QueryMode::Composed,
        };
        Self {
            mode,
            variant: options.variant,
            without: options.without,
        }
    }
}

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchOptions {
    /// How many results.
    pub k: usize,
    /// How many candidates of the first stage are re-ranked. Results beyond them follow in the first stage's order.
    pub depth: usize,
    /// How they are ranked; `None` leaves them as BM25 has them.
    pub rank: Option<RankOptions>,
    /// What to tell of each result beside its score.
    pub details: Details,
}

/// What to tell of a result. Each costs a little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Details {
    /// Its title.
    pub title: bool,
    /// The largest contributions to its score.
    pub reasons: bool,
    /// The passage of its text that is nearest to the query.
    pub snippet: bool,
}

impl SearchOptions {
    /// How many candidates are re-ranked unless said otherwise.
    pub const DEPTH: usize = 150;

    /// BM25 alone.
    pub fn first_stage(k: usize) -> Self {
        Self {
            k,
            rank: None,
            ..Self::default()
        }
    }
}

impl Default for SearchOptions {
    /// Ten results of 150 candidates, with titles.
    fn default() -> Self {
        Self {
            k: 10,
            depth: Self::DEPTH,
            rank: Some(RankOptions::default()),
            details: Details {
                title: true,
                ..Details::default()
            },
        }
    }
}
