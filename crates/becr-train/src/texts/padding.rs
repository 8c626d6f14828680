//! Sequences and terms rounded up to shapes that recur.

use crate::batch::{Sequences, Terms};
use becr_rank::RankQuery;

/// The numbers of terms and of token groups are rounded up to multiples of these.
const TERM_STEP: usize = 4;
const GROUP_STEP: usize = 16;

impl Sequences {
    /// Pads sequences to `rows` of one length, a multiple of `step` unless the encoder takes less.
    pub(crate) fn of(sequences: &[Vec<u32>], rows: usize, step: usize, most: usize) -> Self {
        let longest = sequences.iter().map(Vec::len).max().unwrap_or(1);
        let length = longest.next_multiple_of(step).min(most);
        let mut ids = vec![0; rows * length];
        for (row, sequence) in ids.chunks_exact_mut(length).zip(sequences) {
            for (place, id) in row.iter_mut().zip(sequence) {
                *place = *id as i32;
            }
        }
        let mut tokens: Vec<usize> = sequences
            .iter()
            .map(|sequence| sequence.len().min(length))
            .collect();
        tokens.resize(rows, 0);
        Self {
            length,
            ids,
            tokens,
            second: Vec::new(),
        }
    }

    /// Says where the document begins in each sequence: from there on tokens have type 1.
    pub(crate) fn with_second(mut self, second: Vec<usize>) -> Self {
        self.second = second;
        self
    }
}

impl Terms {
    /// Every deep term is one vector.
    pub(super) fn whole(queries: &[RankQuery], kinds: usize) -> Self {
        let terms = queries
            .iter()
            .map(|query| query.terms().len())
            .max()
            .unwrap_or(0)
            .max(1);
        let mut made = Self {
            terms,
            groups: terms,
            shares: vec![0.0; queries.len() * terms * terms * kinds],
            weights: vec![0.0; queries.len() * terms],
        };
        for (number, query) in queries.iter().enumerate() {
            for (place, term) in query.terms().iter().enumerate() {
                let row = number * terms + place;
                made.weights[row] = term.weight;
                made.shares[(row * terms + place) * kinds] = 1.0;
            }
        }
        made
    }

    /// Rounds the numbers of terms and groups up.
    pub(super) fn padded(self, queries: usize, kinds: usize) -> Self {
        let terms = self.terms.next_multiple_of(TERM_STEP);
        let groups = self.groups.next_multiple_of(GROUP_STEP);
        let mut made = Self {
            terms,
            groups,
            shares: vec![0.0; queries * terms * groups * kinds],
            weights: vec![0.0; queries * terms],
        };
        for query in 0..queries {
            for term in 0..self.terms {
                let (from, to) = (query * self.terms + term, query * terms + term);
                made.weights[to] = self.weights[from];
                let row = &self.shares[from * self.groups * kinds..][..self.groups * kinds];
                made.shares[to * groups * kinds..][..row.len()].copy_from_slice(row);
            }
        }
        made
    }
}
