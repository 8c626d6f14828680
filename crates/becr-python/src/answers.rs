//! What the library gives, as Python classes and numpy arrays.

use crate::candidates::PyCandidates;
use becr::{RankedFrom, RerankAnswer, SearchTiming};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::ops::Range;
use std::time::Duration;

/// A ranked list: best first, documents that the index does not have last.
#[pyclass(frozen, module = "becr")]
pub(crate) struct Ranking {
    /// The ids, best first.
    #[pyo3(get)]
    ids: Py<PyList>,
    /// The scores, as float32.
    #[pyo3(get)]
    scores: Py<PyArray1<f32>>,
    /// Where each document stood in the list of candidates, from 0.
    #[pyo3(get)]
    places: Py<PyArray1<i64>>,
    /// S_deep of each; NaN for documents that the index does not have.
    #[pyo3(get)]
    deep: Py<PyArray1<f32>>,
    /// S_lexi of each.
    #[pyo3(get)]
    lexi: Py<PyArray1<f32>>,
    /// S_others of each.
    #[pyo3(get)]
    others: Py<PyArray1<f32>>,
    /// The ids that the index does not have and that came without a text: the last of the list.
    #[pyo3(get)]
    unknown: Py<PyList>,
    /// Where the footprints of each came from, in the order of the ranking: "index", "encoded", "cached" or "unknown".
    #[pyo3(get)]
    sources: Vec<&'static str>,
    /// The state of the index that was ranked with.
    #[pyo3(get)]
    generation: String,
    /// Milliseconds by stage, and "total" for the library's work as a whole.
    #[pyo3(get)]
    timing: Py<PyDict>,
}

impl Ranking {
    /// `from` says where the footprints of each candidate came from, if texts were ranked.
    pub(crate) fn new(
        py: Python<'_>,
        candidates: &PyCandidates,
        answer: &RerankAnswer,
        from: Option<&[RankedFrom]>,
        total: Duration,
    ) -> PyResult<Self> {
        let candidates = &candidates.0;
        let count = candidates.len();
        let mut places = Vec::with_capacity(count);
        let mut scores = Vec::with_capacity(count);
        for (place, score) in answer.with_unknown() {
            places.push(place as i64);
            scores.push(score);
        }
        let part = |of: fn(&becr::Scored) -> f32| {
            let mut part: Vec<f32> = answer.order.iter().map(|(_, scored)| of(scored)).collect();
            part.resize(places.len(), f32::NAN);
            PyArray1::from_vec(py, part).unbind()
        };
        let id = |place: i64| candidates[place as usize].id.as_py_str();
        let known = answer.order.len();
        let source = |(rank, &place): (usize, &i64)| match from {
            Some(from) => source(from[place as usize]),
            None if rank < known => "index",
            None => "unknown",
        };
        let timing = PyDict::new(py);
        let stages = [
            ("look_up", answer.timing.look_up),
            ("fetch", answer.timing.fetch),
            ("lexical", answer.timing.lexical),
            ("deep", answer.timing.deep),
            ("total", total),
        ];
        for (stage, time) in stages {
            timing.set_item(stage, time.as_secs_f64() * 1e3)?;
        }
        Ok(Self {
            ids: PyList::new(py, places.iter().map(|&place| id(place)))?.unbind(),
            unknown: PyList::new(py, places[known..].iter().map(|&place| id(place)))?.unbind(),
            sources: places.iter().enumerate().map(source).collect(),
            deep: part(|scored| scored.deep),
            lexi: part(|scored| scored.lexi),
            others: part(|scored| scored.others),
            scores: PyArray1::from_vec(py, scores).unbind(),
            places: PyArray1::from_vec(py, places).unbind(),
            generation: answer.generation.to_string(),
            timing: timing.unbind(),
        })
    }
}

fn source(from: RankedFrom) -> &'static str {
    match from {
        RankedFrom::Index => "index",
        RankedFrom::Encoded => "encoded",
        RankedFrom::Cached => "cached",
        RankedFrom::Unknown => "unknown",
    }
}

#[pymethods]
impl Ranking {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.ids.bind(py).len()
    }

    /// Pairs of id and score, best first.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let scores = self.scores.bind(py).call_method0("tolist")?;
        let zip = py.import("builtins")?.getattr("zip")?;
        zip.call1((&self.ids, scores))
    }

    /// A pandas data frame with `docno`, `score`, `rank` (from 0) and the parts of the score.
    fn to_frame<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frame(slf.as_any(), "of_ranking")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let ids = self.ids.bind(py);
        let first: Vec<String> = ids.iter().take(3).map(|id| id.to_string()).collect();
        let more = if ids.len() > 3 { ", …" } else { "" };
        Ok(format!(
            "<Ranking of {} documents: {}{more}>",
            ids.len(),
            first.join(", ")
        ))
    }
}

/// Calls a function of `becr/_frames.py`.
fn frame<'py>(of: &Bound<'py, PyAny>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    let frames = of.py().import("becr._frames")?;
    frames.call_method1(function, (of,))
}

/// What a search found.
#[pyclass(frozen, get_all, module = "becr")]
pub(crate) struct SearchAnswer {
    /// The results, best first.
    results: Py<PyList>,
    /// How many of the query's words and pairs the token store has; `None` where BM25 ranked.
    coverage: Option<Py<PyDict>>,
    /// The state of the index that was searched.
    generation: String,
    /// Milliseconds by stage.
    timing: Py<PyDict>,
}

#[pymethods]
impl SearchAnswer {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.results.bind(py).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyIterator>> {
        self.results.bind(py).try_iter()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, place: isize) -> PyResult<Bound<'py, PyAny>> {
        self.results.bind(py).as_any().get_item(place)
    }

    /// A pandas data frame, a row for each result.
    fn to_frame<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frame(slf.as_any(), "of_search")
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<SearchAnswer of {} results>", self.results.bind(py).len())
    }
}

impl SearchAnswer {
    pub(crate) fn new(py: Python<'_>, answer: becr::SearchAnswer) -> PyResult<Self> {
        let coverage = match answer.coverage {
            Some(coverage) => {
                let dict = PyDict::new(py);
                dict.set_item("words", coverage.words)?;
                dict.set_item("words_found", coverage.words_found)?;
                dict.set_item("pairs", coverage.pairs)?;
                dict.set_item("pairs_found", coverage.pairs_found)?;
                Some(dict.unbind())
            }
            None => None,
        };
        let results = answer.results.into_iter().map(SearchResult::new);
        let results: PyResult<Vec<_>> = results.map(|result| Py::new(py, result)).collect();
        Ok(Self {
            results: PyList::new(py, results?)?.unbind(),
            coverage,
            generation: answer.generation.to_string(),
            timing: timing(py, &answer.timing)?,
        })
    }
}

fn timing(py: Python<'_>, timing: &SearchTiming) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    for (stage, milliseconds) in timing.stages() {
        dict.set_item(stage.replace([' ', '-'], "_"), milliseconds)?;
    }
    Ok(dict.unbind())
}

/// A document that was found.
#[pyclass(frozen, get_all, module = "becr")]
pub(crate) struct SearchResult {
    /// From 1.
    rank: usize,
    /// The document.
    id: String,
    /// Its title.
    title: String,
    /// What it is ranked by.
    score: f32,
    /// Its rank by words, from 1; `None` for one that meaning alone found.
    first_stage_rank: Option<usize>,
    /// Its rank by meaning, from 1; `None` for one that words alone found.
    meaning_rank: Option<usize>,
    /// The score of the first stage, whoever found it.
    first_stage_score: f32,
    /// S_deep; `None` for a document that BM25 ranked.
    deep: Option<f32>,
    /// S_lexi.
    lexi: Option<f32>,
    /// S_others.
    others: Option<f32>,
    /// The largest contributions to the score, (name, contribution), if asked for.
    reasons: Option<Vec<(String, f64)>>,
    /// The passage nearest to the query, if asked for.
    snippet: Option<Py<Snippet>>,
}

impl SearchResult {
    fn new(result: becr::SearchResult) -> Self {
        let parts = result.parts.as_ref();
        let reasons = result.reasons.map(|reasons| {
            let rows = reasons.0.iter();
            rows.map(|row| (becr::plain(row), row.contribution))
                .collect()
        });
        let snippet = result.snippet.as_ref().map(Snippet::new);
        Self {
            rank: result.rank,
            deep: parts.map(|parts| parts.deep),
            lexi: parts.map(|parts| parts.lexi),
            others: parts.map(|parts| parts.others),
            id: result.id,
            title: result.title.unwrap_or_default(),
            score: result.score,
            first_stage_rank: result.first_stage_rank,
            meaning_rank: result.meaning_rank,
            first_stage_score: result.first_stage_score,
            reasons,
            snippet: snippet.and_then(|snippet| Python::attach(|py| Py::new(py, snippet).ok())),
        }
    }
}

#[pymethods]
impl SearchResult {
    fn __repr__(&self) -> String {
        let Self {
            rank, id, score, ..
        } = self;
        format!("<SearchResult {rank}: {id:?}, {score:.3}>")
    }
}

/// A passage of a document's text.
#[pyclass(frozen, get_all, module = "becr")]
pub(crate) struct Snippet {
    /// The passage, as it was written.
    text: String,
    /// The words near to the query: places in the passage, in characters.
    marks: Vec<(usize, usize)>,
    /// Whether text comes before it.
    starts_late: bool,
    /// Whether text comes after it.
    ends_early: bool,
}

impl Snippet {
    fn new(snippet: &becr::Snippet) -> Self {
        let characters = |bytes: usize| snippet.text[..bytes].chars().count();
        let mark = |mark: &Range<usize>| (characters(mark.start), characters(mark.end));
        Self {
            marks: snippet.marks.iter().map(mark).collect(),
            text: snippet.text.clone(),
            starts_late: snippet.starts_late,
            ends_early: snippet.ends_early,
        }
    }
}

#[pymethods]
impl Snippet {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Snippet {:?}>", self.text)
    }
}
