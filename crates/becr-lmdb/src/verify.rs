//! Checking a store against itself: every checksum, every reference, every count.

use crate::Snapshot;
use crate::engine::engine;
use crate::update::pairs_within;
use becr_store::{DocumentFrequency, GroupRecord, Record, Stem, StoreError, Totals, Words, keys};
use becr_text::lexical::Analyzer;
use std::collections::{HashMap, HashSet};

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
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
    stems: HashMap<String, DocumentFrequency>,
    pairs: HashMap<(u32, u32), DocumentFrequency>,
}

impl Snapshot {
    /// Reads everything and compares it with everything else. Damage is reported, not returned as an error;
    /// an error means that the store could not be read on.
    pub fn verify(&self) -> Result<Findings, StoreError> {
        let mut findings = Findings::default();
        let mut counted = Counted::default();
        let analyzer = Analyzer::default();
        let engine = engine(self.store.path());
        let tables = self.store.tables();
        for row in tables.ids.iter(&self.txn).map_err(&engine)? {
            let (number, id) = row.map_err(&engine)?;
            findings.documents += 1;
            if let Err(problem) = self.verify_document(number, id, &analyzer, &mut counted) {
                findings.problems.push(problem);
            }
        }
        for (name, rows) in [
            ("records", tables.records.len(&self.txn)),
            ("numbers", tables.numbers.len(&self.txn)),
        ] {
            let rows = rows.map_err(&engine)?;
            if rows != findings.documents {
                findings
                    .problems
                    .push(format!("{rows} {name} for {} ids", findings.documents));
            }
        }
        self.verify_totals(&counted.totals, &mut findings)?;
        self.verify_stems(&counted, &mut findings)?;
        self.verify_groups(&counted, &mut findings)?;
        Ok(findings)
    }

    fn verify_document(
        &self,
        number: u64,
        id: &str,
        analyzer: &Analyzer,
        counted: &mut Counted,
    ) -> Result<(), String> {
        let problem = |error: StoreError| format!("document {id}: {error}");
        if self.number(id).map_err(problem)? != Some(number) {
            return Err(format!("document {id}: its number is not {number}"));
        }
        let record = self.record(number).map_err(problem)?;
        let record: Record<'_> =
            record.ok_or_else(|| format!("document {id}: its record is missing"))?;
        if record.shape() != self.store.header().shape {
            return Err(format!(
                "document {id}: its record has not the store's layers, bits and vectors"
            ));
        }
        self.text(number).map_err(problem)?;
        let names = self.feature_names().map_err(problem)?.len();
        if record.features().any(|(name, _)| name as usize >= names) {
            return Err(format!("document {id}: a feature without a name"));
        }
        let words: Words = record.forward().words();
        counted.totals.documents += 1;
        counted.totals.tokens += record.tokens() as u64;
        counted.totals.title_words += words.title.len() as u64;
        counted.totals.body_words += words.body.len() as u64;
        for (field, is_title) in [(&words.title, true), (&words.body, false)] {
            let mut stems = HashSet::new();
            for &word in field.iter().collect::<HashSet<_>>() {
                stems.insert(
                    analyzer
                        .stem(self.spelling(word).map_err(problem)?)
                        .into_owned(),
                );
            }
            stems
                .into_iter()
                .for_each(|stem| count(counted.stems.entry(stem).or_default(), is_title));
            let pairs: HashSet<_> = pairs_within(field, self.store.header().window).collect();
            pairs
                .into_iter()
                .for_each(|pair| count(counted.pairs.entry(pair).or_default(), is_title));
        }
        Ok(())
    }

    fn verify_totals(&self, counted: &Totals, findings: &mut Findings) -> Result<(), StoreError> {
        let found = self.totals()?;
        let sums = |t: &Totals| [t.documents, t.tokens, t.title_words, t.body_words];
        if sums(&found) != sums(counted) {
            findings.problems.push(format!(
                "the totals are {found:?}, counted were {counted:?}"
            ));
        }
        Ok(())
    }

    fn verify_stems(&self, counted: &Counted, findings: &mut Findings) -> Result<(), StoreError> {
        let engine = engine(self.store.path());
        let mut known = 0;
        for row in self.store.tables().stems.iter(&self.txn).map_err(&engine)? {
            let (_, bytes) = row.map_err(&engine)?;
            match Stem::read(bytes) {
                Some(entry) => known += u64::from(entry.frequency != Default::default()),
                None => findings
                    .problems
                    .push("the entry of a stem cannot be read".into()),
            }
        }
        if known != counted.stems.len() as u64 {
            findings.problems.push(format!(
                "{known} stems in use, counted were {}",
                counted.stems.len()
            ));
        }
        for (stem, frequency) in &counted.stems {
            let found = self.stem(stem)?.frequency;
            if found != *frequency {
                findings.problems.push(format!(
                    "the stem {stem} is in {found:?}, counted were {frequency:?}"
                ));
            }
        }
        Ok(())
    }

    fn verify_groups(&self, counted: &Counted, findings: &mut Findings) -> Result<(), StoreError> {
        let engine = engine(self.store.path());
        let tables = self.store.tables();
        let mut expected = HashMap::new();
        for ((first, second), frequency) in &counted.pairs {
            let text = format!("{} {}", self.spelling(*first)?, self.spelling(*second)?);
            expected.insert(keys::of_text(&text).into_owned(), *frequency);
        }
        for row in tables.groups.iter(&self.txn).map_err(&engine)? {
            let (key, bytes) = row.map_err(&engine)?;
            findings.groups += 1;
            let pair = tables.pairs.get(&self.txn, key).map_err(&engine)?;
            let slots = if pair.is_some() { 2 } else { 1 };
            let name = || String::from_utf8_lossy(key).into_owned();
            if let Err(reason) = GroupRecord::decode(bytes, slots, self.store.header().shape) {
                findings
                    .problems
                    .push(format!("the token group \"{}\": {reason}", name()));
            }
            if let Some(bytes) = pair {
                let (found, counted) = (DocumentFrequency::read(bytes), expected.get(key).copied());
                if found != Some(counted.unwrap_or_default()) {
                    findings.problems.push(format!(
                        "the pair \"{}\" is in {found:?}, counted were {counted:?}",
                        name()
                    ));
                }
            }
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
