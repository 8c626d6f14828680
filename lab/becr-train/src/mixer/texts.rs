//! Queries and documents as numbers of distinct words.

use crate::TrainError;
use crate::config::MixerConfig;
use becr_corpus::{Corpus, CorpusOptions, OnError, Pairs, QueryOptions, read_queries};
use becr_text::lexical::is_stop_word;
use becr_text::pieces::WordPieces;
use becr_text::words::Scanner;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Words of more WordPieces are passed over: they are rarely words.
const MOST_PIECES: usize = 8;

/// The number that stands for no word.
pub(super) const NO_WORD: u32 = 0;

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TextReport {
    /// Queries to learn from.
    pub queries: usize,
    /// Queries to measure with.
    pub held_out: usize,
    /// Documents.
    pub documents: usize,
    /// Words of the documents.
    pub document_words: usize,
    /// Distinct words of queries and documents.
    pub distinct_words: usize,
}

impl fmt::Display for TextReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} queries to learn from and {} to measure with, {} documents of {} words, {} distinct words",
            self.queries, self.held_out, self.documents, self.document_words, self.distinct_words
        )
    }
}

/// Texts laid end to end, each of at least one word.
#[derive(Debug, Clone, Default)]
pub(super) struct Flat {
    pub(super) words: Vec<u32>,
    ends: Vec<usize>,
}

impl Flat {
    fn push(&mut self, words: impl IntoIterator<Item = u32>) {
        self.words.extend(words);
        if self.ends.last().copied().unwrap_or(0) < self.words.len() {
            self.ends.push(self.words.len());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn text(&self, number: usize) -> &[u32] {
        let start = if number == 0 {
            0
        } else {
            self.ends[number - 1]
        };
        &self.words[start..self.ends[number]]
    }

    /// At most `count` words from a place on, within its text.
    pub(super) fn span(&self, start: usize, count: usize) -> &[u32] {
        let text = self.ends.partition_point(|&end| end <= start);
        let end = (start + count).min(self.ends[text]);
        &self.words[start..end]
    }
}

/// Everything that pseudo-queries are drawn from.
pub(super) struct Texts {
    /// WordPieces of all distinct words; number 0 is no word and has none.
    pieces: Vec<u32>,
    piece_ends: Vec<usize>,
    /// Which of them are stop words.
    pub(super) stop: Vec<bool>,
    pub(super) documents: Flat,
    pub(super) queries: Flat,
    pub(super) held_out: Flat,
    pub(super) special: becr_text::pieces::SpecialTokens,
    pub(super) report: TextReport,
}

impl Texts {
    /// Reads the files of a configuration.
    pub(super) fn read(options: &MixerConfig, pieces: &WordPieces) -> Result<Self, TrainError> {
        let mut reading = Reading {
            options,
            numbers: HashMap::new(),
            documents: Flat::default(),
            queries: Flat::default(),
            held_out: Flat::default(),
        };
        for path in &options.queries {
            let ours = |id: &str| {
                !options
                    .leave_out
                    .iter()
                    .any(|prefix| id.starts_with(prefix))
            };
            for query in read_queries(path, &QueryOptions::default())?.queries {
                if ours(&query.id) {
                    reading.query(&query.text);
                }
            }
        }
        for path in &options.pairs {
            for pair in Pairs::open(path, OnError::Stop)? {
                let pair = pair?;
                reading.query(&pair.query);
                reading.document(&pair.title, &pair.text);
            }
        }
        if !options.corpora.is_empty() {
            for document in Corpus::open(&options.corpora, &CorpusOptions::default())? {
                let document = document?;
                reading.document(&document.title, &document.text);
            }
        }
        Ok(reading.finish(pieces))
    }

    /// The WordPieces of a word.
    pub(super) fn pieces(&self, word: u32) -> &[u32] {
        let word = word as usize;
        let start = if word == 0 {
            0
        } else {
            self.piece_ends[word - 1]
        };
        &self.pieces[start..self.piece_ends[word]]
    }

    /// Distinct words, no word among them.
    pub(super) fn distinct(&self) -> usize {
        self.piece_ends.len()
    }
}

struct Reading<'a> {
    options: &'a MixerConfig,
    /// From 0, in the order in which words were met.
    numbers: HashMap<String, u32>,
    documents: Flat,
    queries: Flat,
    held_out: Flat,
}

impl Reading<'_> {
    fn numbers(&mut self, text: &str, most: usize, out: &mut Vec<u32>) {
        let mut scanner = Scanner::new(text);
        let mut word = String::new();
        while out.len() < most && scanner.next_into(&mut word).is_some() {
            let number = match self.numbers.get(&word) {
                Some(&number) => number,
                None => {
                    let number = self.numbers.len() as u32;
                    self.numbers.insert(word.clone(), number);
                    number
                }
            };
            out.push(number);
        }
    }

    fn query(&mut self, text: &str) {
        let mut words = Vec::new();
        self.numbers(text, self.options.longest, &mut words);
        // Equal queries are held out together, whatever their order and file.
        let key: String = Scanned(Scanner::new(text)).collect::<Vec<_>>().join(" ");
        let hash = xxh3_64_with_seed(key.as_bytes(), self.options.seed);
        let share = (hash >> 11) as f64 / (1_u64 << 53) as f64;
        match share < self.options.held_out {
            true => self.held_out.push(words),
            false => self.queries.push(words),
        }
    }

    fn document(&mut self, title: &str, text: &str) {
        let (most, mut words) = (self.options.document_words, Vec::new());
        self.numbers(title, most, &mut words);
        self.numbers(text, most, &mut words);
        self.documents.push(words);
    }

    /// Numbers words anew, without those that have no WordPieces or too many.
    fn finish(self, word_pieces: &WordPieces) -> Texts {
        let mut words: Vec<(String, u32)> = self.numbers.into_iter().collect();
        words.par_sort_unstable_by_key(|(_, number)| *number);
        let ids: Vec<Vec<u32>> = words
            .par_iter()
            .map(|(word, _)| word_pieces.pieces(word).ids)
            .collect();
        let (mut pieces, mut piece_ends, mut new) = (Vec::new(), vec![0], Vec::new());
        let mut stop = vec![false];
        for (ids, (word, _)) in ids.into_iter().zip(&words) {
            let usable = (1..=MOST_PIECES).contains(&ids.len());
            new.push(if usable {
                piece_ends.len() as u32
            } else {
                NO_WORD
            });
            if usable {
                pieces.extend(ids);
                piece_ends.push(pieces.len());
                stop.push(is_stop_word(word));
            }
        }
        let renumbered = |old: &Flat| {
            let mut flat = Flat::default();
            for text in 0..old.len() {
                let words = old.text(text).iter().map(|&word| new[word as usize]);
                flat.push(words.filter(|&word| word != NO_WORD));
            }
            flat
        };
        let documents = renumbered(&self.documents);
        let queries = renumbered(&self.queries);
        let held_out = renumbered(&self.held_out);
        let report = TextReport {
            queries: queries.len(),
            held_out: held_out.len(),
            documents: documents.len(),
            document_words: documents.words.len(),
            distinct_words: piece_ends.len() - 1,
        };
        Texts {
            pieces,
            piece_ends,
            stop,
            documents,
            queries,
            held_out,
            special: word_pieces.special,
            report,
        }
    }
}

struct Scanned<'a>(Scanner<'a>);

impl Iterator for Scanned<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut word = String::new();
        self.0.next_into(&mut word).map(|_| word)
    }
}
