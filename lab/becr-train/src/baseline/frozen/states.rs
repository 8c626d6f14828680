//! The hidden states that ColBERT projects, by sequence.

use super::{FrozenParts, TOGETHER};
use crate::TrainError;
use crate::batch::{Batch, Deep, Sequences};
use burn::tensor::backend::Backend;
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;

/// Tokens without padding, and how many of them others attend to.
type Sequence = (Vec<i32>, usize);

/// `[token][dim]` of each sequence at the last layer.
#[derive(Default)]
pub(super) struct States(RefCell<HashMap<Sequence, Vec<f32>>>);

impl States {
    /// A batch with the hidden states of its sequences; those that are not known yet are computed.
    pub(super) fn recall<B: Backend>(
        &self,
        mut batch: Batch,
        parts: &FrozenParts<B>,
    ) -> Result<Batch, TrainError> {
        if let Deep::Late(pairs) = &mut batch.deep {
            self.add(&mut pairs.queries, parts)?;
            self.add(&mut pairs.documents, parts)?;
        }
        Ok(batch)
    }

    fn add<B: Backend>(
        &self,
        sequences: &mut Sequences,
        parts: &FrozenParts<B>,
    ) -> Result<(), TrainError> {
        let asked: Vec<Sequence> = sequences.unpadded().collect();
        self.complete(&asked, parts)?;
        let known = self.0.borrow();
        let found: Vec<&[f32]> = asked
            .iter()
            .map(|sequence| known.get(sequence).map_or(&[][..], Vec::as_slice))
            .collect();
        let lengths = asked.iter().map(|(ids, _)| ids.len().max(1));
        let dim = found
            .iter()
            .zip(lengths)
            .map(|(states, n)| states.len() / n);
        let row = sequences.length * dim.max().unwrap_or(0);
        let mut padded = vec![0.0; asked.len() * row];
        for (row, states) in padded.chunks_exact_mut(row.max(1)).zip(found) {
            row[..states.len()].copy_from_slice(states);
        }
        sequences.states = vec![padded];
        Ok(())
    }

    /// Computes what is not known yet, those of about the same length together.
    fn complete<B: Backend>(
        &self,
        asked: &[Sequence],
        parts: &FrozenParts<B>,
    ) -> Result<(), TrainError> {
        let mut known = self.0.borrow_mut();
        let missing = asked.iter().filter(|asked| !known.contains_key(*asked));
        let mut missing: Vec<Sequence> = missing.cloned().collect();
        missing.sort_by(|a, b| (a.0.len(), a).cmp(&(b.0.len(), b)));
        missing.dedup();
        let found = missing
            .par_chunks(TOGETHER)
            .map(|sequences| parts.last_states(sequences));
        let found: Vec<Vec<Vec<f32>>> = found.collect::<Result<_, _>>()?;
        known.extend(missing.into_iter().zip(found.into_iter().flatten()));
        Ok(())
    }
}

impl Sequences {
    /// The sequences as they were before they were padded with 0.
    fn unpadded(&self) -> impl Iterator<Item = Sequence> {
        let rows = self.ids.chunks_exact(self.length).zip(&self.tokens);
        rows.map(|(ids, &attended)| {
            let last = ids.iter().rposition(|id| *id != 0);
            let length = last.map_or(0, |last| last + 1).max(attended);
            (ids[..length].to_vec(), attended)
        })
    }
}

impl<B: Backend> FrozenParts<B> {
    /// `[token][dim]` of each sequence at the last layer.
    fn last_states(&self, sequences: &[Sequence]) -> Result<Vec<Vec<f32>>, TrainError> {
        let length = sequences.iter().map(|(ids, _)| ids.len()).max();
        let mut padded = Sequences {
            length: length.unwrap_or(0).max(1),
            ..Sequences::default()
        };
        for (ids, attended) in sequences {
            padded.ids.extend(ids);
            padded
                .ids
                .resize(padded.ids.len() + padded.length - ids.len(), 0);
            padded.tokens.push(*attended);
        }
        let last = self.encoder.states(&padded)?.pop().unwrap_or_default();
        let dim = last.len() / padded.ids.len().max(1);
        let rows = last.chunks_exact((padded.length * dim).max(1));
        let rows = rows.zip(sequences);
        Ok(rows
            .map(|(row, (ids, _))| row[..ids.len() * dim].to_vec())
            .collect())
    }
}
