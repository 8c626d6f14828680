//! Checking a store against itself: every checksum, every reference, every count.

use crate::contents::{each_row, number_of, spellings_of, with_record};
use crate::draft::pairs_within;
use crate::{
    DocumentFrequency, FetchBuffer, GroupRecord, Question, Record, Stem, StoreContents, StoreError,
    Table, Totals, keys,
};
use becr_text::lexical::Analyzer;
use std::collections::{HashMap, HashSet};

/// Words whose spellings are asked for together.
const WORDS: usize = 4096;

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreFindings {
    /// Documents looked at.
    pub documents: u64,
    /// Token groups looked at.
    pub groups: u64,
    /// What is wrong, a sentence each. Empty for a sound store.
    pub problems: Vec<String>,
}

/// What the statistics should be.
#[derive(Default)]
struct Counted {
    totals: Totals,
    /// By key.
    stems: HashMap<Vec<u8>, DocumentFrequency>,
    /// Pairs that the store counts, by key: what it says (`None` if that cannot be read), and what was counted.
    pairs: HashMap<Vec<u8>, (Option<DocumentFrequency>, DocumentFrequency)>,
}

/// Reads everything and compares it with everything else. Damage is reported, not returned as an error;
/// an error means that the store could not be read on.
pub fn verify(store: &impl StoreContents) -> Result<StoreFindings, StoreError> {
    let mut check = Check {
        store,
        names: 0,
        analyzer: Analyzer::default(),
        counted: Counted::default(),
        findings: StoreFindings::default(),
    };
    check.run()?;
    Ok(check.findings)
}

struct Check<'s, S> {
    store: &'s S,
    /// How many names of features there are.
    names: usize,
    analyzer: Analyzer,
    counted: Counted,
    findings: StoreFindings,
}

impl<S: StoreContents> Check<'_, S> {
    fn run(&mut self) -> Result<(), StoreError> {
        let mut buffer = FetchBuffer::default();
        let state = self.store.look_up(&Question::default(), &mut buffer)?;
        self.names = state.feature_names.len();
        each_row(self.store, Table::Pairs, |key, bytes| {
            let entry = (DocumentFrequency::read(bytes), Default::default());
            self.counted.pairs.insert(key.to_vec(), entry);
            Ok(())
        })?;
        each_row(self.store, Table::Ids, |number, id| {
            self.findings.documents += 1;
            let id = String::from_utf8_lossy(id);
            if let Err(problem) = self.document(number, &id) {
                self.findings.problems.push(problem);
            }
            Ok(())
        })?;
        for (name, table) in [("records", Table::Records), ("numbers", Table::Numbers)] {
            let rows = self.store.rows(table)?;
            let documents = self.findings.documents;
            if rows != documents {
                self.problem(format!("{rows} {name} for {documents} ids"));
            }
        }
        self.totals(&state.totals);
        self.words()?;
        self.stems()?;
        self.groups()
    }

    fn problem(&mut self, problem: String) {
        self.findings.problems.push(problem);
    }

    fn document(&mut self, number: &[u8], id: &str) -> Result<(), String> {
        let store = self.store;
        let problem = |error: StoreError| format!("document {id}: {error}");
        let number = number_of(number).ok_or_else(|| format!("document {id}: it has no number"))?;
        if store.numbers(&[id]).map_err(problem)? != [Some(number)] {
            return Err(format!("document {id}: its number is not {number}"));
        }
        let counted = with_record(store, number, |record| self.record(record, id));
        counted
            .map_err(problem)?
            .ok_or_else(|| format!("document {id}: its record is missing"))??;
        store.texts(&[number]).map_err(problem)?;
        Ok(())
    }

    fn record(&mut self, record: &Record<'_>, id: &str) -> Result<(), String> {
        if record.shape() != self.store.header().shape {
            return Err(format!(
                "document {id}: its record has not the store's layers, bits and vectors"
            ));
        }
        if record
            .features()
            .any(|(name, _)| name as usize >= self.names)
        {
            return Err(format!("document {id}: a feature without a name"));
        }
        let spellings =
            spellings_of(self.store, record).map_err(|error| format!("document {id}: {error}"))?;
        let words = record.forward().words();
        let totals = &mut self.counted.totals;
        totals.documents += 1;
        totals.tokens += record.tokens() as u64;
        totals.title_words += words.title.len() as u64;
        totals.body_words += words.body.len() as u64;
        for (field, is_title) in [(&words.title, true), (&words.body, false)] {
            let distinct: HashSet<&u32> = field.iter().collect();
            let stems: HashSet<_> = distinct
                .into_iter()
                .map(|word| keys::of_text(&self.analyzer.stem(&spellings[word])).into_owned())
                .collect();
            for stem in stems {
                count(self.counted.stems.entry(stem).or_default(), is_title);
            }
            if self.counted.pairs.is_empty() {
                continue;
            }
            let pairs: HashSet<_> = pairs_within(field, self.store.header().window).collect();
            for (first, second) in pairs {
                let pair = format!("{} {}", spellings[&first], spellings[&second]);
                if let Some((_, counted)) = self.counted.pairs.get_mut(&*keys::of_text(&pair)) {
                    count(counted, is_title);
                }
            }
        }
        Ok(())
    }

    fn totals(&mut self, found: &Totals) {
        let sums = |t: &Totals| [t.documents, t.tokens, t.title_words, t.body_words];
        let counted = self.counted.totals;
        if sums(found) != sums(&counted) {
            self.problem(format!(
                "the totals are {found:?}, counted were {counted:?}"
            ));
        }
    }

    /// Every word's number is that of its spelling.
    fn words(&mut self) -> Result<(), StoreError> {
        let (words, spellings) = (
            self.store.rows(Table::Words)?,
            self.store.rows(Table::Spellings)?,
        );
        if words != spellings {
            self.problem(format!("{words} words for {spellings} spellings"));
        }
        let mut batch = Vec::new();
        each_row(self.store, Table::Words, |key, number| {
            batch.push((key.to_vec(), number_of(number)));
            if batch.len() == WORDS {
                self.spelled(&batch)?;
                batch.clear();
            }
            Ok(())
        })?;
        self.spelled(&batch)
    }

    fn spelled(&mut self, batch: &[(Vec<u8>, Option<u64>)]) -> Result<(), StoreError> {
        let number = |number: &Option<u64>| number.and_then(|n| u32::try_from(n).ok());
        let numbers: Vec<u32> = batch.iter().filter_map(|(_, n)| number(n)).collect();
        let mut spellings = self.store.spellings(&numbers)?.into_iter();
        for (key, found) in batch {
            let spelling = number(found).and_then(|_| spellings.next().flatten());
            if spelling.is_none_or(|spelling| *keys::of_text(&spelling) != key[..]) {
                let word = String::from_utf8_lossy(key);
                self.problem(format!("the word {word}: its number is another word's"));
            }
        }
        Ok(())
    }

    fn stems(&mut self) -> Result<(), StoreError> {
        let (counted, problems) = (&mut self.counted.stems, &mut self.findings.problems);
        each_row(self.store, Table::Stems, |key, bytes| {
            let Some(stem) = Stem::read(bytes) else {
                problems.push("the entry of a stem cannot be read".into());
                return Ok(());
            };
            let expected = counted.remove(key).unwrap_or_default();
            if stem.frequency != expected {
                problems.push(format!(
                    "the stem {} is in {:?}, counted were {expected:?}",
                    String::from_utf8_lossy(key),
                    stem.frequency
                ));
            }
            Ok(())
        })?;
        for (key, expected) in counted {
            problems.push(format!(
                "the stem {} is missing, counted were {expected:?}",
                String::from_utf8_lossy(key)
            ));
        }
        Ok(())
    }

    fn groups(&mut self) -> Result<(), StoreError> {
        let (pairs, findings) = (&mut self.counted.pairs, &mut self.findings);
        let shape = self.store.header().shape;
        each_row(self.store, Table::Groups, |key, bytes| {
            findings.groups += 1;
            let pair = pairs.remove(key);
            let slots = if pair.is_some() { 2 } else { 1 };
            let name = || String::from_utf8_lossy(key).into_owned();
            if let Err(reason) = GroupRecord::decode(bytes, slots, shape) {
                let problem = format!("the token group \"{}\": {reason}", name());
                findings.problems.push(problem);
            }
            if let Some((found, counted)) = pair
                && found != Some(counted)
            {
                findings.problems.push(format!(
                    "the pair \"{}\" is in {found:?}, counted were {counted:?}",
                    name()
                ));
            }
            Ok(())
        })?;
        for key in pairs.keys() {
            findings.problems.push(format!(
                "the pair \"{}\" is counted and has no footprints",
                String::from_utf8_lossy(key)
            ));
        }
        Ok(())
    }
}

fn count(frequency: &mut DocumentFrequency, is_title: bool) {
    match is_title {
        true => frequency.title += 1,
        false => frequency.body += 1,
    }
}
