//! Measures of runs.

use crate::errors::{InvalidInputError, of_evaluation};
use becr_eval::{OnError, Qrels, Run, Scope};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use std::path::PathBuf;

/// Names of the measures, and their values for each query.
type Evaluated = (Vec<String>, Vec<(String, Vec<f64>)>);

/// The value of each measure for each query that counts: measures' names, then (query, values) rows.
///
/// A run is a path, or (query, document, score) rows; qrels are a path, or (query, document, grade) rows. With `complete`
/// judged queries without an answer count as 0.
#[pyfunction]
#[pyo3(signature = (run, qrels, measures, *, complete))]
pub(crate) fn evaluate(
    py: Python<'_>,
    run: &Bound<'_, PyAny>,
    qrels: &Bound<'_, PyAny>,
    measures: PyBackedStr,
    complete: bool,
) -> PyResult<Evaluated> {
    let measures = becr_eval::parse_measures(&measures).map_err(of_evaluation)?;
    let (run, qrels) = (self::run(run)?, self::qrels(qrels)?);
    let scope = match complete {
        true => Scope::Complete,
        false => Scope::Answered,
    };
    let evaluation = py.detach(|| becr_eval::evaluate(&qrels, &run, &measures, scope));
    let names = measures.iter().map(ToString::to_string).collect();
    Ok((names, evaluation.per_query.into_iter().collect()))
}

fn run(given: &Bound<'_, PyAny>) -> PyResult<Run> {
    if let Ok(path) = given.extract::<PathBuf>() {
        let (run, _) = becr_eval::read_run(path, OnError::Stop).map_err(of_evaluation)?;
        return Ok(run);
    }
    let mut run = Run::new("python");
    let mut seen = std::collections::HashSet::new();
    for row in given.try_iter()? {
        let (query, document, score): (PyBackedStr, PyBackedStr, f64) = row?.extract()?;
        if !(score as f32).is_finite() {
            return Err(InvalidInputError::new_err(format!(
                "query {:?}, document {:?}: its score is {score}, and must be a finite number",
                &*query, &*document
            )));
        }
        run.push(&query, &*document, score);
        if !seen.insert((query, document)) {
            return Err(InvalidInputError::new_err(
                "a document stands twice in a query's answer; give each once",
            ));
        }
    }
    Ok(run)
}

fn qrels(given: &Bound<'_, PyAny>) -> PyResult<Qrels> {
    if let Ok(path) = given.extract::<PathBuf>() {
        let (qrels, _) = becr_eval::read_qrels(path, OnError::Stop).map_err(of_evaluation)?;
        return Ok(qrels);
    }
    let mut qrels = Qrels::default();
    for row in given.try_iter()? {
        let (query, document, grade): (PyBackedStr, PyBackedStr, i32) = row?.extract()?;
        if qrels.insert(&query, &document, grade).is_some() {
            return Err(InvalidInputError::new_err(format!(
                "query {:?} judges document {:?} twice; keep one of the two",
                &*query, &*document
            )));
        }
    }
    Ok(qrels)
}
