//! Sequences and terms rounded up to shapes that recur.

use crate::batch::{Sequences, Split, Terms, Tokens};
use becr_rank::RankQuery;

/// The numbers of terms and of token groups are rounded up to multiples of these.
const TERM_STEP: usize = 4;
const GROUP_STEP: usize = 16;

/// Tokens of documents in pieces are rounded up to a multiple of this.
const TOKEN_STEP: usize = 32;

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
            states: Vec::new(),
        }
    }

    /// Says where the document begins in each sequence: from there on tokens have type 1.
    pub(crate) fn with_second(mut self, second: Vec<usize>) -> Self {
        self.second = second;
        self
    }
}

/// `[document][piece of all]`: a piece's share in the mean over those of its document, for so many pieces of each.
pub(crate) fn shares(counts: &[usize]) -> Vec<f32> {
    let pieces: usize = counts.iter().sum();
    let mut shares = vec![0.0; counts.len() * pieces];
    let mut first = 0;
    for (document, &count) in counts.iter().enumerate() {
        shares[document * pieces + first..][..count].fill(1.0 / count as f32);
        first += count;
    }
    shares
}

impl Split {
    /// For documents in framed pieces, each padded to one length.
    pub(super) fn of(documents: &[Vec<Vec<u32>>], length: usize) -> Self {
        let counts: Vec<usize> = documents.iter().map(Vec::len).collect();
        let mut row = 0;
        let mut tokens = Vec::with_capacity(documents.len());
        for pieces in documents {
            let mut places = Vec::new();
            for piece in pieces {
                // Without [CLS] and [SEP].
                let inner = row * length + 1..row * length + piece.len() - 1;
                places.extend(inner.map(|place| (place, 1.0)));
                row += 1;
            }
            tokens.push(places);
        }
        Self {
            shares: shares(&counts),
            tokens: Tokens::of(&tokens, TOKEN_STEP),
        }
    }
}

impl Tokens {
    /// Rows of places and their weights, padded to a multiple of `step`.
    pub(crate) fn of(rows: &[Vec<(usize, f32)>], step: usize) -> Self {
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        let length = longest.max(1).next_multiple_of(step);
        let mut made = Self {
            length,
            places: vec![0; rows.len() * length],
            valid: vec![0.0; rows.len() * length],
        };
        for (number, row) in rows.iter().enumerate() {
            for (at, (place, weight)) in row.iter().enumerate() {
                made.places[number * length + at] = *place as i32;
                made.valid[number * length + at] = *weight;
            }
        }
        made
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
