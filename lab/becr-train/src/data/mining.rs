//! Negatives for queries that train, candidates for queries that validate or test.

use super::candidates::List;
use super::chance::Chance;
use super::duplicates::WordSet;
use super::report::UseReport;
use super::sets::siblings_key;
use super::{DataError, NegativeKind, Question, TrainingIndex};
use crate::Example;
use crate::config::Config;
use becr_lmdb::Snapshot;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Finds documents for queries.
pub struct Miner<'a> {
    pub(super) config: &'a Config,
    pub(super) index: &'a TrainingIndex,
    /// All documents.
    numbers: Vec<u64>,
    /// Documents by what their ids have before `#`, where some set asks for siblings.
    siblings: HashMap<String, Vec<u64>>,
}

/// What became of one query.
#[derive(Debug, Clone, Default)]
pub struct Mined {
    /// The example, if there is anything to learn.
    pub example: Option<Example>,
    /// What was found and left out.
    pub report: UseReport,
}

/// Queries that come near each other in training, for negatives in batch.
const NEAR: usize = 64;
/// Queries that one thread takes at a time.
pub(super) const CHUNK: usize = 64;

impl<'a> Miner<'a> {
    /// For the queries of a configuration and the documents of an index.
    pub fn new(config: &'a Config, index: &'a TrainingIndex) -> Result<Self, DataError> {
        let wanted = (0..config.data.sets.len()).any(|set| config.negatives(set).siblings > 0);
        let snapshot = index.store.snapshot()?;
        let mut numbers = Vec::new();
        let mut siblings: HashMap<String, Vec<u64>> = HashMap::new();
        for row in snapshot.documents()? {
            let (number, id) = row?;
            numbers.push(number);
            if wanted && id.contains('#') {
                siblings
                    .entry(siblings_key(id).to_owned())
                    .or_default()
                    .push(number);
            }
        }
        drop(snapshot);
        Ok(Self {
            config,
            index,
            numbers,
            siblings,
        })
    }

    /// An example of each of these queries, or why there is none. `done` hears of every few queries.
    pub fn examples(
        &self,
        questions: &[&Question],
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Mined>, DataError> {
        // Chance brings queries together, as it does in training.
        let mut shuffled: Vec<&Question> = questions.to_vec();
        Chance::new(self.config.data.seed, "batches", "").shuffle(&mut shuffled);
        let mut near: HashMap<&str, &[&Question]> = HashMap::new();
        for batch in shuffled.chunks(NEAR) {
            near.extend(batch.iter().map(|question| (question.id.as_str(), batch)));
        }
        let mine = |chunk: &[&Question]| -> Result<Vec<Mined>, DataError> {
            let snapshot = self.index.store.snapshot()?;
            let mine = |question: &&Question| {
                let near = near.get(question.id.as_str()).copied().unwrap_or_default();
                self.example(&snapshot, question, near)
            };
            let mined = chunk.iter().map(mine).collect();
            done(chunk.len());
            mined
        };
        let mined: Vec<Vec<Mined>> = questions
            .par_chunks(CHUNK)
            .map(mine)
            .collect::<Result<_, _>>()?;
        Ok(mined.into_iter().flatten().collect())
    }

    fn example(
        &self,
        snapshot: &Snapshot,
        question: &Question,
        near: &[&Question],
    ) -> Result<Mined, DataError> {
        let mut mined = Mined::default();
        let report = &mut mined.report;
        let list = self.list(snapshot, question)?;
        report.unknown_documents = list.unknown;
        let mut relevant = Vec::new();
        for (id, _) in question.judged.iter().filter(|(_, grade)| *grade > 0) {
            match snapshot.number(id)? {
                Some(number) => relevant.push(number),
                None => report.unknown_documents += 1,
            }
        }
        if relevant.is_empty() {
            report.drop("relevant documents are not in the index");
            return Ok(mined);
        }
        let mut positives = relevant.clone();
        if self.config.data.retrieved_only {
            positives.retain(|number| list.has(*number));
        }
        if positives.is_empty() {
            report.drop("relevant documents are not among the candidates");
            return Ok(mined);
        }
        let mut picking = Picking::new(snapshot, &relevant, self.config.data.near_duplicate)?;
        let asked = Asked {
            snapshot,
            question,
            list: &list,
            near,
        };
        for (kind, count) in self.config.negatives(question.set).by_kind() {
            if count > 0 {
                let mut chance = Chance::new(self.config.data.seed, kind.name(), &question.id);
                let mut from = self.source(kind, count, &asked, &mut chance)?;
                chance.shuffle(&mut from);
                picking.pick(kind, count, &from)?;
            }
        }
        report.negatives = picking.counts;
        report.near_duplicates = picking.near_duplicates;
        if picking.chosen.is_empty() {
            report.drop("no negatives");
            return Ok(mined);
        }
        report.positives = positives.len() as u64;
        let candidates = |numbers: Vec<u64>| {
            numbers
                .into_iter()
                .map(|number| list.candidate(number))
                .collect()
        };
        mined.example = Some(Example {
            id: question.id.clone(),
            query: question.text.clone(),
            positives: candidates(positives),
            negatives: candidates(picking.chosen),
        });
        Ok(mined)
    }

    /// Documents that negatives of a kind may be picked from.
    fn source(
        &self,
        kind: NegativeKind,
        count: usize,
        asked: &Asked<'_>,
        chance: &mut Chance,
    ) -> Result<Vec<u64>, DataError> {
        let Asked {
            snapshot, question, ..
        } = *asked;
        Ok(match kind {
            NegativeKind::Bm25 => asked.list.numbers().collect(),
            NegativeKind::Judged => numbers(
                snapshot,
                question.judged.iter().filter(|(_, grade)| *grade <= 0),
            )?,
            NegativeKind::Siblings => {
                let relevant = question.judged.iter().filter(|(_, grade)| *grade > 0);
                let families: BTreeSet<&str> = relevant.map(|(id, _)| siblings_key(id)).collect();
                let found = families
                    .into_iter()
                    .filter_map(|family| self.siblings.get(family));
                found.flatten().copied().collect()
            }
            NegativeKind::Random => {
                // A few more than wanted: some may be relevant, or drawn twice.
                let draws = 2 * count + 8;
                (0..draws)
                    .map(|_| self.numbers[chance.below(self.numbers.len())])
                    .collect()
            }
            NegativeKind::InBatch => {
                let others = asked.near.iter().filter(|other| other.id != question.id);
                let judged = others.flat_map(|other| &other.judged);
                numbers(snapshot, judged.filter(|(_, grade)| *grade > 0))?
            }
        })
    }
}

/// The numbers of documents that the index has.
fn numbers<'q>(
    snapshot: &Snapshot,
    judged: impl Iterator<Item = &'q (String, i32)>,
) -> Result<Vec<u64>, DataError> {
    let mut numbers = Vec::new();
    for (id, _) in judged {
        numbers.extend(snapshot.number(id)?);
    }
    Ok(numbers)
}

/// A query and what is around it.
struct Asked<'a> {
    snapshot: &'a Snapshot,
    question: &'a Question,
    /// Its candidates.
    list: &'a List,
    /// The queries that come near it in training.
    near: &'a [&'a Question],
}

/// The negatives of one query, picked one by one.
struct Picking<'s> {
    snapshot: &'s Snapshot,
    /// The words of the relevant documents.
    relevant: Vec<WordSet>,
    threshold: f64,
    /// Documents that are relevant or have been looked at.
    seen: HashSet<u64>,
    chosen: Vec<u64>,
    counts: BTreeMap<NegativeKind, u64>,
    near_duplicates: u64,
}

impl<'s> Picking<'s> {
    fn new(snapshot: &'s Snapshot, relevant: &[u64], threshold: f64) -> Result<Self, DataError> {
        let words = relevant.iter().map(|&number| words(snapshot, number));
        Ok(Self {
            snapshot,
            relevant: words.collect::<Result<_, _>>()?,
            threshold,
            seen: relevant.iter().copied().collect(),
            chosen: Vec::new(),
            counts: BTreeMap::new(),
            near_duplicates: 0,
        })
    }

    /// Takes the first `count` documents that are new and not too much like a relevant one.
    fn pick(&mut self, kind: NegativeKind, count: usize, from: &[u64]) -> Result<(), DataError> {
        let mut picked = 0;
        for &number in from {
            if picked == count {
                break;
            }
            if !self.seen.insert(number) {
                continue;
            }
            let words = words(self.snapshot, number)?;
            if self
                .relevant
                .iter()
                .any(|relevant| relevant.similarity(&words) >= self.threshold)
            {
                self.near_duplicates += 1;
                continue;
            }
            self.chosen.push(number);
            picked += 1;
        }
        *self.counts.entry(kind).or_default() += picked as u64;
        Ok(())
    }
}

/// The words of a document, from its record.
fn words(snapshot: &Snapshot, number: u64) -> Result<WordSet, DataError> {
    Ok(match snapshot.record(number)? {
        Some(record) => WordSet::new(record.forward().numbers()),
        None => WordSet::new(std::iter::empty()),
    })
}
