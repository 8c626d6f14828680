//! One pass over the words of a document.

use super::features::{COUNT, FEATURES, Field, LexicalValue, Measure, Pool};
use super::word_map::Meaning;
use super::{K1, LexicalQuery};
use becr_store::ForwardIndex;

/// Buffers of the pass, kept from document to document.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Words of the document that matter, with their places.
    hits: Vec<(u32, Meaning)>,
    /// Term frequencies of the field by stem.
    stems: Vec<u32>,
    /// By pair of words.
    pairs: Vec<u32>,
    /// The last position of each stem, plus one; 0 before the first.
    last: Vec<u32>,
    /// The least distance of each pair of stems; 0 if they did not meet.
    near: Vec<u32>,
}

impl Scan {
    /// The lexical features of a document but for that of the first stage, which is left as it is.
    pub(crate) fn features(
        &mut self,
        query: &LexicalQuery,
        document: ForwardIndex<'_>,
        out: &mut [f32; COUNT],
    ) {
        let mut summaries = [[Summary::default(); Measure::ALL.len()]; 2];
        self.by_field(query, document, |scan, field, length| {
            for measure in Measure::ALL {
                let summary = &mut summaries[field][measure as usize];
                scan.measure(query, measure, field, length, |value| summary.add(value));
            }
        });
        for (feature, out) in FEATURES.iter().zip(out) {
            let LexicalValue::Words {
                field,
                measure,
                pool,
            } = feature.value
            else {
                continue;
            };
            let of = |field: usize| summaries[field][measure as usize].pooled(pool);
            *out = match field {
                Field::Title => of(0),
                Field::Body => of(1),
                Field::Both => of(0) + of(1),
            };
        }
    }

    /// Counts in the title, then in the body, and says so: which field, and how many words it has.
    pub(super) fn by_field(
        &mut self,
        query: &LexicalQuery,
        document: ForwardIndex<'_>,
        mut counted: impl FnMut(&Self, usize, usize),
    ) {
        let mut hits = std::mem::take(&mut self.hits);
        hits.clear();
        document.for_each_wanted(&query.map.wanted, |place, number| {
            if let Some(meaning) = query.map.get(number) {
                hits.push((place, meaning));
            }
        });
        let (title, body) = (document.title_words(), document.body_words());
        let border = hits.partition_point(|(place, _)| (*place as usize) < title);
        self.count(query, &hits[..border]);
        counted(self, 0, title);
        self.count(query, &hits[border..]);
        counted(self, 1, body);
        self.hits = hits;
    }

    /// Frequencies and distances from the hits of a field.
    fn count(&mut self, query: &LexicalQuery, hits: &[(u32, Meaning)]) {
        refill(&mut self.stems, query.stems.len());
        refill(&mut self.pairs, query.pairs.len());
        refill(&mut self.last, query.stems.len());
        refill(&mut self.near, query.near.len());
        for (at, &(position, meaning)) in hits.iter().enumerate() {
            if let Some(stem) = meaning.stem {
                let stem = stem as usize;
                self.stems[stem] += 1;
                self.last[stem] = position + 1;
                for &(pair, other) in &query.near_of[stem] {
                    let met = self.last[other as usize];
                    if met > 0 {
                        let (distance, least) = (position + 1 - met, &mut self.near[pair as usize]);
                        if *least == 0 || distance < *least {
                            *least = distance;
                        }
                    }
                }
            }
            let Some(second) = meaning.word else { continue };
            for &(before, other) in hits[..at].iter().rev() {
                if (position - before) as usize > query.window {
                    break;
                }
                let Some(first) = other.word else { continue };
                let pairs = query.followers[first as usize].iter();
                if let Some((_, pair)) = pairs.into_iter().find(|(word, _)| *word == second) {
                    self.pairs[*pair as usize] += 1;
                }
            }
        }
    }

    /// Measures every part of the query in a field that has been counted: its stems or pairs, in their order.
    pub(super) fn measure(
        &self,
        query: &LexicalQuery,
        measure: Measure,
        field: usize,
        length: usize,
        mut take: impl FnMut(f32),
    ) {
        let norm = norm(query, field, length);
        let stems = query.stems.iter().zip(&self.stems);
        let pairs = query.pairs.iter().zip(&self.pairs);
        match measure {
            Measure::TfIdf => stems.for_each(|(idf, &tf)| take(tfidf(idf[field], tf))),
            Measure::Bm25 => stems.for_each(|(idf, &tf)| take(bm25(idf[field], tf, norm))),
            Measure::Proximity => (self.near.iter()).for_each(|&distance| take(near(distance))),
            Measure::PairBm25 => pairs.for_each(|(idf, &tf)| take(bm25(idf[field], tf, norm))),
        }
    }
}

/// What BM25 adds to a term frequency in a field of so many words.
fn norm(query: &LexicalQuery, field: usize, length: usize) -> f32 {
    let (constant, slope) = query.norms[field];
    constant + slope * length as f32
}

fn bm25(idf: f32, tf: u32, norm: f32) -> f32 {
    if tf == 0 {
        return 0.0;
    }
    let tf = tf as f32;
    idf * tf * (K1 as f32 + 1.0) / (tf + norm)
}

fn tfidf(idf: f32, tf: u32) -> f32 {
    match tf {
        0 => 0.0,
        tf => (1.0 + (tf as f32).ln()) * idf,
    }
}

/// Of the least distance of two words; 0 if they did not meet.
fn near(distance: u32) -> f32 {
    match distance {
        0 => 0.0,
        distance => 1.0 / (distance as f32 * distance as f32),
    }
}

fn refill(buffer: &mut Vec<u32>, length: usize) {
    buffer.clear();
    buffer.resize(length, 0);
}

/// Largest, smallest and sum of some values, none of them below 0.
#[derive(Clone, Copy, Default)]
struct Summary {
    max: f32,
    min: f32,
    sum: f32,
    count: u32,
}

impl Summary {
    fn add(&mut self, value: f32) {
        self.max = self.max.max(value);
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.sum += value;
        self.count += 1;
    }

    /// 0 where there were no values.
    fn pooled(&self, pool: Pool) -> f32 {
        match pool {
            Pool::Max => self.max,
            Pool::Min => self.min,
            Pool::Avg => self.sum / self.count.max(1) as f32,
            Pool::Sum => self.sum,
        }
    }
}
