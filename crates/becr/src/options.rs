//! How to search. How to rank is [`RankOptions`], which the ranker defines.

use crate::{Error, FindBy, RankOptions};
use serde::{Deserialize, Serialize};

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchOptions {
    /// How many results.
    pub k: usize,
    /// How many candidates are re-ranked: so many of the first stage, and as many that are near by meaning. Results beyond
    /// them follow in the first stage's order.
    pub depth: usize,
    /// By what candidates are found. Without ranking, it is by words.
    pub find_by: FindBy,
    /// How they are ranked; `None` leaves them as BM25 has them.
    pub rank: Option<RankOptions>,
    /// What to tell of each result beside its score.
    pub details: Details,
}

/// What to tell of a result. Each costs a little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
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

    /// Refuses options that contradict each other or ask for nothing.
    pub fn check(&self) -> Result<(), Error> {
        if self.k == 0 {
            return Err(Error::Options("k: ask for at least one result"));
        }
        if self.depth == 0 {
            return Err(Error::Options("depth: ask for at least one candidate"));
        }
        self.rank.as_ref().map_or(Ok(()), |rank| Ok(rank.check()?))
    }
}

impl Default for SearchOptions {
    /// Ten results of 150 candidates, with titles.
    fn default() -> Self {
        Self {
            k: 10,
            depth: Self::DEPTH,
            find_by: FindBy::default(),
            rank: Some(RankOptions::default()),
            details: Details {
                title: true,
                ..Details::default()
            },
        }
    }
}
