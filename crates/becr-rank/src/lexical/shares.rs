//! The lexical features by the words of a query, for explanations.
//!
//! A feature is a sum, a mean, a maximum or a minimum over words, or over pairs of them. What it has of a word is the word's
//! part of a sum or a mean, and all of a maximum or minimum if the word attains it; a pair belongs to its words by halves. The
//! shares of a feature add up to it.

use super::names::{BM25, COUNT, PAIRS, PROXIMITY, SUM_BM25, SUM_TFIDF, TFIDF};
use super::scan::{bm25, near, norm, tfidf};
use super::{LexicalQuery, Scan};
use becr_store::ForwardIndex;

/// What a word has of every feature.
pub(crate) type Shares = [f32; COUNT];

impl Scan {
    /// The shares of the query's words, as [`LexicalQuery::words`] has them. No word has a share in the first stage's
    /// feature.
    pub(crate) fn shares(
        &mut self,
        query: &LexicalQuery,
        document: ForwardIndex<'_>,
    ) -> Vec<Shares> {
        let mut stems = vec![[0.0; COUNT]; query.stems.len()];
        let mut words = vec![[0.0; COUNT]; query.followers.len()];
        self.by_field(query, document, |scan, field, length| {
            scan.share_stems(query, field, length, &mut stems);
            scan.share_pairs(query, field, length, &mut words);
        });
        // Words of one stem share what it has.
        for (at, stem) in stems.iter().enumerate() {
            let is_of = |word: &(String, Option<u32>)| word.1 == Some(at as u32);
            let count = query.words.iter().filter(|word| is_of(word)).count();
            let of = words.iter_mut().zip(&query.words);
            for (share, _) in of.filter(|(_, word)| is_of(word)) {
                let both = share.iter_mut().zip(stem);
                both.for_each(|(share, stem)| *share += stem / count as f32);
            }
        }
        words
    }

    /// What comes of stems, and of how near two of them are.
    fn share_stems(&self, query: &LexicalQuery, field: usize, length: usize, stems: &mut [Shares]) {
        let norm = norm(query, field, length);
        let by_stem = query.stems.iter().zip(&self.stems);
        let (tfidfs, bm25s): (Vec<f32>, Vec<f32>) = by_stem
            .map(|(idf, &tf)| (tfidf(idf[field], tf), bm25(idf[field], tf, norm)))
            .unzip();
        for (values, family, both) in [(&tfidfs, TFIDF, SUM_TFIDF), (&bm25s, BM25, SUM_BM25)] {
            let first = family + 4 * field;
            share_extremes(values, |at, of, value| stems[at][first + of] += value);
            for (stem, value) in stems.iter_mut().zip(values) {
                stem[first + 3] += value;
                stem[both] += value;
            }
        }
        let nearness: Vec<f32> = self.near.iter().map(|&distance| near(distance)).collect();
        share_extremes(&nearness, |pair, of, value| {
            let (a, b) = query.near[pair];
            for stem in [a, b] {
                stems[stem as usize][PROXIMITY + 3 * field + of] += value / 2.0;
            }
        });
    }

    /// What comes of word pairs.
    fn share_pairs(&self, query: &LexicalQuery, field: usize, length: usize, words: &mut [Shares]) {
        let norm = norm(query, field, length);
        for (first, followers) in query.followers.iter().enumerate() {
            for &(second, pair) in followers {
                let pair = pair as usize;
                let value = bm25(query.pairs[pair][field], self.pairs[pair], norm);
                for word in [first, second as usize] {
                    words[word][PAIRS + field] += value / 2.0;
                }
            }
        }
    }
}

/// Shares of the maximum (0), the minimum (1) and the mean (2) of some values.
fn share_extremes(values: &[f32], mut share: impl FnMut(usize, usize, f32)) {
    let places = || 0..values.len();
    // The first of equal ones.
    let largest = places()
        .rev()
        .max_by(|&a, &b| values[a].total_cmp(&values[b]));
    let smallest = places().min_by(|&a, &b| values[a].total_cmp(&values[b]));
    for (of, place) in [largest, smallest].into_iter().enumerate() {
        if let Some(place) = place {
            share(place, of, values[place]);
        }
    }
    for (place, value) in values.iter().enumerate() {
        share(place, 2, value / values.len() as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_belong_to_the_first_that_attains_them() {
        let mut shares = [[0.0; 3]; 4];
        share_extremes(&[1.0, 3.0, 0.0, 3.0], |at, of, value| {
            shares[at][of] += value;
        });
        assert_eq!(
            shares,
            [
                [0.0, 0.0, 0.25],
                [3.0, 0.0, 0.75],
                [0.0, 0.0, 0.0],
                [0.0, 0.0, 0.75]
            ]
        );
        share_extremes(&[], |_, _, _| panic!("there is nothing to share"));
    }
}
