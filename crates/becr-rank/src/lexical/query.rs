//! The lexical side of a query: its stems, its pairs, and what the collection says of them.

use super::word_map::{Meaning, WordMap};
use super::{B, K1, idf};
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
}

impl LexicalQuery {
    /// The parts of a query, whose words, stems and pairs the store has answered for. More stems may follow.
    pub(crate) fn new(parts: LexicalParts, answer: &Answer<'_>, window: usize) -> Self {
        let totals = &answer.totals;
        let stems = &answer.stems[..parts.stems.len()];
        let by_stem = |stem: &Stem| by_field(stem.frequency, totals);
        // A pair that is not in the token store is not counted, and taken to be rare.
        let rare = DocumentFrequency { title: 1, body: 1 };
        let by_pair = |known: &Option<DocumentFrequency>| by_field(known.unwrap_or(rare), totals);
        Self {
            map: WordMap::new(&meanings(stems, &answer.words)),
            stems: stems.iter().map(by_stem).collect(),
            pairs: answer.pairs.iter().map(by_pair).collect(),
            followers: parts.followers(),
            near_of: parts.near_of(),
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
    pub(crate) fn new(words: &[String], window: usize, analyzer: &Analyzer) -> Self {
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
            for &(second, second_stem) in places[at + 1..].iter().take(window) {
                pairs.place((first, second));
                if let (Some(a), Some(b)) = (first_stem, second_stem)
                    && a != b
                {
                    near.place((a.min(b), a.max(b)));
                }
            }
        }
        Self {
            words: distinct.list,
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
