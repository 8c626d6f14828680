//! Reading the sets: queries with what is known of documents, and the documents into the pool.

use super::chance::{Chance, draw};
use super::pool::PoolWriter;
use super::report::{Report, SetReport};
use super::shorten::{Shortened, key, shorten};
use super::{DataError, Pool};
use crate::config::{Config, SetConfig};
use becr_corpus::{Corpus, CorpusOptions, Document, OnError, Pair, Pairs, QueryOptions, read_queries};
use becr_eval::{read_qrels, read_run};
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
    pub report: Report,
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
            report: Report::default(),
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

struct Reading<'a> {
    config: &'a Config,
    pool: Option<PoolWriter>,
    questions: Vec<Question>,
    /// Queries of pairs by their words: equal ones are one query with several relevant documents.
    by_key: HashMap<String, usize>,
    report: Report,
}

impl Reading<'_> {
    /// An id that no other set has.
    fn id(&self, set: &SetConfig, id: &str) -> String {
        match self.config.data.sets.len() > 1 && self.config.index.path.is_none() {
            true => format!("{}/{id}", set.name),
            false => id.to_owned(),
        }
    }

    fn pairs(&mut self, number: usize, set: &SetConfig, path: &Path) -> Result<SetReport, DataError> {
        let mut report = SetReport::default();
        let mut pairs = Pairs::open(path, on_error(set))?;
        let all: Vec<Pair> = pairs.by_ref().collect::<Result<_, _>>()?;
        self.faults(&mut report, pairs.skipped());
        report.read = all.len() as u64 + pairs.skipped().total_faults();
        let chosen = sample(&all, set.cap, |pair| siblings_key(&pair.id), self.config.data.seed);
        count(&mut report, "over the cap", all.len() - chosen.len());
        for pair in chosen {
            let document = self.document(set, pair);
            if let Some(pool) = &mut self.pool {
                report.documents += u64::from(pool.add(&document)?);
            }
            let key = key(&pair.query);
            if key.is_empty() {
                count(&mut report, "no word in the query", 1);
                continue;
            }
            match self.by_key.get(&key) {
                Some(&place) => {
                    let judged = &mut self.questions[place].judged;
                    if !judged.iter().any(|(id, _)| *id == document.id) {
                        judged.push((document.id, 1));
                    }
                    count(&mut report, "the same query again", 1);
                }
                None => {
                    self.by_key.insert(key.clone(), self.questions.len());
                    let question = Question {
                        id: self.id(set, &pair.id),
                        text: self.shortened(set, &pair.query, &key, &mut report),
                        key,
                        set: number,
                        judged: vec![(document.id, 1)],
                        candidates: None,
                    };
                    self.questions.push(question);
                }
            }
        }
        Ok(report)
    }

    fn document(&self, set: &SetConfig, pair: &Pair) -> Document {
        let text = match self.config.data.max_document_words {
            Some(longest) => first_words(&pair.text, longest),
            None => &pair.text,
        };
        Document {
            id: self.id(set, &pair.id),
            title: pair.title.clone(),
            text: text.to_owned(),
            features: Vec::new(),
        }
    }

    fn judged(&mut self, number: usize, set: &SetConfig) -> Result<SetReport, DataError> {
        let mut report = SetReport::default();
        self.corpus(set, &mut report)?;
        let (Some(queries), Some(qrels)) = (&set.queries, &set.qrels) else {
            return Ok(report);
        };
        let options = QueryOptions {
            on_error: on_error(set),
            ..QueryOptions::default()
        };
        let queries = read_queries(queries, &options)?;
        self.faults(&mut report, &queries.skipped);
        let (mut judged, skips) = read_qrels(qrels, eval_on_error(set))?;
        count(&mut report, "faulty judgement", skips.count as usize);
        let mut run = match &set.run {
            Some(path) => Some(read_run(path, eval_on_error(set))?.0),
            None => None,
        };
        report.read = queries.queries.len() as u64 + queries.skipped.total_faults();
        let chosen = sample(&queries.queries, set.cap, |query| &query.id, self.config.data.seed);
        count(&mut report, "over the cap", queries.queries.len() - chosen.len());
        for query in chosen {
            let Some(grades) = judged.queries.shift_remove(&query.id) else {
                count(&mut report, "not judged", 1);
                continue;
            };
            if !grades.values().any(|&grade| grade > 0) {
                count(&mut report, "no relevant document", 1);
                continue;
            }
            let key = key(&query.text);
            if key.is_empty() {
                count(&mut report, "no word in the query", 1);
                continue;
            }
            let mut grades: Vec<(String, i32)> = grades.into_iter().map(|(id, grade)| (self.id(set, &id), grade)).collect();
            grades.sort_unstable();
            let candidates = run.as_mut().map(|run| run.queries.shift_remove(&query.id).unwrap_or_default());
            let question = Question {
                id: self.id(set, &query.id),
                text: self.shortened(set, &query.text, &key, &mut report),
                key,
                set: number,
                judged: grades,
                candidates: candidates.map(|list| list.into_iter().map(|(id, score)| (self.id(set, &id), score)).collect()),
            };
            self.questions.push(question);
        }
        let known: std::collections::HashSet<&str> = queries.queries.iter().map(|query| query.id.as_str()).collect();
        let nameless = judged.queries.keys().filter(|id| !known.contains(id.as_str()));
        count(&mut report, "judged but without text", nameless.count());
        Ok(report)
    }

    fn corpus(&mut self, set: &SetConfig, report: &mut SetReport) -> Result<(), DataError> {
        if self.pool.is_none() {
            return Ok(());
        }
        let options = CorpusOptions {
            on_error: on_error(set),
            ..CorpusOptions::default()
        };
        let mut corpus = Corpus::open(&set.corpus, &options)?;
        for document in corpus.by_ref() {
            let mut document = document?;
            document.id = self.id(set, &document.id);
            if let Some(pool) = &mut self.pool {
                report.documents += u64::from(pool.add(&document)?);
            }
        }
        self.faults(report, &corpus.skipped());
        Ok(())
    }

    fn shortened(&self, set: &SetConfig, query: &str, key: &str, report: &mut SetReport) -> String {
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

    fn faults(&mut self, report: &mut SetReport, skipped: &becr_corpus::SkipReport) {
        for (reason, faults) in &skipped.faults {
            count(report, reason, *faults as usize);
        }
        for example in &skipped.examples {
            self.report.example(|| example.clone());
        }
    }
}

fn count(report: &mut SetReport, reason: &'static str, things: usize) {
    if things > 0 {
        *report.dropped.entry(reason).or_default() += things as u64;
    }
}

fn on_error(set: &SetConfig) -> OnError {
    match set.skip_faults {
        true => OnError::Skip,
        false => OnError::Stop,
    }
}

fn eval_on_error(set: &SetConfig) -> becr_eval::OnError {
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
fn sample<'a, T>(all: &'a [T], cap: Option<usize>, key: impl Fn(&T) -> &str, seed: u64) -> Vec<&'a T> {
    let cap = cap.unwrap_or(usize::MAX);
    let mut order: Vec<usize> = (0..all.len()).collect();
    if all.len() > cap {
        order.sort_by_cached_key(|&place| (draw(seed, "cap", key(&all[place])), place));
        order.truncate(cap);
        order.sort_unstable();
    }
    order.into_iter().map(|place| &all[place]).collect()
}

/// The text up to its `count`th word, words being what blanks separate.
fn first_words(text: &str, count: usize) -> &str {
    let mut words = 0;
    let mut inside = false;
    for (at, character) in text.char_indices() {
        let blank = character.is_whitespace();
        if !blank && !inside {
            words += 1;
            if words > count {
                return text[..at].trim_end();
            }
        }
        inside = !blank;
    }
    text
}
