//! The lexical side of a query: its stems, its pairs, and what the collection says of them.

use super::word_map::{Meaning, WordMap};
use super::{B, K1, idf, idf_of};
use becr_model::{PairFrequency, Proximity};
use becr_store::{Answer, DocumentFrequency, Stem, Totals};
use becr_text::groups::TokenGroup;
use becr_text::lexical::{Analyzer, is_stop_word};
use std::collections::HashMap;

/// A value for the title and one for the body.
pub(crate) type ByField<T> = [T; 2];

/// The lexical side of a query.
#[derive(Debug, Clone)]
pub(crate) struct LexicalQuery {
    pub(crate) map: WordMap,
    /// What `map` was made of.
    pub(crate) meanings: Vec<(u32, Meaning)>,
    /// Inverse document frequency of each distinct stem.
    pub(crate) stems: Vec<ByField<f32>>,
    /// Inverse document frequency of each distinct pair of words.
    pub(crate) pairs: Vec<ByField<f32>>,
    /// Of each query word: the words it forms a pair with as the first, and which pair that is.
    pub(crate) followers: Vec<Vec<(u32, u32)>>,
    /// Pairs of different stems whose nearness counts.
    pub(crate) near: Vec<(u32, u32)>,
    /// Of each stem: the pairs of `near` it is in, and the other stem.
    pub(crate) near_of: Vec<Vec<(u32, u32)>>,
    /// BM25's k1·(1 − b) and k1·b / average length.
    pub(crate) norms: ByField<(f32, f32)>,
    /// How far apart the words of a pair may stand.
    pub(crate) window: usize,
    /// The distinct words, each with the place of its stem if it counts: for explanations alone.
    pub(crate) words: Vec<(String, Option<u32>)>,
}

impl LexicalQuery {
    /// The parts of a query, whose words, stems and pairs the store has answered for. More stems may follow.
    /// `stem_of` has, for each word of the query, the place of its stem in the answer.
    pub(crate) fn new(
        parts: LexicalParts,
        stem_of: &[Option<u32>],
        answer: &Answer<'_>,
        window: usize,
        frequency: PairFrequency,
    ) -> Self {
        let totals = &answer.totals;
        let stems = &answer.stems[..parts.stems.len()];
        let by_stem = |stem: &Stem| by_field(stem.frequency, totals);
        // A pair that is not in the token store is not counted, and taken to be rare.
        let rare = DocumentFrequency { title: 1, body: 1 };
        let by_pair = |known: &Option<DocumentFrequency>| by_field(known.unwrap_or(rare), totals);
        let pairs = match frequency {
            PairFrequency::Store => answer.pairs.iter().map(by_pair).collect(),
            PairFrequency::Words => {
                let words = parts.frequencies(stem_of, &answer.stems);
                let estimate = |&(first, second): &(u32, u32)| {
                    estimated(
                        [words[first as usize], words[second as usize]],
                        totals,
                        window,
                    )
                };
                parts.pairs.iter().map(estimate).collect()
            }
        };
        let meanings = meanings(stems, &answer.words);
        Self {
            map: WordMap::new(&meanings),
            meanings,
            stems: stems.iter().map(by_stem).collect(),
            pairs,
            followers: parts.followers(),
            near_of: parts.near_of(),
            words: parts.words_with_stems(),
            near: parts.near,
            norms: [
                norms(totals.title_words, totals),
                norms(totals.body_words, totals),
            ],
            window,
        }
    }
}

fn by_field(frequency: DocumentFrequency, totals: &Totals) -> ByField<f32> {
    [frequency.title, frequency.body].map(|df| idf(totals.documents, df) as f32)
}

/// Inverse document frequency of a pair whose words are in so many documents each, by field. Its frequency is taken to
/// be the geometric mean of the least and the most that are likely: where the words have nothing to do with each other,
/// and where the rarer one never comes without the other.
fn estimated(words: [DocumentFrequency; 2], totals: &Totals, window: usize) -> ByField<f32> {
    let documents = totals.documents.max(1) as f64;
    let field = |of: fn(&DocumentFrequency) -> u32, total: u64| {
        let [a, b] = [&words[0], &words[1]].map(|word| f64::from(of(word)));
        let length = total as f64 / documents;
        // In a long field two words meet within the window less often than they both occur.
        let near = match length > 0.0 {
            true => (window as f64 / length).min(1.0),
            false => 1.0,
        };
        let chance = (a * b / documents * near).max(1.0);
        let frequency = (chance * a.min(b).max(1.0)).sqrt().max(1.0);
        idf_of(totals.documents as f64, frequency) as f32
    };
    [
        field(|word| word.title, totals.title_words),
        field(|word| word.body, totals.body_words),
    ]
}

/// The two parts of BM25's denominator beside the term frequency: a constant, and what to multiply with the length.
fn norms(words: u64, totals: &Totals) -> (f32, f32) {
    let average = words as f64 / totals.documents.max(1) as f64;
    let slope = if average > 0.0 { K1 * B / average } else { 0.0 };
    ((K1 * (1.0 - B)) as f32, slope as f32)
}

/// What every word of the vocabulary that matters is to the query.
fn meanings(stems: &[Stem], numbers: &[Option<u32>]) -> Vec<(u32, Meaning)> {
    let mut meanings: HashMap<u32, Meaning> = HashMap::new();
    let none = Meaning {
        stem: None,
        word: None,
    };
    for (at, stem) in stems.iter().enumerate() {
        for &word in &stem.words {
            meanings.entry(word).or_insert(none).stem = Some(at as u32);
        }
    }
    for (at, number) in numbers.iter().enumerate() {
        if let Some(number) = number {
            meanings.entry(*number).or_insert(none).word = Some(at as u32);
        }
    }
    let mut meanings: Vec<_> = meanings.into_iter().collect();
    meanings.sort_unstable_by_key(|(number, _)| *number);
    meanings
}

/// The distinct words, stems and pairs of a query.
pub(crate) struct LexicalParts {
    /// Every word, stop words too: pairs have them.
    pub(crate) words: Vec<String>,
    /// Of each word of the query: its place in `words`.
    word_of: Vec<u32>,
    /// Stems of the words that count.
    pub(crate) stems: Vec<String>,
    /// Of each word of the query: its place in `stems`, if it counts.
    pub(crate) stem_of: Vec<Option<u32>>,
    /// Ordered pairs of words, by place in `words`.
    pairs: Vec<(u32, u32)>,
    /// Pairs of stems, by place in `stems`, in either order.
    near: Vec<(u32, u32)>,
}

impl LexicalParts {
    pub(crate) fn new(
        words: &[String],
        window: usize,
        proximity: Proximity,
        analyzer: &Analyzer,
    ) -> Self {
        // Stop words do not count, unless there is nothing else.
        let only_stop_words = words.iter().all(|word| is_stop_word(word));
        let counts = |word: &str| only_stop_words || !is_stop_word(word);
        let (mut distinct, mut stems) = (Distinct::default(), Distinct::default());
        let (mut pairs, mut near) = (Distinct::default(), Distinct::default());
        let places: Vec<(u32, Option<u32>)> = words
            .iter()
            .map(|word| {
                let stem = counts(word).then(|| stems.place(analyzer.stem(word).into_owned()));
                (distinct.place(word.clone()), stem)
            })
            .collect();
        for (at, &(first, first_stem)) in places.iter().enumerate() {
            let near_words = match proximity {
                Proximity::Window => window,
                Proximity::Query => places.len(),
            };
            for &(second, _) in places[at + 1..].iter().take(window) {
                pairs.place((first, second));
            }
            for &(_, second_stem) in places[at + 1..].iter().take(near_words) {
                if let (Some(a), Some(b)) = (first_stem, second_stem)
                    && a != b
                {
                    near.place((a.min(b), a.max(b)));
                }
            }
        }
        Self {
            words: distinct.list,
            word_of: places.iter().map(|(word, _)| *word).collect(),
            stems: stems.list,
            stem_of: places.into_iter().map(|(_, stem)| stem).collect(),
            pairs: pairs.list,
            near: near.list,
        }
    }

    pub(crate) fn groups(&self) -> Vec<TokenGroup> {
        let word = |at: u32| self.words[at as usize].clone();
        self.pairs
            .iter()
            .map(|&(first, second)| TokenGroup::Pair(word(first), word(second)))
            .collect()
    }

    /// In how many documents each of `words` is, as its stem is counted.
    fn frequencies(&self, stem_of: &[Option<u32>], stems: &[Stem]) -> Vec<DocumentFrequency> {
        let mut frequencies = vec![DocumentFrequency::default(); self.words.len()];
        for (&word, stem) in self.word_of.iter().zip(stem_of) {
            let stem = stem.and_then(|stem| stems.get(stem as usize));
            if let Some(stem) = stem {
                frequencies[word as usize] = stem.frequency;
            }
        }
        frequencies
    }

    fn words_with_stems(&self) -> Vec<(String, Option<u32>)> {
        let mut words: Vec<_> = self.words.iter().map(|word| (word.clone(), None)).collect();
        for (&word, &stem) in self.word_of.iter().zip(&self.stem_of) {
            words[word as usize].1 = stem;
        }
        words
    }

    fn followers(&self) -> Vec<Vec<(u32, u32)>> {
        let mut followers = vec![Vec::new(); self.words.len()];
        for (pair, &(first, second)) in self.pairs.iter().enumerate() {
            followers[first as usize].push((second, pair as u32));
        }
        followers
    }

    fn near_of(&self) -> Vec<Vec<(u32, u32)>> {
        let mut near_of = vec![Vec::new(); self.stems.len()];
        for (pair, &(a, b)) in self.near.iter().enumerate() {
            near_of[a as usize].push((pair as u32, b));
            near_of[b as usize].push((pair as u32, a));
        }
        near_of
    }
}

/// Things in the order of their first appearance.
struct Distinct<T> {
    list: Vec<T>,
    places: HashMap<T, u32>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Distinct<T> {
    fn place(&mut self, thing: T) -> u32 {
        *self.places.entry(thing).or_insert_with_key(|thing| {
            self.list.push(thing.clone());
            (self.list.len() - 1) as u32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 documents, bodies of 30 words, a window of 3: words in 100 and 40 bodies meet by chance in
    /// 100·40/1000·3/30 = 0.4 of them, taken as 1; √(1·40) = 6.3246. In titles of 2 words, 50 and 20 of them: 1 by chance,
    /// √(1·20) = 4.4721.
    #[test]
    fn pair_frequencies_by_hand() {
        let totals = Totals {
            documents: 1000,
            title_words: 2000,
            body_words: 30_000,
            ..Totals::default()
        };
        let word = |title, body| DocumentFrequency { title, body };
        let close = |found: f32, frequency: f64| {
            let expected = idf_of(1000.0, frequency) as f32;
            assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        };
        let [title, body] = estimated([word(50, 100), word(20, 40)], &totals, 3);
        close(title, 20.0_f64.sqrt());
        close(body, 40.0_f64.sqrt());
        // Two frequent words: 500·400/1000·0.1 = 20 by chance, √(20·400) = 89.44.
        let [_, body] = estimated([word(0, 500), word(0, 400)], &totals, 3);
        close(body, 8000.0_f64.sqrt());
        // Words that are nowhere, and a collection of nothing.
        let [title, body] = estimated([word(0, 0), word(3, 9)], &totals, 3);
        close(title, 1.0);
        close(body, 1.0);
        let nothing = estimated([word(0, 0), word(0, 0)], &Totals::default(), 3);
        assert!(nothing.iter().all(|idf| idf.is_finite()));
    }
}
