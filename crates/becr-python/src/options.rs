//! How to rank, as Python says it: the names are the library's.

use crate::errors::InvalidInputError;
use becr::{Part, RankOptions};
use pyo3::PyResult;
use std::str::FromStr;

/// A value by its name; the error lists the names there are.
pub(crate) fn named<T: FromStr<Err = String>>(name: &str) -> PyResult<T> {
    name.parse().map_err(InvalidInputError::new_err)
}

/// How candidates are ranked. Contradictions are the library's to refuse.
pub(crate) fn ranking(
    mode: Option<&str>,
    scorer: Option<&str>,
    without: &[String],
    weight: Option<f32>,
) -> PyResult<RankOptions> {
    let default = RankOptions::default();
    let parts = without.iter().map(|name| named::<Part>(name));
    Ok(RankOptions {
        mode: mode.map(named).transpose()?,
        scorer: scorer.map_or(Ok(default.scorer), named)?,
        without: parts.collect::<PyResult<_>>()?,
        weight,
        ..default
    })
}
