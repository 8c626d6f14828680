//! How to rank, as Python says it.

use crate::errors::InvalidInputError;
use becr::{Parts, Precision, QueryMode, RankOptions, Variant};
use pyo3::PyResult;

/// `composed` or `encoded`.
pub(crate) fn mode(name: &str) -> PyResult<QueryMode> {
    match name {
        "composed" => Ok(QueryMode::Composed),
        "encoded" => Ok(QueryMode::Encoded),
        _ => Err(InvalidInputError::new_err(format!(
            "mode {name:?}: there are \"composed\" and \"encoded\""
        ))),
    }
}

/// `f32` or `int8`.
pub(crate) fn precision(name: &str) -> PyResult<Precision> {
    name.parse().map_err(InvalidInputError::new_err)
}

/// How candidates are ranked.
pub(crate) fn ranking(
    mode_name: Option<&str>,
    variant: Option<&str>,
    without: &[String],
    weight: Option<f32>,
) -> PyResult<RankOptions> {
    let variant = match variant {
        Some(name) => name.parse().map_err(InvalidInputError::new_err)?,
        None => Variant::default(),
    };
    if weight.is_some() && variant != Variant::OneVector {
        return Err(InvalidInputError::new_err(
            "weight goes with variant=\"one-vector\"",
        ));
    }
    let mut parts = Parts::default();
    for name in without {
        parts.add(name).map_err(InvalidInputError::new_err)?;
    }
    Ok(RankOptions {
        mode: mode_name.map(mode).transpose()?,
        variant,
        without: parts,
        anchor_weight: weight,
    })
}
