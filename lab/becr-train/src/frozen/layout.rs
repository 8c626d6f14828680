//! Numbers of queries with different numbers of documents, terms and tokens, laid out as the network takes them.

use super::{FrozenRow, Looked};
use crate::batch::{Histograms, Terms};
use crate::model::bins::{self, BINS};
use becr_rank::RankQuery;

/// Rows of queries that all have the same number of candidates, present or not.
pub(super) struct Padded<'a> {
    pub(super) looked: &'a [Looked],
    pub(super) candidates: usize,
}

impl<'a> Padded<'a> {
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'a RankQuery, Option<&'a FrozenRow>)> {
        let candidates = self.candidates;
        (self.looked.iter())
            .flat_map(move |(query, rows)| (0..candidates).map(move |at| (query, rows.get(at))))
    }

    pub(super) fn log_sums(&self, width: usize) -> Vec<f32> {
        let mut all = Vec::with_capacity(self.looked.len() * self.candidates * width);
        for (_, row) in self.rows() {
            match row {
                Some(row) => all.extend(&row.log_sums),
                None => all.resize(all.len() + width, 0.0),
            }
        }
        all
    }

    pub(super) fn histograms(&self, layers: usize) -> Histograms {
        let mut made = Histograms::default();
        for (pair, (query, row)) in self.rows().enumerate() {
            let Some(row) = row else { continue };
            let terms = query.terms().len();
            for (number, term) in query.terms().iter().enumerate() {
                for layer in 0..layers {
                    let start = made.bins.len();
                    made.bins.resize(start + BINS, 0.0);
                    let tokens =
                        &row.similarities[(layer * terms + number) * row.tokens..][..row.tokens];
                    bins::add(tokens, &mut made.bins[start..]);
                }
                made.weights.push(term.weight);
                made.pairs.push(pair as i32);
            }
        }
        made
    }
}

impl Terms {
    /// The composition of queries from token groups of `kinds`: uni-grams, and pairs by distance.
    pub(crate) fn of<'q>(
        queries: impl Iterator<Item = &'q RankQuery> + Clone,
        kinds: usize,
    ) -> Self {
        let terms = queries
            .clone()
            .map(|query| query.terms().len())
            .max()
            .unwrap_or(0)
            .max(1);
        let groups = queries
            .clone()
            .map(RankQuery::vectors)
            .max()
            .unwrap_or(0)
            .max(1);
        let count = queries.clone().count();
        let mut made = Self {
            terms,
            groups,
            shares: vec![0.0; count * terms * groups * kinds],
            weights: vec![0.0; count * terms],
        };
        for (number, query) in queries.enumerate() {
            for (place, term) in query.terms().iter().enumerate() {
                let row = number * terms + place;
                made.weights[row] = term.weight;
                // A word that the store does not know is made of its pieces, which share its weight.
                let pieces = term.groups.iter().filter(|used| used.distance == 0).count();
                for used in &term.groups {
                    let share = if used.distance == 0 {
                        1.0 / pieces as f32
                    } else {
                        1.0
                    };
                    made.shares[(row * groups + used.vector) * kinds + used.distance] += share;
                }
            }
        }
        made
    }
}
