//! Sets of pairs.

use super::DataError;
use super::report::SetReport;
use super::sets::{Question, Reading, count, on_error, sample, siblings_key};
use super::shorten::key;
use crate::config::SetConfig;
use becr_corpus::{Document, Pair, Pairs};
use std::path::Path;

impl Reading<'_> {
    /// Reads a file of pairs. Equal queries become one, with several relevant documents.
    pub(super) fn pairs(
        &mut self,
        number: usize,
        set: &SetConfig,
        path: &Path,
    ) -> Result<SetReport, DataError> {
        let mut report = SetReport::default();
        let mut pairs = Pairs::open(path, on_error(set))?;
        let all: Vec<Pair> = pairs.by_ref().collect::<Result<_, _>>()?;
        self.faults(&mut report, pairs.skipped());
        report.read = all.len() as u64 + pairs.skipped().total_faults();
        let chosen = sample(
            &all,
            set.cap,
            |pair| siblings_key(&pair.id),
            self.config.data.seed,
        );
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
