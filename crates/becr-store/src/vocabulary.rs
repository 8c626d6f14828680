//! The words that a change has met: their numbers, their stems, and what was counted.

use crate::{Field, FrequencyChange, NewWord, StemChange, keys};
use becr_text::lexical::Analyzer;
use std::collections::HashMap;

/// Words and stems of a change.
#[derive(Default)]
pub(crate) struct Vocabulary {
    /// The number of each word that was asked for; `None` for one that is new.
    numbers: HashMap<String, Option<u32>>,
    /// By number.
    words: HashMap<u32, Word>,
    /// Words that are new, in the order of their numbers.
    new: Vec<NewWord>,
    stems: Vec<StemState>,
    stem_places: HashMap<String, usize>,
    /// Counts the fields that were counted, so that a stem is counted once in each.
    fields: u64,
    analyzer: Analyzer,
}

struct Word {
    spelling: String,
    /// Its stem's place.
    stem: usize,
}

struct StemState {
    stem: String,
    change: FrequencyChange,
    new_words: Vec<u32>,
    /// The last field it was counted in.
    seen: u64,
}

impl Vocabulary {
    /// Whether the store was asked for this word.
    pub(crate) fn has_asked(&self, word: &str) -> bool {
        self.numbers.contains_key(word)
    }

    /// Takes over what the store says of a word.
    pub(crate) fn answer(&mut self, word: &str, number: Option<u32>) {
        self.numbers.insert(word.to_owned(), number);
        if let Some(number) = number {
            self.spelled(number, word);
        }
    }

    /// The number of a word, if it has one.
    pub(crate) fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied().flatten()
    }

    /// Gives a new word its number.
    pub(crate) fn add(&mut self, word: &str, number: u32) {
        self.numbers.insert(word.to_owned(), Some(number));
        let stem = self.spelled(number, word);
        self.stems[stem].new_words.push(number);
        self.new.push(NewWord {
            number,
            word: word.to_owned(),
        });
    }

    /// Whether the word of a number is known.
    pub(crate) fn knows(&self, number: u32) -> bool {
        self.words.contains_key(&number)
    }

    /// Takes over the word of a number; returns the place of its stem.
    pub(crate) fn spelled(&mut self, number: u32, spelling: &str) -> usize {
        if let Some(word) = self.words.get(&number) {
            return word.stem;
        }
        let stem = self.analyzer.stem(spelling);
        let place = match self.stem_places.get(stem.as_ref()) {
            Some(&place) => place,
            None => {
                let place = self.stems.len();
                self.stems.push(StemState {
                    stem: stem.clone().into_owned(),
                    change: FrequencyChange::default(),
                    new_words: Vec::new(),
                    seen: 0,
                });
                self.stem_places.insert(stem.into_owned(), place);
                place
            }
        };
        let spelling = spelling.to_owned();
        self.words.insert(
            number,
            Word {
                spelling,
                stem: place,
            },
        );
        place
    }

    /// Counts the stems of a field in (`by` = 1) or out (−1), each once. All words must be known.
    pub(crate) fn count(&mut self, words: &[u32], field: Field, by: i32) {
        self.fields += 1;
        for word in words {
            let Some(word) = self.words.get(word) else {
                continue;
            };
            let stem = &mut self.stems[word.stem];
            if stem.seen != self.fields {
                stem.seen = self.fields;
                stem.change.add(field, by);
            }
        }
    }

    /// The key of a pair of words.
    pub(crate) fn pair(&self, first: u32, second: u32) -> Option<String> {
        let spelling = |word: u32| Some(self.words.get(&word)?.spelling.as_str());
        Some(format!("{} {}", spelling(first)?, spelling(second)?))
    }

    /// The new words, and what has changed of stems.
    pub(crate) fn into_changes(self) -> (Vec<NewWord>, Vec<StemChange>) {
        let changed = |stem: &StemState| !stem.change.is_nothing() || !stem.new_words.is_empty();
        let mut stems: Vec<StemChange> = self
            .stems
            .into_iter()
            .filter(changed)
            .map(|stem| StemChange {
                stem: stem.stem,
                change: stem.change,
                words: stem.new_words,
            })
            .collect();
        stems.sort_by(|a, b| keys::of_text(&a.stem).cmp(&keys::of_text(&b.stem)));
        (self.new, stems)
    }
}
