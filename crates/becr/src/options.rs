//! How to search and rank.

use crate::Error;
use becr_rank::{Options, Parts, QueryMode, Variant};

/// How candidates are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RankOptions {
    /// How the query is read; `None` as the index and its model say ([`Index::query_mode`](crate::Index::query_mode)).
    pub mode: Option<QueryMode>,
    /// What a composed query is composed of, the paper's ablation; or the one-vector score to compare with.
    pub variant: Variant,
    /// Parts of the score that are left out.
    pub without: Parts,
    /// The weight of [`Variant::OneVector`], in the place of the head's.
    pub anchor_weight: Option<f32>,
}

impl RankOptions {
    /// The same as the ranker says it; `default` is how the index has queries read.
    pub(crate) fn resolve(&self, default: QueryMode) -> Result<Options, Error> {
        let mode = match (self.variant, self.mode) {
            (Variant::WholeQuery, Some(QueryMode::Composed)) => {
                return Err(Error::Options(
                    "becr-minus is another name for the mode encoded: leave the mode or the variant at its default",
                ));
            }
            (Variant::WholeQuery, _) => QueryMode::Encoded,
            (Variant::Becr | Variant::OneVector, mode) => mode.unwrap_or(default),
            (_, Some(QueryMode::Encoded)) => {
                return Err(Error::Options(
                    "an encoded query is not composed of token groups: leave the variant at its default",
                ));
            }
            _ => QueryMode::Composed,
        };
        if self.anchor_weight.is_some_and(|weight| !weight.is_finite()) {
            return Err(Error::Options(
                "the weight of the one-vector score must be a finite number",
            ));
        }
        Ok(Options {
            mode,
            variant: self.variant,
            without: self.without,
            anchor_weight: self.anchor_weight,
        })
    }
}

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq)]
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
