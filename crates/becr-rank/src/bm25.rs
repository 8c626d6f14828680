//! BM25 of a query in documents, by their records: what the first stage would say of documents that it did not find.
//!
//! The numbers are those of the first stage's engine to the last bit: stems of the query without stop words, k1 = 1.2, b = 0.75,
//! single precision, lengths of fields as Lucene keeps them in a byte (exact up to 40, then in steps of an eighth), the parts of
//! all stems in titles added up before those in bodies.

use becr_store::{
    Answer, DocumentStore, FetchBuffer, FoundRecord, Question, Record, StoreError, Wanted,
};
use becr_text::lexical::Analyzer;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::LazyLock;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The lengths that a byte can keep.
static LENGTHS: LazyLock<[u32; 256]> = LazyLock::new(|| {
    let mut lengths = [0; 256];
    for (byte, length) in lengths.iter_mut().enumerate() {
        // The first 24 are kept as they are; then three bits of mantissa and an exponent.
        let code = byte.saturating_sub(24) as u64;
        let value = match code >> 3 {
            0 => code,
            exponent => (code & 7 | 8) << (exponent - 1),
        };
        *length = match byte < 24 {
            true => byte as u32,
            false => u32::try_from(value + 24).unwrap_or(u32::MAX),
        };
    }
    lengths
});

/// A query with what the collection knows of its stems.
pub struct Bm25Query {
    /// By stem: its weight in titles and in bodies.
    weights: Vec<[f32; 2]>,
    /// The stem of a word of a forward index.
    stems: HashMap<u32, usize>,
    wanted: Wanted,
    /// Mean words of a title and of a body.
    means: [f32; 2],
}

impl Bm25Query {
    /// Reads a query; one round trip to the store.
    pub fn new<S>(store: &S, text: &str) -> Result<Self, StoreError>
    where
        S: DocumentStore + ?Sized,
    {
        let mut counts: BTreeMap<String, f32> = BTreeMap::new();
        for stem in Analyzer::default().query_stems(text) {
            *counts.entry(stem.text).or_insert(0.0) += 1.0;
        }
        let names: Vec<&str> = counts.keys().map(String::as_str).collect();
        let question = Question {
            stems: &names,
            ..Question::default()
        };
        let mut buffer = FetchBuffer::default();
        let Answer { totals, stems, .. } = store.look_up(&question, &mut buffer)?;
        let documents = totals.documents as f32;
        let weight = |count: f32, frequency: u32| {
            let without = totals.documents.saturating_sub(frequency.into()) as f32;
            let idf = (1.0 + (without + 0.5) / (frequency as f32 + 0.5)).ln();
            let weight = idf * (1.0 + K1);
            if count == 1.0 { weight } else { weight * count }
        };
        let found = counts.values().zip(&stems);
        let weights = found.map(|(&count, stem)| {
            let frequency = stem.frequency;
            [frequency.title, frequency.body].map(|frequency| weight(count, frequency))
        });
        let weights = weights.collect();
        let words = |(at, stem): (usize, &becr_store::Stem)| -> Vec<(u32, usize)> {
            stem.words.iter().map(|&word| (word, at)).collect()
        };
        let stems: HashMap<u32, usize> = stems.iter().enumerate().flat_map(words).collect();
        Ok(Self {
            wanted: Wanted::new(stems.keys().copied()),
            weights,
            stems,
            means: [totals.title_words, totals.body_words].map(|words| words as f32 / documents),
        })
    }

    /// BM25 of title and body.
    pub fn score(&self, record: &Record<'_>) -> f32 {
        let forward = record.forward();
        let lengths = [forward.title_words(), forward.body_words()];
        let mut counts = vec![[0u32; 2]; self.weights.len()];
        forward.for_each_wanted(&self.wanted, |place, word| {
            if let Some(&stem) = self.stems.get(&word) {
                counts[stem][usize::from(place as usize >= lengths[0])] += 1;
            }
        });
        let mut score = 0.0;
        for field in 0..2 {
            let norm = K1 * (1.0 - B + B * kept(lengths[field]) as f32 / self.means[field]);
            for (counts, weights) in counts.iter().zip(&self.weights) {
                if counts[field] > 0 {
                    let count = counts[field] as f32;
                    score += f64::from(weights[field] * (count / (count + norm)));
                }
            }
        }
        score as f32
    }

    /// The scores of documents by number; `None` where there is no document.
    pub fn scores<S>(&self, store: &S, numbers: &[u64]) -> Result<Vec<Option<f32>>, StoreError>
    where
        S: DocumentStore + ?Sized,
    {
        let mut scores = Vec::with_capacity(numbers.len());
        let mut fault = None;
        let mut buffer = FetchBuffer::default();
        store.fetch(numbers, &mut buffer, &mut |_, found| {
            let score = |found: &FoundRecord<'_>| Ok(self.score(&found.check()?));
            for found in found {
                match found.as_ref().map(score).transpose() {
                    Ok(score) => scores.push(score),
                    Err(error) => {
                        fault = Some(error);
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        fault.map_or(Ok(scores), Err)
    }
}

/// The largest length that a byte can keep and that is no longer.
fn kept(length: usize) -> u32 {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    let above = LENGTHS.partition_point(|kept| *kept <= length);
    LENGTHS[above.saturating_sub(1)]
}

#[cfg(test)]
mod tests {
    use super::kept;

    /// As Lucene's SmallFloat has them.
    #[test]
    fn lengths_lose_their_last_bits() {
        for length in 0..=40 {
            assert_eq!(kept(length), length as u32);
        }
        let lost = [
            (41, 40),
            (42, 42),
            (55, 54),
            (56, 56),
            (59, 56),
            (60, 60),
            (500, 472),
        ];
        for (length, expected) in lost {
            assert_eq!(kept(length), expected, "{length}");
        }
        assert_eq!(kept(usize::MAX), 2_013_265_944);
    }
}
