//! Sets of queries with judgements.

use super::DataError;
use super::report::SetReport;
use super::sets::{Question, Reading, count, eval_on_error, on_error, sample};
use super::shorten::key;
use crate::config::SetConfig;
use becr_corpus::{Corpus, CorpusOptions, QueryOptions, SideFiles, read_queries};
use becr_eval::{read_qrels, read_run, read_triples};
use std::collections::HashSet;

impl Reading<'_> {
    /// Reads documents, queries and judgements.
    pub(super) fn judged(
        &mut self,
        number: usize,
        set: &SetConfig,
    ) -> Result<SetReport, DataError> {
        let mut report = SetReport::default();
        self.corpus(set, &mut report)?;
        let Some(queries) = &set.queries else {
            return Ok(report);
        };
        let options = QueryOptions {
            on_error: on_error(set),
            ..QueryOptions::default()
        };
        let queries = read_queries(queries, &options)?;
        self.faults(&mut report, &queries.skipped);
        let (mut judged, skips) = match (&set.qrels, &set.triples) {
            (Some(qrels), _) => read_qrels(qrels, eval_on_error(set))?,
            (None, Some(triples)) => read_triples(triples, eval_on_error(set))?,
            (None, None) => return Ok(report),
        };
        count(&mut report, "faulty judgement", skips.count as usize);
        let mut run = match &set.run {
            Some(path) => Some(read_run(path, eval_on_error(set))?.0),
            None => None,
        };
        report.read = queries.queries.len() as u64 + queries.skipped.total_faults();
        let chosen = sample(
            &queries.queries,
            set.cap,
            |query| &query.id,
            self.config.data.seed,
        );
        count(
            &mut report,
            "over the cap",
            queries.queries.len() - chosen.len(),
        );
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
            let mut grades: Vec<(String, i32)> = grades
                .into_iter()
                .map(|(id, grade)| (self.id(set, &id), grade))
                .collect();
            grades.sort_unstable();
            let candidates = run
                .as_mut()
                .map(|run| run.queries.shift_remove(&query.id).unwrap_or_default());
            let question = Question {
                id: self.query_id(set, &query.id),
                text: self.shortened(set, &query.text, &key, &mut report),
                key,
                set: number,
                judged: grades,
                candidates: candidates.map(|list| {
                    list.into_iter()
                        .map(|(id, score)| (self.id(set, &id), score))
                        .collect()
                }),
            };
            self.questions.push(question);
        }
        let known: HashSet<&str> = queries
            .queries
            .iter()
            .map(|query| query.id.as_str())
            .collect();
        let nameless = judged
            .queries
            .keys()
            .filter(|id| !known.contains(id.as_str()));
        count(&mut report, "judged but without text", nameless.count());
        Ok(report)
    }

    fn corpus(&mut self, set: &SetConfig, report: &mut SetReport) -> Result<(), DataError> {
        if self.pool.is_none() {
            return Ok(());
        }
        let options = CorpusOptions {
            on_error: on_error(set),
            side: SideFiles {
                pagerank: set.pagerank.clone(),
                spam: set.spam.clone(),
                spam_threshold: set.spam_threshold,
            },
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
}
