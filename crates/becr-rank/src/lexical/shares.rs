//! The lexical features by the words of a query, for explanations.
//!
//! A feature pools what is measured of stems, or of pairs ([`LexicalValue`]). What it has of a part of the query is the part's
//! share of a sum or a mean, and all of a maximum or minimum if the part attains it; words of one stem share what it has, a
//! pair belongs to its words by halves. The shares of a feature add up to it.

use super::features::{COUNT, FEATURES, Field, LexicalValue, Measure, Pool};
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
        let pairs = pairs(query);
        let mut values = Vec::new();
        self.by_field(query, document, |scan, field, length| {
            for measure in Measure::ALL {
                values.clear();
                scan.measure(query, measure, field, length, |value| values.push(value));
                for (place, pool) in pools(measure, field) {
                    share(&values, pool, |part, value| match measure {
                        Measure::TfIdf | Measure::Bm25 => stems[part][place] += value,
                        Measure::Proximity => {
                            let (a, b) = query.near[part];
                            stems[a as usize][place] += value / 2.0;
                            stems[b as usize][place] += value / 2.0;
                        }
                        Measure::PairBm25 => {
                            let (first, second) = pairs[part];
                            words[first][place] += value / 2.0;
                            words[second][place] += value / 2.0;
                        }
                    });
                }
            }
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
}

/// The features of a measure in a field: their places, and how they pool it.
fn pools(measure: Measure, field: usize) -> impl Iterator<Item = (usize, Pool)> {
    let features = FEATURES.iter().enumerate();
    features.filter_map(move |(place, feature)| match feature.value {
        LexicalValue::Words {
            field: of,
            measure: measured,
            pool,
        } => {
            let is_of_field = match of {
                Field::Title => field == 0,
                Field::Body => field == 1,
                Field::Both => true,
            };
            (measured == measure && is_of_field).then_some((place, pool))
        }
        LexicalValue::FirstStage => None,
    })
}

/// The words of every pair.
fn pairs(query: &LexicalQuery) -> Vec<(usize, usize)> {
    let mut pairs = vec![(0, 0); query.pairs.len()];
    for (first, followers) in query.followers.iter().enumerate() {
        for &(second, pair) in followers {
            pairs[pair as usize] = (first, second as usize);
        }
    }
    pairs
}

/// What each of some values has of them pooled; of equal ones the first is the largest or the smallest.
fn share(values: &[f32], pool: Pool, mut share: impl FnMut(usize, f32)) {
    let places = || 0..values.len();
    let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
    let extreme = match pool {
        Pool::Max => places().rev().max_by(by_value),
        Pool::Min => places().min_by(by_value),
        Pool::Avg => {
            let count = values.len() as f32;
            return places().for_each(|place| share(place, values[place] / count));
        }
        Pool::Sum => return places().for_each(|place| share(place, values[place])),
    };
    if let Some(place) = extreme {
        share(place, values[place]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(values: &[f32], pool: Pool) -> Vec<f32> {
        let mut shares = vec![0.0; values.len()];
        share(values, pool, |place, value| shares[place] += value);
        shares
    }

    #[test]
    fn extremes_belong_to_the_first_that_attains_them() {
        let values = [1.0, 3.0, 0.0, 3.0];
        assert_eq!(shares(&values, Pool::Max), [0.0, 3.0, 0.0, 0.0]);
        assert_eq!(shares(&values, Pool::Min), [0.0; 4]);
        assert_eq!(shares(&values, Pool::Avg), [0.25, 0.75, 0.0, 0.75]);
        assert_eq!(shares(&values, Pool::Sum), values);
        let above = [2.0, 1.0, 1.0];
        assert_eq!(shares(&above, Pool::Min), [0.0, 1.0, 0.0]);
        for pool in [Pool::Max, Pool::Min, Pool::Avg, Pool::Sum] {
            assert!(shares(&[], pool).is_empty());
        }
    }
}
