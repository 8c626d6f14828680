//! The ranking head of an index: a copy of the model's, kept with the index's other small files.
//!
//! It is the default for ranking, and γ·CLS of every document, the first and those added later, is computed with it.

use crate::IndexError;
use crate::full::MODEL;
use becr_model::{HEAD_FILE, Head, Model, Similarity};
use std::path::Path;

/// The head that the index in `dir` was built with; `None` if its model had none.
pub fn head_of(dir: &Path) -> Result<Option<Head>, IndexError> {
    let path = dir.join(MODEL).join(HEAD_FILE);
    match path.is_file() {
        true => Ok(Some(Head::read(&path)?)),
        false => Ok(None),
    }
}

/// The head of a model that an index is about to be built with; refuses one that was trained for another encoder, and
/// models that compare what an index does not keep.
pub(crate) fn head_of_model<'a>(
    model: &'a Model,
    encoder_id: &str,
    shape: &becr_encoder::Shape,
) -> Result<Option<&'a Head>, IndexError> {
    if model.config.settings().similarity != Similarity::SumOfCosines {
        return Err(IndexError::Similarity(model.directory.join("config.json")));
    }
    let Some(head) = &model.head else {
        return Ok(None);
    };
    if head.deep.similarity != Similarity::SumOfCosines {
        return Err(IndexError::Similarity(model.directory.join(HEAD_FILE)));
    }
    let refuse = |reason: String| {
        Err(IndexError::Head {
            path: model.directory.join(HEAD_FILE),
            reason,
        })
    };
    if head.encoder_id != encoder_id {
        let reason = format!(
            "it was trained for encoder {}, this model is encoder {encoder_id}",
            head.encoder_id
        );
        return refuse(reason);
    }
    if head.layers() != shape.layers.len() {
        let (found, kept) = (head.layers(), shape.layers.len());
        return refuse(format!(
            "it has weights for {found} layers, the model keeps {kept}"
        ));
    }
    match &head.others.cls {
        Some(gamma) if gamma.len() != shape.dim => {
            let (found, dim) = (gamma.len(), shape.dim);
            refuse(format!(
                "its `others.cls` has {found} weights, a [CLS] vector {dim} numbers"
            ))
        }
        _ => Ok(Some(head)),
    }
}

/// γ·CLS of a document: what its record keeps. 0 without γ, and for a document that was never encoded.
pub(crate) fn gamma_cls(gamma: Option<&[f32]>, cls: &[f32]) -> f32 {
    let products = gamma
        .unwrap_or_default()
        .iter()
        .zip(cls)
        .map(|(g, x)| g * x);
    products.sum()
}
