//! The crate as a whole, against a count that anyone can check.

mod counting;
mod damage;
mod selecting;

use crate::{CountFile, CountOptions, Counter, Entry};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A document: its fields.
type Document = Vec<String>;

fn options(folder: &Path, window: u32, memory: usize) -> CountOptions {
    CountOptions {
        window,
        memory,
        scratch: folder.to_owned(),
    }
}

fn count(documents: &[Document], options: &CountOptions) -> Counter {
    let mut counter = Counter::new(options);
    for document in documents {
        let fields: Vec<&str> = document.iter().map(String::as_str).collect();
        counter.add(&fields).unwrap();
    }
    counter
}

/// Counts texts of one field into `folder/name`.
fn count_texts(folder: &Path, name: &str, texts: &[&str]) -> CountFile {
    let documents: Vec<Document> = texts.iter().map(|text| vec![text.to_string()]).collect();
    count(&documents, &options(folder, 3, 1 << 20))
        .finish(&folder.join(name))
        .unwrap()
}

/// The counts, word by word and pair by pair.
fn naive(documents: &[Document], window: u32) -> Vec<Entry> {
    let mut counts: BTreeMap<String, (BTreeSet<usize>, u64)> = BTreeMap::new();
    for (number, document) in documents.iter().enumerate() {
        for field in document {
            let words: Vec<String> = becr_text::words::words(field)
                .map(|word| word.text)
                .collect();
            let counted = |word: &String| word.chars().count() <= crate::MAX_WORD_CHARS;
            let mut meet = |key: String| {
                let (seen, occurrences) = counts.entry(key).or_default();
                seen.insert(number);
                *occurrences += 1;
            };
            for (i, first) in words.iter().enumerate().filter(|(_, word)| counted(word)) {
                meet(first.clone());
                for (j, second) in words.iter().enumerate().filter(|(_, word)| counted(word)) {
                    if j > i && j - i <= window as usize {
                        meet(format!("{first} {second}"));
                    }
                }
            }
        }
    }
    counts
        .into_iter()
        .map(|(key, (seen, occurrences))| Entry {
            key,
            documents: seen.len() as u64,
            occurrences,
        })
        .collect()
}

fn entries(file: &CountFile) -> Vec<Entry> {
    file.entries().unwrap().map(Result::unwrap).collect()
}
