//! Queries, judgements and candidates, with what their scores are made of.

use crate::{Config, SetConfig, TuneError};
use becr::{Candidate, Index, ListParts, OpenOptions, RankOptions, SearchOptions};
use becr_corpus::{OnError, QueryOptions, read_queries};
use becr_eval::{Run, ranking, read_candidates, read_qrels};
use becr_model::{Feature, HEAD_FILE, Head};
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What there is to learn from.
pub(crate) struct Data {
    /// The head to start from.
    pub(crate) head: Head,
    /// The queries with a relevant document, known or not to the index.
    pub(crate) lists: Vec<JudgedList>,
    /// Candidates that the index does not have.
    pub(crate) unknown: usize,
    /// Faulty lines that were left out.
    pub(crate) skipped: u64,
}

/// A query's candidates with their judgements.
pub(crate) struct JudgedList {
    /// The query.
    pub(crate) text: String,
    /// The parts of the candidates' scores.
    pub(crate) parts: ListParts,
    /// Their ids.
    pub(crate) ids: Vec<String>,
    /// Their grades, 0 for those that nobody judged.
    pub(crate) grades: Vec<i32>,
    /// The grades of all documents that were judged.
    pub(crate) judged: Vec<i32>,
}

/// A query that was judged.
struct Question {
    text: String,
    judged: HashMap<String, i32>,
    /// Those of a run.
    candidates: Option<Vec<(String, f64)>>,
}

pub(crate) fn read(
    config: &Config,
    done: &(dyn Fn(usize, usize) + Sync),
) -> Result<Data, TuneError> {
    let (head, head_path) = head(config)?;
    if !head.is_list_wise() {
        return Err(TuneError::NotListWise(head_path));
    }
    let mut questions = Vec::new();
    let mut skipped = 0;
    for set in &config.sets {
        let (read, faults) = question_set(set)?;
        questions.extend(read);
        skipped += faults;
    }
    let index = OpenOptions::new()
        .head(with_features(&head, &config.features))
        .open(&config.index)?;
    let (count, all) = (AtomicUsize::new(0), questions.len());
    let measured = questions.into_par_iter().map(|question| {
        let list = judged_list(&index, config, question);
        done(count.fetch_add(1, Ordering::Relaxed) + 1, all);
        list
    });
    let measured: Vec<Option<(JudgedList, usize)>> = measured.collect::<Result<_, TuneError>>()?;
    let mut lists = Vec::with_capacity(all);
    let mut unknown = 0;
    for list in measured {
        let (list, missing) = list.ok_or_else(|| TuneError::NotListWise(head_path.clone()))?;
        lists.push(list);
        unknown += missing;
    }
    Ok(Data {
        head,
        lists,
        unknown,
        skipped,
    })
}

/// The head to start from, and where it lies.
fn head(config: &Config) -> Result<(Head, PathBuf), TuneError> {
    let path = match &config.head {
        Some(path) => path.clone(),
        None => config.index.join("model").join(HEAD_FILE),
    };
    Ok((Head::read(&path)?, path))
}

/// The head with features that it does not have, of weight 0: they are computed, and count nothing.
fn with_features(head: &Head, names: &[String]) -> Head {
    let mut head = head.clone();
    for name in names {
        if !head.lexical.iter().any(|feature| feature.name == *name) {
            head.lexical.push(Feature::plain(name, 0.0));
        }
    }
    head
}

/// The queries of a set that have a relevant document, and how many lines were left out.
fn question_set(set: &SetConfig) -> Result<(Vec<Question>, u64), TuneError> {
    let (on_error, on_fault) = match set.skip_faults {
        true => (OnError::Skip, becr_eval::OnError::Skip),
        false => (OnError::Stop, becr_eval::OnError::Stop),
    };
    let options = QueryOptions {
        on_error,
        ..QueryOptions::default()
    };
    let queries = read_queries(&set.queries, &options)?;
    let (qrels, faults) = read_qrels(&set.qrels, on_fault)?;
    let mut skipped = queries.skipped.total_faults() + faults.count;
    let mut run: Option<Run> = None;
    if let Some(path) = &set.run {
        let candidates = read_candidates(path, on_fault)?;
        skipped += candidates.skipped.count;
        run = Some(candidates.run);
    }
    let question = |query: becr_corpus::Query| {
        let judged = qrels.queries.get(&query.id)?;
        if !judged.values().any(|&grade| grade > 0) {
            return None;
        }
        let candidates = run.as_ref().map(|run| {
            let documents = run.queries.get(&query.id);
            documents.cloned().unwrap_or_default()
        });
        Some(Question {
            text: query.text,
            judged: judged.clone(),
            candidates,
        })
    };
    Ok((
        queries.queries.into_iter().filter_map(question).collect(),
        skipped,
    ))
}

/// Candidates with the parts of their scores, and how many the index does not have; `None` for another kind of head.
fn judged_list(
    index: &Index,
    config: &Config,
    question: Question,
) -> Result<Option<(JudgedList, usize)>, TuneError> {
    let found: Vec<(String, f32)> = match &question.candidates {
        Some(run) => {
            let best = ranking(run).into_iter().take(config.candidates);
            best.map(|(id, score)| (id.clone(), *score as f32))
                .collect()
        }
        None => {
            let options = SearchOptions::first_stage(config.candidates);
            let results = index.search(&question.text, &options)?.results;
            let results = results.into_iter();
            results.map(|hit| (hit.id, hit.first_stage_score)).collect()
        }
    };
    let candidates: Vec<Candidate<'_>> = found
        .iter()
        .map(|(id, score)| Candidate::new(id, *score))
        .collect();
    let options = RankOptions {
        mode: config.mode,
        ..RankOptions::default()
    };
    let Some(parts) = index.list_parts(&question.text, &candidates, &options)? else {
        return Ok(None);
    };
    let ids: Vec<String> = parts
        .rows
        .iter()
        .map(|row| found[row.place].0.clone())
        .collect();
    let grade = |id: &String| question.judged.get(id).copied().unwrap_or(0);
    let unknown = found.len() - ids.len();
    let list = JudgedList {
        grades: ids.iter().map(grade).collect(),
        judged: question.judged.values().copied().collect(),
        text: question.text,
        ids,
        parts,
    };
    Ok(Some((list, unknown)))
}
