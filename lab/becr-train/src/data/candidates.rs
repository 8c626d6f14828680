//! What the first stage gives for a query: the candidates of a real re-ranking.

use super::mining::CHUNK;
use super::report::UseReport;
use super::{DataError, Miner, Question};
use crate::{Candidate, Validation, ValidationQuery};
use becr_lmdb::Snapshot;
use rayon::prelude::*;
use std::collections::HashMap;

/// The candidates of a query, best first, with scores from 0 to 1.
pub(crate) struct List {
    ranked: Vec<(String, u64)>,
    scores: HashMap<u64, f32>,
    /// Candidates that the index does not have.
    pub(crate) unknown: u64,
}

impl List {
    fn new(snapshot: &Snapshot, found: Vec<(String, f32)>) -> Result<Self, DataError> {
        let mut list = Self {
            ranked: Vec::with_capacity(found.len()),
            scores: HashMap::with_capacity(found.len()),
            unknown: 0,
        };
        for (id, score) in found {
            match snapshot.number(&id)? {
                None => list.unknown += 1,
                Some(number) => {
                    if list.scores.insert(number, score).is_none() {
                        list.ranked.push((id, number));
                    }
                }
            }
        }
        let least = list.scores.values().copied().fold(f32::INFINITY, f32::min);
        let most = list
            .scores
            .values()
            .copied()
            .fold(f32::NEG_INFINITY, f32::max);
        let range = most - least;
        for score in list.scores.values_mut() {
            *score = if range > 0.0 {
                (*score - least) / range
            } else {
                0.0
            };
        }
        Ok(list)
    }

    pub(crate) fn has(&self, number: u64) -> bool {
        self.scores.contains_key(&number)
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranked.iter().map(|(_, number)| *number)
    }

    /// A document with its score, if it is in the list.
    pub(crate) fn candidate(&self, number: u64) -> Candidate {
        Candidate {
            number,
            first_stage: self.scores.get(&number).copied(),
        }
    }
}

impl Miner<'_> {
    /// The candidates of a query: those of its run, or the first stage's.
    pub(crate) fn list(&self, snapshot: &Snapshot, question: &Question) -> Result<List, DataError> {
        let count = self.config.data.candidates;
        let found = match &question.candidates {
            Some(run) => {
                let best = becr_eval::ranking(run).into_iter().take(count);
                best.map(|(id, score)| (id.clone(), *score as f32))
                    .collect()
            }
            None => {
                let hits = self.index.first_stage.search(&question.text, count)?;
                hits.into_iter().map(|hit| (hit.id, hit.score)).collect()
            }
        };
        List::new(snapshot, found)
    }

    /// The candidates of each of these queries with their judgements, for validation or for a test. The report, one
    /// for each query, counts documents that the index does not have.
    pub fn lists(
        &self,
        questions: &[&Question],
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<(Validation, Vec<UseReport>), DataError> {
        let search = |chunk: &[&Question]| -> Result<Vec<(ValidationQuery, UseReport)>, DataError> {
            let snapshot = self.index.store.snapshot()?;
            let searched = chunk
                .iter()
                .map(|question| self.validation_query(&snapshot, question));
            let searched = searched.collect();
            done(chunk.len());
            searched
        };
        let searched: Vec<Vec<_>> = questions
            .par_chunks(CHUNK)
            .map(search)
            .collect::<Result<_, _>>()?;
        let mut validation = Validation::default();
        let mut reports = Vec::with_capacity(questions.len());
        for ((query, report), question) in searched.into_iter().flatten().zip(questions) {
            for (id, grade) in &question.judged {
                validation.qrels.insert(&question.id, id, *grade);
            }
            validation.queries.push(query);
            reports.push(report);
        }
        Ok((validation, reports))
    }

    fn validation_query(
        &self,
        snapshot: &Snapshot,
        question: &Question,
    ) -> Result<(ValidationQuery, UseReport), DataError> {
        let list = self.list(snapshot, question)?;
        let report = UseReport {
            unknown_documents: list.unknown,
            ..UseReport::default()
        };
        let with_candidate = |(id, number): &(String, u64)| (id.clone(), list.candidate(*number));
        let query = ValidationQuery {
            id: question.id.clone(),
            query: question.text.clone(),
            candidates: list.ranked.iter().map(with_candidate).collect(),
        };
        Ok((query, report))
    }
}
