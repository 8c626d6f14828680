//! Documents to rank, as Python gives them.

use crate::errors::InvalidInputError;
use becr::{Candidate, TextCandidate};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::collections::HashSet;

/// A document to rank. Strings are lent by Python, not copied.
pub(crate) struct PyCandidate {
    pub(crate) id: PyBackedStr,
    score: Option<f32>,
    title: Option<PyBackedStr>,
    text: Option<PyBackedStr>,
    features: Vec<(String, f32)>,
}

/// A list of candidates.
pub(crate) struct PyCandidates(pub(crate) Vec<PyCandidate>);

impl PyCandidates {
    /// From a mapping of ids to scores, or from an iterable of ids, `(id, score)` pairs or dicts.
    pub(crate) fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut all = Vec::with_capacity(given.len().unwrap_or(0));
        if let Ok(scores) = given.cast::<PyDict>() {
            for (id, score) in scores {
                all.push(PyCandidate::scored(&id, &score)?);
            }
        } else if given.is_instance_of::<PyString>() {
            return Err(wrong(given));
        } else if let Ok(list) = given.cast::<PyList>() {
            for item in list {
                all.push(PyCandidate::new(&item)?);
            }
        } else {
            for item in given.try_iter()? {
                all.push(PyCandidate::new(&item?)?);
            }
        }
        let mut seen = HashSet::with_capacity(all.len());
        for candidate in &all {
            if !seen.insert(candidate.id.as_str()) {
                return Err(InvalidInputError::new_err(format!(
                    "candidate {:?} stands twice in the list; give each once",
                    candidate.id.as_str()
                )));
            }
        }
        drop(seen);
        Ok(Self(all))
    }

    /// Whether some come with a text.
    pub(crate) fn have_texts(&self) -> bool {
        self.0.iter().any(|candidate| candidate.text.is_some())
    }

    pub(crate) fn documents(&self) -> Vec<Candidate<'_>> {
        self.0
            .iter()
            .map(|candidate| Candidate {
                id: &candidate.id,
                score: candidate.score,
                features: &candidate.features,
            })
            .collect()
    }

    pub(crate) fn texts(&self) -> Vec<TextCandidate<'_>> {
        self.0
            .iter()
            .map(|candidate| TextCandidate {
                id: Some(&candidate.id),
                title: candidate.title.as_deref().unwrap_or_default(),
                text: candidate.text.as_deref(),
                score: candidate.score,
                features: &candidate.features,
            })
            .collect()
    }
}

impl PyCandidate {
    fn new(item: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(pair) = item.cast::<PyTuple>() {
            return match pair.len() {
                2 => Self::scored(&pair.get_item(0)?, &pair.get_item(1)?),
                _ => Err(wrong(item)),
            };
        }
        if let Ok(id) = item.cast::<PyString>() {
            return Self::of_id(id);
        }
        match item.cast::<PyDict>() {
            Ok(fields) => Self::of_fields(fields),
            Err(_) => Err(wrong(item)),
        }
    }

    fn of_id(id: &Bound<'_, PyString>) -> PyResult<Self> {
        Ok(Self {
            id: id.clone().try_into()?,
            score: None,
            title: None,
            text: None,
            features: Vec::new(),
        })
    }

    fn scored(id: &Bound<'_, PyAny>, score: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(id) = id.cast::<PyString>() else {
            return Err(wrong(id));
        };
        let candidate = Self::of_id(id)?;
        let score = number(score, &candidate.id, "score")?;
        Ok(Self { score, ..candidate })
    }

    fn of_fields<'py>(fields: &Bound<'py, PyDict>) -> PyResult<Self> {
        let py = fields.py();
        let get = |name: &Bound<'py, PyString>| -> PyResult<Option<Bound<'py, PyAny>>> {
            Ok(fields.get_item(name)?.filter(|value| !value.is_none()))
        };
        let id = get(intern!(py, "id"))?;
        let id = match id.as_ref().map(|id| id.cast::<PyString>()) {
            Some(Ok(id)) => id,
            _ => return Err(wrong(fields)),
        };
        let mut candidate = Self::of_id(id)?;
        if let Some(score) = get(intern!(py, "score"))? {
            candidate.score = number(&score, &candidate.id, "score")?;
        }
        let text = |name| get(name)?.map(|text| text.extract()).transpose();
        candidate.title = text(intern!(py, "title"))?;
        candidate.text = text(intern!(py, "text"))?;
        if let Some(features) = get(intern!(py, "features"))? {
            for (name, value) in features.cast::<PyDict>()? {
                let name: String = name.extract()?;
                if let Some(value) = number(&value, &candidate.id, &name)? {
                    candidate.features.push((name, value));
                }
            }
        }
        Ok(candidate)
    }
}

/// A finite number; `None` stays `None`.
fn number(value: &Bound<'_, PyAny>, id: &str, what: &str) -> PyResult<Option<f32>> {
    if value.is_none() {
        return Ok(None);
    }
    let number = value.extract::<f64>()? as f32;
    match number.is_finite() {
        true => Ok(Some(number)),
        false => Err(InvalidInputError::new_err(format!(
            "candidate {id:?}: its {what} is {number}, and must be a finite number that single precision holds"
        ))),
    }
}

fn wrong(given: &Bound<'_, PyAny>) -> PyErr {
    let kind = given.get_type();
    pyo3::exceptions::PyTypeError::new_err(format!(
        "candidates are a dict of ids to scores, or an iterable of ids, of (id, score) pairs or of dicts with \"id\" and, if \
         there are any, \"score\", \"title\", \"text\" and \"features\"; found {kind}"
    ))
}
