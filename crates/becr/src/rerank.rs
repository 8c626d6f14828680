//! Ranking the candidates of any first stage.

use crate::{Error, Generation, RankOptions, View};
use becr_encoder::Encoder;
use becr_model::QueryMode;
use becr_rank::{
    EncodedQuery, Explanation, ListParts, QueryPlan, RankQuery, RankWorkspace, Ranker, Scored,
};
use becr_store::DocumentStore;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A document to rank.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Candidate<'a> {
    /// Its id.
    pub id: &'a str,
    /// The score of the first stage, if it has one. It is taken relative to the list.
    pub score: Option<f32>,
    /// What the caller knows of this query and document, such as clicks: it counts where the head has a weight for
    /// the name, in the place of the document's own feature of that name.
    pub features: &'a [(String, f32)],
}

impl<'a> Candidate<'a> {
    /// A document with the score of a first stage.
    pub fn new(id: &'a str, score: f32) -> Self {
        Self {
            id,
            score: Some(score),
            features: &[],
        }
    }

    /// A document that no first stage scored.
    pub fn unscored(id: &'a str) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }
}

/// A ranked list.
#[derive(Debug, Clone)]
pub struct RerankAnswer {
    /// Best first, ties by document id: places in the list of candidates, with their scores.
    pub order: Vec<(usize, Scored)>,
    /// Candidates that the index does not have: their places.
    pub unknown: Vec<usize>,
    /// The query as the ranker read it.
    pub query: RankQuery,
    /// The state that was ranked with.
    pub generation: Generation,
    /// Where the time went.
    pub timing: RankTiming,
}

impl RerankAnswer {
    /// How many of the query's words and pairs the token store has.
    pub fn coverage(&self) -> GroupCoverage {
        GroupCoverage::of(&self.query)
    }

    /// Places and scores of all candidates: those that were ranked, then the unknown ones in their order, with scores
    /// below all others and apart from each other in single precision.
    pub fn with_unknown(&self) -> impl Iterator<Item = (usize, f32)> {
        let ranked = self
            .order
            .iter()
            .map(|(place, scored)| (*place, scored.score));
        let lowest = self.order.last().map(|(_, scored)| scored.score);
        ranked.chain(self.unknown.iter().copied().zip(scores_below(lowest)))
    }
}

/// Where the time of a ranking went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankTiming {
    /// The query's words and token groups.
    pub look_up: Duration,
    /// The documents' records.
    pub fetch: Duration,
    /// Lexical features.
    pub lexical: Duration,
    /// Footprints and kernels.
    pub deep: Duration,
}

/// How many of the words and pairs of queries the token store has. A word that it lacks is composed of its
/// WordPieces, a pair that it lacks is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct GroupCoverage {
    /// Words asked for.
    pub words: usize,
    /// Of these, found.
    pub words_found: usize,
    /// Pairs asked for.
    pub pairs: usize,
    /// Of these, found.
    pub pairs_found: usize,
}

impl GroupCoverage {
    /// What was asked for a query.
    pub fn of(query: &RankQuery) -> Self {
        let coverage = query.coverage();
        Self {
            words: coverage.unigrams,
            words_found: coverage.unigrams_found,
            pairs: coverage.pairs,
            pairs_found: coverage.pairs_found,
        }
    }

    /// Adds what was asked for another query.
    pub fn add(&mut self, other: &Self) {
        self.words += other.words;
        self.words_found += other.words_found;
        self.pairs += other.pairs;
        self.pairs_found += other.pairs_found;
    }
}

impl fmt::Display for GroupCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "token groups found: {} of {} words, {} of {} pairs",
            self.words_found, self.words, self.pairs_found, self.pairs
        )
    }
}

/// Scores for documents that come behind those which were ranked, in the given order: below the lowest score,
/// and apart from each other in single precision, which is how runs are read.
pub fn scores_below(lowest: Option<f32>) -> impl Iterator<Item = f32> {
    let lowest = lowest.unwrap_or(0.0);
    let step = (lowest.abs() * 1e-5).max(1.0);
    (1..).map(move |n| lowest - step * n as f32)
}

impl View {
    /// Ranks the candidates of any first stage. Each id should stand in the list once.
    pub fn rerank(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
        options: &RankOptions,
    ) -> Result<RerankAnswer, Error> {
        let ranking = self.ranking(options)?;
        self.with_workspace(|work| ranking.rank(query, candidates, work))
    }

    /// What the scores of a list are made of before they are weighted, for programs that fit weights; candidates that the
    /// index does not have are left out. `None` for a head that is not list-wise.
    pub fn list_parts(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
        options: &RankOptions,
    ) -> Result<Option<ListParts>, Error> {
        let ranking = self.ranking(options)?;
        self.with_workspace(|work| ranking.parts(query, candidates, work))
    }

    /// What ranking takes, ready.
    pub(crate) fn ranking(&self, options: &RankOptions) -> Result<Ranking<'_>, Error> {
        let ranker = self.ranker()?;
        let state = self.state();
        let plan = state.opened.plan(&ranker, options)?;
        let encoder = match plan.mode() {
            QueryMode::Encoded => Some(state.options.encoder_of(&state.opened)?),
            QueryMode::Composed => None,
        };
        Ok(Ranking {
            view: self,
            ranker,
            plan,
            encoder,
        })
    }
}

/// A state, a ranker and options.
pub(crate) struct Ranking<'v> {
    pub(crate) view: &'v View,
    pub(crate) ranker: Arc<Ranker>,
    plan: QueryPlan,
    /// Reads whole queries.
    encoder: Option<Arc<Encoder>>,
}

impl Ranking<'_> {
    /// How queries are read and scored.
    pub(crate) fn plan(&self) -> &QueryPlan {
        &self.plan
    }

    pub(crate) fn rank(
        &self,
        text: &str,
        entries: &[Candidate<'_>],
        work: &mut RankWorkspace,
    ) -> Result<RerankAnswer, Error> {
        self.rank_in(&*self.view.snapshot()?, text, entries, work)
    }

    /// The same from a store that may have more than the view.
    pub(crate) fn rank_in(
        &self,
        snapshot: &impl DocumentStore,
        text: &str,
        entries: &[Candidate<'_>],
        work: &mut RankWorkspace,
    ) -> Result<RerankAnswer, Error> {
        let begun = Instant::now();
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id).collect();
        let (query, numbers) = self.query(snapshot, text, &ids)?;
        let look_up = begun.elapsed();
        self.rank_numbers(snapshot, query, (entries, &numbers), look_up, work)
    }

    /// The same for a query that has been read, and candidates by number; `look_up` is how long reading it took.
    pub(crate) fn rank_numbers(
        &self,
        snapshot: &impl DocumentStore,
        query: RankQuery,
        (entries, numbers): (&[Candidate<'_>], &[Option<u64>]),
        look_up: Duration,
        work: &mut RankWorkspace,
    ) -> Result<RerankAnswer, Error> {
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id).collect();
        let (places, candidates) = known(entries, numbers);
        let scored = self.ranker.score(&query, snapshot, &candidates, work)?;
        // A document whose record is gone counts with those that the index does not have.
        let found: Vec<(usize, Scored)> = places
            .into_iter()
            .zip(scored)
            .filter_map(|(place, scored)| Some((place, scored?)))
            .collect();
        let scored: Vec<Scored> = found.iter().map(|(_, scored)| *scored).collect();
        let names: Vec<&str> = found.iter().map(|(place, _)| ids[*place]).collect();
        let order = becr_rank::ranking(&scored, &names);
        let mut is_known = vec![false; entries.len()];
        found.iter().for_each(|(place, _)| is_known[*place] = true);
        let scoring = work.timing();
        Ok(RerankAnswer {
            query,
            order: order.into_iter().map(|at| found[at]).collect(),
            unknown: (0..entries.len())
                .filter(|&place| !is_known[place])
                .collect(),
            generation: self.view.generation(),
            timing: RankTiming {
                look_up,
                fetch: scoring.fetch,
                lexical: scoring.lexical,
                deep: scoring.deep,
            },
        })
    }

    fn parts(
        &self,
        text: &str,
        entries: &[Candidate<'_>],
        work: &mut RankWorkspace,
    ) -> Result<Option<ListParts>, Error> {
        let snapshot = &*self.view.snapshot()?;
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id).collect();
        let (query, numbers) = self.query(snapshot, text, &ids)?;
        let (places, candidates) = known(entries, &numbers);
        let parts = self
            .ranker
            .list_parts(&query, snapshot, &candidates, work)?;
        Ok(parts.map(|mut parts| {
            let rows = parts.rows.iter_mut();
            rows.for_each(|row| row.place = places[row.place]);
            parts
        }))
    }

    /// The query, and the numbers of the candidates.
    pub(crate) fn query(
        &self,
        snapshot: &impl DocumentStore,
        text: &str,
        ids: &[&str],
    ) -> Result<(RankQuery, Vec<Option<u64>>), Error> {
        let whole = |text: &str| match &self.encoder {
            Some(encoder) => {
                let query = encoder.whole_query(text)?;
                Ok(EncodedQuery {
                    words: query.words,
                    whole: query.vector,
                })
            }
            None => Err("no encoder".into()),
        };
        let encoder = self.encoder.is_some().then_some(&whole as _);
        let ranker = &self.ranker;
        Ok(ranker.query_for(snapshot, text, ids, &self.plan, encoder)?)
    }

    /// Takes the scores of the candidates at `wanted` apart, in their order.
    pub(crate) fn explain(
        &self,
        answer: &RerankAnswer,
        entries: &[Candidate<'_>],
        wanted: &[usize],
        work: &mut RankWorkspace,
    ) -> Result<Vec<Explanation>, Error> {
        let snapshot = &*self.view.snapshot()?;
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id).collect();
        let numbers = snapshot.numbers(&ids)?;
        let (places, candidates) = known(entries, &numbers);
        let which = |&place: &usize| {
            let which = places.iter().position(|&at| at == place);
            which.ok_or_else(|| Error::UnknownDocument(ids[place].to_owned()))
        };
        let which: Vec<usize> = wanted.iter().map(which).collect::<Result<_, _>>()?;
        let (ranker, query) = (&self.ranker, &answer.query);
        Ok(ranker.explain_all(query, snapshot, &candidates, &which, work)?)
    }
}

/// The entries that the index has: their places, and what the ranker is given.
fn known<'a>(
    entries: &[Candidate<'a>],
    numbers: &[Option<u64>],
) -> (Vec<usize>, Vec<becr_rank::Candidate<'a>>) {
    let known = entries.iter().zip(numbers).enumerate();
    known
        .filter_map(|(place, (entry, number))| {
            let candidate = becr_rank::Candidate {
                number: (*number)?,
                first_stage: entry.score,
                features: entry.features,
            };
            Some((place, candidate))
        })
        .unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_behind_stays_in_order() {
        for lowest in [None, Some(0.0), Some(-3.5), Some(1e9), Some(-4e7)] {
            let scores: Vec<f32> = scores_below(lowest).take(2000).collect();
            assert!(scores[0] < lowest.unwrap_or(0.0), "{lowest:?}");
            assert!(scores.is_sorted_by(|a, b| a > b), "{lowest:?}");
        }
    }
}
