//! What the last layers of KNRM, BERT and CEDR-KNRM read, by query and document.

use super::{FrozenParts, TOGETHER};
use crate::TrainError;
use crate::baseline::source::BaselineSource;
use crate::batch::{Batch, Deep};
use crate::learn::{Picked, Source};
use crate::model::values;
use burn::tensor::backend::Backend;
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;

/// By the query's text and the document's number. Texts tell queries of all folds and sets apart, ids need not.
#[derive(Default)]
pub(super) struct Features(RefCell<HashMap<String, HashMap<u64, Vec<f32>>>>);

impl Features {
    /// A batch of features; those that are not known yet are computed.
    pub(super) fn recall<B: Backend>(
        &self,
        texts: &BaselineSource<'_>,
        picked: &[Picked],
        candidates: usize,
        parts: &FrozenParts<B>,
    ) -> Result<Batch, TrainError> {
        self.complete(texts, picked, parts)?;
        let known = self.0.borrow();
        let mut rows = Vec::with_capacity(picked.len() * candidates);
        for picked in picked {
            let of_query = known.get(&texts.examples[picked.example].query);
            rows.extend((0..candidates).map(|at| {
                let document = picked.documents.get(at)?;
                of_query?.get(&document.number)
            }));
        }
        let width = rows.iter().flatten().map(|row| row.len()).max();
        let nothing = vec![0.0; width.unwrap_or(0)];
        let features = rows.iter().flat_map(|row| row.unwrap_or(&nothing));
        let ids = picked.iter().map(|p| texts.examples[p.example].id.clone());
        Ok(Batch {
            ids: ids.collect(),
            candidates,
            present: rows.iter().map(Option::is_some).collect(),
            features: Vec::new(),
            fixed: Vec::new(),
            deep: Deep::Features(features.copied().collect()),
        })
    }

    /// Computes what is not known yet.
    fn complete<B: Backend>(
        &self,
        texts: &BaselineSource<'_>,
        picked: &[Picked],
        parts: &FrozenParts<B>,
    ) -> Result<(), TrainError> {
        let mut known = self.0.borrow_mut();
        let mut missing = Vec::new();
        for picked in picked {
            let of_query = known.get(&texts.examples[picked.example].query);
            let documents = picked.documents.iter().filter(|document| {
                of_query.is_none_or(|features| !features.contains_key(&document.number))
            });
            missing.extend(documents.map(|document| Picked {
                example: picked.example,
                documents: vec![*document],
            }));
        }
        // Texts are read here, since a read transaction of the store stays on its thread.
        let batches = missing
            .chunks(TOGETHER)
            .map(|pairs| texts.batch(pairs, 1, 0));
        let batches: Vec<Batch> = batches.collect::<Result<_, _>>()?;
        let found = batches.into_par_iter().map(|batch| parts.features(batch));
        let found: Vec<Vec<f32>> = found.collect::<Result<_, _>>()?;
        for (pairs, features) in missing.chunks(TOGETHER).zip(&found) {
            let width = (features.len() / pairs.len()).max(1);
            for (pair, row) in pairs.iter().zip(features.chunks_exact(width)) {
                let query = texts.examples[pair.example].query.clone();
                let of_query = known.entry(query).or_default();
                let numbers = pair.documents.iter().map(|document| document.number);
                of_query.extend(numbers.map(|number| (number, row.to_vec())));
            }
        }
        Ok(())
    }
}

impl<B: Backend> FrozenParts<B> {
    /// `[pair][feature]`.
    fn features(&self, mut batch: Batch) -> Result<Vec<f32>, TrainError> {
        if let Deep::Pieces(pairs) = &mut batch.deep {
            let sequences = &mut pairs.joined.sequences;
            sequences.states = self.encoder.states(sequences)?;
        }
        let documents = self.network.documents(&batch);
        let features = self.network.features(&batch, &documents);
        Ok(features.map(values).unwrap_or_default())
    }
}
