//! A search: the first stage, then the ranker.

use crate::ranking::{self, Entry, RankArgs, Ranked, Ranking};
use becr_index::first_stage::{FirstStage, Hit};
use becr_rank::{RankWorkspace, Scored};
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// How many candidates are re-ranked unless said otherwise.
pub(crate) const DEPTH: usize = 150;

/// An index opened for searching: with a first stage alone, or with a ranker too.
pub(crate) struct Searcher {
    pub(crate) first_stage: FirstStage,
    pub(crate) ranking: Option<Ranking>,
    /// How many hits are re-ranked.
    pub(crate) depth: usize,
}

/// What a search found.
pub(crate) struct Found {
    /// The first stage's list.
    pub(crate) hits: Vec<Hit>,
    /// The ranker's, of the first hits.
    pub(crate) ranked: Option<Ranked>,
    pub(crate) timing: Timing,
}

/// Milliseconds by stage; those of the ranker are absent where it was not asked.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Timing {
    first_stage: f64,
    #[serde(flatten)]
    ranking: Option<RankTiming>,
    pub(crate) total: f64,
}

#[derive(Clone, Copy, Default, Serialize)]
struct RankTiming {
    look_up: f64,
    fetch: f64,
    lexical: f64,
    deep: f64,
}

impl Searcher {
    /// An index with everything, searched as it is by default.
    pub(crate) fn ranked(index: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            first_stage: FirstStage::open(index)?,
            ranking: Some(Ranking::open(index, &RankArgs::default())?),
            depth: DEPTH,
        })
    }

    pub(crate) fn search(
        &self,
        query: &str,
        k: usize,
        work: &mut RankWorkspace,
    ) -> anyhow::Result<Found> {
        let begun = Instant::now();
        let wanted = match self.ranking {
            Some(_) => k.max(self.depth),
            None => k,
        };
        let hits = self.first_stage.search(query, wanted)?;
        let first_stage = milliseconds(begun.elapsed());
        let ranked = match &self.ranking {
            Some(ranking) => Some(ranking.rank(query, &self.entries(&hits), work)?),
            None => None,
        };
        let stages = ranked.as_ref().map(|ranked| RankTiming {
            look_up: milliseconds(ranked.timing.look_up),
            fetch: milliseconds(ranked.timing.fetch),
            lexical: milliseconds(ranked.timing.lexical),
            deep: milliseconds(ranked.timing.deep),
        });
        Ok(Found {
            hits,
            ranked,
            timing: Timing {
                first_stage,
                ranking: stages,
                total: milliseconds(begun.elapsed()),
            },
        })
    }

    /// The candidates among the hits.
    pub(crate) fn entries<'a>(&self, hits: &'a [Hit]) -> Vec<Entry<'a>> {
        hits.iter().take(self.depth).map(Entry::of_hit).collect()
    }
}

impl Found {
    /// All hits in their final order: place among the hits, score, and its parts if it was re-ranked. What the
    /// ranker did not see comes behind, in the order of the first stage.
    pub(crate) fn order(&self) -> impl Iterator<Item = (usize, f32, Option<&Scored>)> {
        let ranked = self.ranked.as_ref();
        let first = ranked.into_iter().flat_map(|ranked| &ranked.order);
        let first = first.map(|(place, scored)| (*place, scored.score, Some(scored)));
        let seen = ranked.map_or(0, |ranked| ranked.order.len() + ranked.unknown.len());
        let unknown = ranked
            .into_iter()
            .flat_map(|ranked| ranked.unknown.iter().copied());
        let lowest = ranked.and_then(|ranked| Some(ranked.order.last()?.1.score));
        let behind = unknown
            .chain(seen..self.hits.len())
            .zip(ranking::behind(lowest));
        let rest = behind.map(move |(place, score)| match ranked {
            Some(_) => (place, score, None),
            None => (place, self.hits[place].score, None),
        });
        first.chain(rest)
    }
}

impl Timing {
    /// Name and milliseconds of each stage, in the order of a search.
    pub(crate) fn stages(&self) -> Vec<(&'static str, f64)> {
        let mut stages = vec![("first stage", self.first_stage)];
        if let Some(ranking) = self.ranking {
            stages.extend([
                ("look-up", ranking.look_up),
                ("fetch", ranking.fetch),
                ("lexical", ranking.lexical),
                ("deep", ranking.deep),
            ]);
        }
        stages.push(("total", self.total));
        stages
    }

    /// The mean of several searches of the same kind.
    pub(crate) fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        let ranked = |of: fn(&RankTiming) -> f64| {
            let each = all.iter().filter_map(|timing| timing.ranking.as_ref());
            each.map(of).sum::<f64>() / all.len().max(1) as f64
        };
        let ranking = all.iter().any(|timing| timing.ranking.is_some());
        Self {
            first_stage: mean(|timing| timing.first_stage),
            ranking: ranking.then(|| RankTiming {
                look_up: ranked(|timing| timing.look_up),
                fetch: ranked(|timing| timing.fetch),
                lexical: ranked(|timing| timing.lexical),
                deep: ranked(|timing| timing.deep),
            }),
            total: mean(|timing| timing.total),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
