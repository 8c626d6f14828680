//! Words and word pairs of a corpus, counted exactly in bounded memory.
//!
//! Counts gather in a table of fixed size. When it is full they are written as a sorted **run** and the
//! table starts anew; in the end the runs are merged. A run ends between two documents, so that adding
//! the document frequencies of runs is exact.

use crate::Error;
use crate::file::{CountFile, Writer};
use crate::output::Purpose;
use crate::table::Table;
use becr_text::words::Scanner;
use indexmap::IndexSet;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Longer words are not counted, though they keep their position: WordPiece makes `[UNK]` of them, so
/// that a group with one of them would say nothing.
pub const MAX_WORD_CHARS: usize = 100;

/// How to count.
#[derive(Debug, Clone)]
pub struct CountOptions {
    /// Largest distance between the two words of a pair. 0 counts words only.
    pub window: u32,
    /// Memory to use, in bytes. A single very long document may take more.
    pub memory: usize,
    /// Where a folder for the runs may be made.
    pub scratch: PathBuf,
}

/// Stands for a word that is not counted.
const LONG: u32 = u32::MAX;
/// Stands between two fields.
const BORDER: u32 = u32::MAX - 1;
/// What a word takes beside its letters: its entry, its place in the hash table, its rank in a run.
const BYTES_PER_WORD: usize = 104;

/// Counts the documents it is given. For several threads, use one each and [`Counter::absorb`].
pub struct Counter {
    options: CountOptions,
    words: IndexSet<Box<str>>,
    word_bytes: usize,
    table: Table,
    /// The words of the current document, with [`LONG`] and [`BORDER`] among them.
    document: Vec<u32>,
    run: RunTotals,
    runs: Vec<CountFile>,
    /// Where this counter's runs are; removed when it goes.
    folder: Option<TempDir>,
    absorbed: Vec<TempDir>,
}

#[derive(Debug, Default, Clone, Copy)]
struct RunTotals {
    documents: u32,
    words: u64,
    long_words: u64,
}

impl Counter {
    /// A counter that has counted nothing yet.
    pub fn new(options: &CountOptions) -> Self {
        Self {
            options: options.clone(),
            words: IndexSet::new(),
            word_bytes: 0,
            table: Table::new(options.memory / 4 * 3),
            document: Vec::new(),
            run: RunTotals::default(),
            runs: Vec::new(),
            folder: None,
            absorbed: Vec::new(),
        }
    }

    /// Counts one document, or one query. Pairs do not reach from one field into the next.
    pub fn add(&mut self, fields: &[&str]) -> Result<(), Error> {
        self.read(fields);
        if !self.has_room() {
            // The spill forgets the words, so the document is read again. An empty table has room for it.
            self.spill()?;
            self.read(fields);
            self.table.make_room(self.groups_at_most());
        }
        self.run.documents += 1;
        let window = self.options.window as usize;
        for (position, &word) in self.document.iter().enumerate() {
            if word >= BORDER {
                self.run.long_words += u64::from(word == LONG);
                continue;
            }
            self.run.words += 1;
            self.table.add(word_key(word), self.run.documents);
            let end = position.saturating_add(window).saturating_add(1);
            let near = &self.document[position + 1..end.min(self.document.len())];
            for &other in near.iter().take_while(|&&other| other != BORDER) {
                if other != LONG {
                    self.table.add(pair_key(word, other), self.run.documents);
                }
            }
        }
        Ok(())
    }

    /// Takes over what another counter has counted, with the same window or [`Counter::finish`] fails.
    pub fn absorb(&mut self, mut other: Counter) -> Result<(), Error> {
        other.spill()?;
        self.runs.append(&mut other.runs);
        self.absorbed.append(&mut other.absorbed);
        self.absorbed.extend(other.folder.take());
        Ok(())
    }

    /// Writes everything counted to one file at `out`.
    pub fn finish(mut self, out: &Path) -> Result<CountFile, Error> {
        if self.runs.is_empty() {
            return self.write_run(out, Purpose::Result);
        }
        self.spill()?;
        // The table's memory is the merge's now.
        self.table = Table::new(0);
        self.words = IndexSet::new();
        CountFile::merge(&self.runs, out, &self.options.scratch, self.options.memory)
    }

    /// Turns the words of `fields` into numbers, in `self.document`.
    fn read(&mut self, fields: &[&str]) {
        self.document.clear();
        let mut word = String::new();
        for field in fields {
            let mut scanner = Scanner::new(field);
            while scanner.next_into(&mut word).is_some() {
                let number = self.number(&word);
                self.document.push(number);
            }
            self.document.push(BORDER);
        }
    }

    fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.words.get_index_of(word) {
            return number as u32;
        }
        if word.len() > MAX_WORD_CHARS && word.chars().count() > MAX_WORD_CHARS {
            return LONG;
        }
        self.word_bytes += word.len() + BYTES_PER_WORD;
        self.words.insert_full(word.into()).0 as u32
    }

    /// Groups that the current document can bring at most.
    fn groups_at_most(&self) -> usize {
        let each = (self.options.window as usize).saturating_add(1);
        self.document
            .len()
            .saturating_mul(each.min(self.document.len() + 1))
    }

    fn has_room(&mut self) -> bool {
        let words_fit = self.word_bytes <= self.options.memory / 4
            && self.words.len() < BORDER as usize
            && self.run.documents < u32::MAX;
        (words_fit || self.run.documents == 0) && self.table.make_room(self.groups_at_most())
    }

    /// Writes what the table holds as a run and empties it.
    fn spill(&mut self) -> Result<(), Error> {
        if self.run.documents > 0 {
            // Runs taken over lie elsewhere, so their number makes no two names equal.
            let name = self.runs.len().to_string();
            let path = self.folder()?.join(name);
            let run = self.write_run(&path, Purpose::Scratch)?;
            self.runs.push(run);
        }
        self.table.clear();
        self.words.clear();
        self.word_bytes = 0;
        self.run = RunTotals::default();
        Ok(())
    }

    /// The folder of the runs, made when the first is written.
    fn folder(&mut self) -> Result<&Path, Error> {
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => tempfile::Builder::new()
                .prefix("becr-count-")
                .tempdir_in(&self.options.scratch)
                .map_err(Error::io(&self.options.scratch, "create a scratch folder"))?,
        };
        Ok(self.folder.insert(folder).path())
    }

    fn write_run(&mut self, path: &Path, purpose: Purpose) -> Result<CountFile, Error> {
        // In the order of keys a word is its rank, so that sorting compares numbers, not letters.
        let mut order: Vec<u32> = (0..self.words.len() as u32).collect();
        order.sort_unstable_by_key(|&word| &self.words[word as usize]);
        let mut ranks = vec![0; order.len()];
        for (rank, &word) in order.iter().enumerate() {
            ranks[word as usize] = rank as u32;
        }
        let tallies = self.table.sort_by(|key| match words_of(key) {
            (first, None) => word_key(ranks[first as usize]),
            (first, Some(second)) => pair_key(ranks[first as usize], ranks[second as usize]),
        });
        let mut writer = Writer::create(path, self.options.window, purpose)?;
        let mut text = String::new();
        for tally in tallies {
            let (first, second) = words_of(tally.key);
            text.clear();
            text.push_str(&self.words[order[first as usize] as usize]);
            if let Some(second) = second {
                text.push(' ');
                text.push_str(&self.words[order[second as usize] as usize]);
            }
            writer.write(&text, tally.documents.into(), tally.occurrences)?;
        }
        writer.finish(
            self.run.documents.into(),
            self.run.words,
            self.run.long_words,
        )
    }
}

/// The key of a word sorts before those of its pairs.
fn word_key(word: u32) -> u64 {
    u64::from(word) << 32
}

fn pair_key(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | (u64::from(second) + 1)
}

fn words_of(key: u64) -> (u32, Option<u32>) {
    ((key >> 32) as u32, (key as u32).checked_sub(1))
}
