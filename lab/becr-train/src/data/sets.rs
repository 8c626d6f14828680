//! Reading the sets: queries with what is known of documents, and the documents into the pool.

use super::chance::{Chance, draw};
use super::pool::PoolWriter;
use super::report::{DataReport, SetReport};
use super::shorten::{Shortened, shorten};
use super::{DataError, Pool};
use crate::config::{Config, SetConfig};
use becr_corpus::OnError;
use std::collections::HashMap;
use std::path::Path;

/// A query, and what is known of documents for it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// Its id; with several sets, after the set's name and a slash.
    pub id: String,
    /// Its text, shortened if that was asked for.
    pub text: String,
    /// The words it had before: equal queries have equal keys.
    pub key: String,
    /// The place of its set in the configuration.
    pub set: usize,
    /// Judged documents with their grades, in order of id.
    pub judged: Vec<(String, i32)>,
    /// Candidates with scores, where a run was given.
    pub candidates: Option<Vec<(String, f64)>>,
}

/// All sets.
#[derive(Debug, Clone)]
pub struct Sets {
    /// The queries that have a relevant document.
    pub questions: Vec<Question>,
    /// The documents; none if an index exists.
    pub pool: Option<Pool>,
    /// What was read and left out.
    pub report: DataReport,
}

impl Sets {
    /// Reads all sets of a configuration; documents go into a file in `work`, unless an index exists.
    pub fn read(config: &Config, work: &Path) -> Result<Self, DataError> {
        let mut reading = Reading {
            config,
            pool: match config.index.path {
                None => Some(PoolWriter::create(&work.join("pool.jsonl.zst"))?),
                Some(_) => None,
            },
            questions: Vec::new(),
            by_key: HashMap::new(),
            report: DataReport::default(),
        };
        for (number, set) in config.data.sets.iter().enumerate() {
            let before = reading.questions.len();
            let mut report = match &set.pairs {
                Some(path) => reading.pairs(number, set, path)?,
                None => reading.judged(number, set)?,
            };
            report.name = set.name.clone();
            report.queries = (reading.questions.len() - before) as u64;
            reading.report.sets.push(report);
        }
        Ok(Self {
            questions: reading.questions,
            pool: reading.pool.map(PoolWriter::finish).transpose()?,
            report: reading.report,
        })
    }
}

pub(super) struct Reading<'a> {
    pub(super) config: &'a Config,
    pub(super) pool: Option<PoolWriter>,
    pub(super) questions: Vec<Question>,
    /// Queries of pairs by their words: equal ones are one query with several relevant documents.
    pub(super) by_key: HashMap<String, usize>,
    report: DataReport,
}

impl Reading<'_> {
    /// A query's id that no other set has.
    pub(super) fn query_id(&self, set: &SetConfig, id: &str) -> String {
        match self.config.data.sets.len() > 1 {
            true => format!("{}/{id}", set.name),
            false => id.to_owned(),
        }
    }

    /// A document's id: that of the index, if there is one already, or one that no other set has.
    pub(super) fn id(&self, set: &SetConfig, id: &str) -> String {
        match self.config.data.sets.len() > 1 && self.config.index.path.is_none() {
            true => format!("{}/{id}", set.name),
            false => id.to_owned(),
        }
    }

    pub(super) fn shortened(
        &self,
        set: &SetConfig,
        query: &str,
        key: &str,
        report: &mut SetReport,
    ) -> String {
        let data = &self.config.data;
        let mut chance = Chance::new(data.seed, "words", key);
        let (text, how) = shorten(query, set.drop_words, data.max_query_words, &mut chance);
        match how {
            Shortened::No => {}
            Shortened::ByChance => report.shortened += 1,
            Shortened::TooLong => report.too_long += 1,
        }
        text
    }

    pub(super) fn faults(&mut self, report: &mut SetReport, skipped: &becr_corpus::SkipReport) {
        for (reason, faults) in &skipped.faults {
            count(report, reason, *faults as usize);
        }
        for example in &skipped.examples {
            self.report.example(|| example.clone());
        }
    }
}

/// Counts what is left out.
pub(super) fn count(report: &mut SetReport, reason: &'static str, things: usize) {
    if things > 0 {
        *report.dropped.entry(reason).or_default() += things as u64;
    }
}

pub(super) fn on_error(set: &SetConfig) -> OnError {
    match set.skip_faults {
        true => OnError::Skip,
        false => OnError::Stop,
    }
}

pub(super) fn eval_on_error(set: &SetConfig) -> becr_eval::OnError {
    match set.skip_faults {
        true => becr_eval::OnError::Skip,
        false => becr_eval::OnError::Stop,
    }
}

/// What siblings share: the part of their ids before `#`.
pub(crate) fn siblings_key(id: &str) -> &str {
    id.split_once('#').map_or(id, |(before, _)| before)
}

/// At most `cap` things, in their order; things of one key are taken together, as long as there is room.
pub(super) fn sample<T>(
    all: &[T],
    cap: Option<usize>,
    key: impl Fn(&T) -> &str,
    seed: u64,
) -> Vec<&T> {
    let cap = cap.unwrap_or(usize::MAX);
    let mut order: Vec<usize> = (0..all.len()).collect();
    if all.len() > cap {
        order.sort_by_cached_key(|&place| (draw(seed, "cap", key(&all[place])), place));
        order.truncate(cap);
        order.sort_unstable();
    }
    order.into_iter().map(|place| &all[place]).collect()
}
