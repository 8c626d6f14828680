//! Every visible word of a source is a word of its document, and nothing invisible is.
//!
//! Sources are made up of nested markup from which both kinds of words are known by construction. `BECR_FUZZ_SECONDS` has
//! each format tried for so long, with seeds that no run before had; damaged sources are read, too, without any expectation
//! but an end. A failure prints its seed, which `BECR_FUZZ_SEED` tries again.

mod documents;
mod markup;

use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

use becr_basics::SplitMix64;
use becr_corpus::CorpusOptions;

use crate::{Files, skip};

/// How many sources of each format every test run tries.
const CASES: u64 = 300;

/// A source, and its words.
#[derive(Default)]
pub(crate) struct Case {
    source: Vec<u8>,
    /// What a reader sees, with blanks where a word ends.
    seen: String,
    /// Words that no reader sees.
    unseen: BTreeSet<String>,
}

/// Makes up sources.
pub(crate) struct Maker {
    random: SplitMix64,
    words: usize,
    /// The words that are to be invisible.
    unseen: BTreeSet<String>,
}

impl Maker {
    fn new(seed: u64) -> Self {
        Self {
            random: SplitMix64::new(seed),
            words: 0,
            unseen: BTreeSet::new(),
        }
    }

    fn below(&mut self, count: usize) -> usize {
        self.random.below(count)
    }

    fn one<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.below(choices.len())]
    }

    /// A word that is nowhere else, so that each one that is lost is missed. No word is part of another.
    fn word(&mut self) -> String {
        self.words += 1;
        let mut number = self.words;
        let mut word = String::from("w");
        for _ in 0..3 {
            word.push(char::from(b'a' + (number % 20) as u8));
            number /= 20;
        }
        word + self.one(&["z", "zé", "zß", "zд"])
    }

    /// Such a word that no reader sees.
    fn unseen(&mut self) -> String {
        let word = self.word();
        self.unseen.insert(word.clone());
        word
    }
}

/// Words as an index tells them apart.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Reads a source as a file of this name; the words of its documents.
fn read(name: &str, source: &[u8]) -> BTreeSet<String> {
    let outcome = Files::new(&[(name, source)]).read(&[name], &CorpusOptions::default());
    assert_eq!(outcome.error, None);
    let texts = outcome.documents.iter();
    words(&texts.fold(String::new(), |all, document| {
        format!("{all} {} {}", document.title, document.text)
    }))
}

/// Whether the words of a document are those of its source; words of `marks` may be there or not.
fn check(name: &str, case: &Case, marks: &[&str]) -> Result<(), String> {
    let found = read(name, &case.source);
    let seen = words(&case.seen);
    let lost: Vec<&String> = seen.difference(&found).collect();
    let shown: Vec<&String> = case.unseen.intersection(&found).collect();
    // Its name stands in for a title, or is the last line.
    let is_mark = |word: &str| name.split('.').any(|part| part == word) || marks.contains(&word);
    let own = |word: &&String| !seen.contains(*word) && !is_mark(word);
    let others: Vec<&String> = found.iter().filter(own).collect();
    match (lost.as_slice(), shown.as_slice(), others.as_slice()) {
        ([], [], []) => Ok(()),
        _ => Err(format!(
            "lost {lost:?}, shown {shown:?}, not in the source {others:?}\n{}",
            String::from_utf8_lossy(&case.source)
        )),
    }
}

/// Damage of all sorts: bits, cuts, pieces twice.
fn damaged(source: &[u8], random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = source.to_vec();
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        let end = at + random.below(bytes.len() - at + 1);
        match random.below(4) {
            0 => bytes[at] = random.next_u64() as u8,
            1 => bytes.truncate(at),
            2 => {
                bytes.drain(at..end);
            }
            _ => {
                let piece = bytes[at..end.min(at + 64)].to_vec();
                let place = random.below(bytes.len());
                bytes.splice(place..place, piece);
            }
        }
    }
    bytes
}

/// Tries sources of one format.
fn each(name: &str, marks: &[&str], make: fn(&mut Maker) -> Case) {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let one = |seed: u64| {
        let mut maker = Maker::new(seed);
        let mut case = make(&mut maker);
        case.unseen = std::mem::take(&mut maker.unseen);
        if let Err(fault) = check(name, &case, marks) {
            panic!("{name}, BECR_FUZZ_SEED={seed}: {fault}");
        }
        let broken = damaged(&case.source, &mut maker.random);
        let started = Instant::now();
        let outcome = Files::new(&[(name, &broken)]).read(&[name], &skip());
        assert_eq!(outcome.error, None, "{name}, BECR_FUZZ_SEED={seed}");
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{name}, BECR_FUZZ_SEED={seed}: without end"
        );
    };
    if let Some(seed) = number("BECR_FUZZ_SEED") {
        return one(seed);
    }
    (0..CASES).for_each(one);
    let Some(seconds) = number("BECR_FUZZ_SECONDS") else {
        return;
    };
    let ends = Instant::now() + Duration::from_secs(seconds);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let first = u64::from(now.unwrap_or_default().subsec_nanos()) << 32;
    let mut cases = 0;
    while Instant::now() < ends {
        one(first + cases);
        cases += 1;
    }
    let _ = writeln!(
        std::io::stderr(),
        "{name}: {cases} sources, seeds from {first}"
    );
}

#[test]
fn markdown() {
    each("x.md", &[], markup::markdown);
}

#[test]
fn html() {
    each("x.html", &[], markup::html);
}

#[test]
fn warc() {
    each("x.warc", &[], documents::warc);
}

#[test]
fn trec() {
    each("x.trec", &[], documents::trec);
}

#[test]
fn org() {
    each("x.org", &["LOGBOOK"], documents::org);
}

#[test]
fn restructured() {
    let marks = ["note", "code", "block", "text"];
    each("x.rst", &marks, documents::restructured);
}

#[test]
fn docx() {
    each("x.docx", &[], documents::docx);
}
