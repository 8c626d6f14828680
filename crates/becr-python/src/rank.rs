//! Search, re-ranking and explanations.

use crate::answers::{Ranking, SearchAnswer};
use crate::candidates::PyCandidates;
use crate::errors::{InvalidInputError, raised};
use crate::index::NativeIndex;
use crate::observer::interruptible;
use crate::options;
use becr::{Details, ExplainOptions, SearchOptions};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use std::sync::Arc;
use std::time::Instant;

#[pymethods]
impl NativeIndex {
    /// Finds candidates by BM25 and, unless `first_stage` is set, re-ranks them.
    #[pyo3(signature = (query, *, k, depth, find_by, mode, scorer, without, weight, first_stage, reasons, snippets))]
    #[allow(clippy::too_many_arguments)]
    fn search(
        &self,
        py: Python<'_>,
        query: PyBackedStr,
        k: usize,
        depth: usize,
        find_by: PyBackedStr,
        mode: Option<PyBackedStr>,
        scorer: Option<PyBackedStr>,
        without: Vec<String>,
        weight: Option<f32>,
        first_stage: bool,
        reasons: bool,
        snippets: bool,
    ) -> PyResult<SearchAnswer> {
        let index = self.index()?;
        let rank = options::ranking(mode.as_deref(), scorer.as_deref(), &without, weight)?;
        let options = SearchOptions {
            k: k.min(MOST),
            depth: depth.min(MOST),
            find_by: options::named(&find_by)?,
            rank: (!first_stage).then_some(rank),
            details: Details {
                title: true,
                reasons,
                snippet: snippets,
            },
        };
        let answer = py.detach(|| index.search(&query, &options));
        SearchAnswer::new(py, answer.map_err(raised)?)
    }

    /// Ranks candidates of any first stage.
    #[pyo3(signature = (query, candidates, *, mode, scorer, without, weight, budget))]
    #[allow(clippy::too_many_arguments)]
    fn rerank(
        &self,
        py: Python<'_>,
        query: PyBackedStr,
        candidates: &Bound<'_, PyAny>,
        mode: Option<PyBackedStr>,
        scorer: Option<PyBackedStr>,
        without: Vec<String>,
        weight: Option<f32>,
        budget: usize,
    ) -> PyResult<Ranking> {
        let index = self.index()?;
        let options = options::ranking(mode.as_deref(), scorer.as_deref(), &without, weight)?;
        let candidates = PyCandidates::new(candidates)?;
        if !candidates.have_texts() {
            let documents = candidates.documents();
            let (answer, total) = py.detach(|| {
                let begun = Instant::now();
                let answer = index.rerank(&query, &documents, &options);
                (answer, begun.elapsed())
            });
            let answer = answer.map_err(raised)?;
            return Ranking::new(py, &candidates, &answer, None, total);
        }
        // Encoding texts may take seconds: Ctrl-C is heard meanwhile.
        let (index, texts) = (index.clone(), self.texts()?.clone());
        let candidates = Arc::new(candidates);
        let asked = candidates.clone();
        let (answer, total) = interruptible(py, move || {
            let begun = Instant::now();
            let answer = index.rerank_texts(&query, &asked.texts(), &options, &texts, budget);
            (answer, begun.elapsed())
        })?;
        let answer = answer.map_err(raised)?;
        Ranking::new(py, &candidates, &answer.ranking, Some(&answer.from), total)
    }

    /// Takes the scores of documents apart: JSON.
    #[pyo3(signature = (query, documents, *, depth, find_by, mode, scorer, without, weight))]
    #[allow(clippy::too_many_arguments)]
    fn explain(
        &self,
        py: Python<'_>,
        query: PyBackedStr,
        documents: Vec<PyBackedStr>,
        depth: usize,
        find_by: PyBackedStr,
        mode: Option<PyBackedStr>,
        scorer: Option<PyBackedStr>,
        without: Vec<String>,
        weight: Option<f32>,
    ) -> PyResult<String> {
        let index = self.index()?;
        let options = ExplainOptions {
            depth: depth.min(MOST),
            find_by: options::named(&find_by)?,
            rank: options::ranking(mode.as_deref(), scorer.as_deref(), &without, weight)?,
        };
        let documents: Vec<&str> = documents.iter().map(|id| &**id).collect();
        let answer = py.detach(|| index.explain(&query, &documents, &options));
        let answer = answer.map_err(raised)?;
        let mut json = serde_json::to_value(&answer).map_err(unwritable)?;
        json["generation"] = answer.generation.to_string().into();
        for (place, document) in answer.documents.iter().enumerate() {
            let row = |row: becr_rank::ContributionRow| {
                serde_json::json!({
                    "part": row.part, "name": becr::label(&row), "plain": becr::plain(&row),
                    "contribution": row.contribution,
                })
            };
            let rows = document.explanation.rows().into_iter().map(row);
            json["documents"][place]["rows"] = rows.collect();
        }
        Ok(json.to_string())
    }
}

/// More results than any index has; keeps requests for "all" from reserving memory for them.
const MOST: usize = 10_000_000;

pub(crate) fn unwritable(error: serde_json::Error) -> PyErr {
    InvalidInputError::new_err(format!("the answer cannot be written as JSON: {error}"))
}
