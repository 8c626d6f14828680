//! Hidden states of joined sequences by our own code for CPUs.

use crate::TrainError;
use crate::baseline::directory::Baseline;
use crate::batch::Sequences;
use becr_encoder::{Backend, Batch, NativeEncoder, double_vocabulary};

/// The encoder of BERT or CEDR-KNRM.
pub(super) struct NativeStates {
    encoder: NativeEncoder,
    /// Added to the ids of tokens of type 1.
    second: u32,
}

impl NativeStates {
    pub(super) fn new(baseline: &Baseline) -> Result<Self, TrainError> {
        let (kind, model) = (baseline.config.kind, baseline.encoder_model()?);
        let mut config = kind.reads(&model.config);
        let mut weights = model.weights.clone();
        let second = double_vocabulary(&mut config, &mut weights).ok_or_else(|| {
            TrainError::option("kind", format!("{kind} needs a model of two token types"))
        })?;
        Ok(Self {
            encoder: NativeEncoder::new(&config, weights)?,
            second,
        })
    }

    /// `[layer][sequence][token][dim]`, 0 for padding.
    pub(super) fn states(&self, sequences: &Sequences) -> Result<Vec<Vec<f32>>, TrainError> {
        let Sequences {
            length,
            ids,
            tokens,
            second,
            ..
        } = sequences;
        let rows = ids.chunks_exact(*length).zip(tokens).zip(second);
        let batch: Batch = rows
            .map(|((ids, &tokens), &second)| {
                let typed = move |(at, &id): (usize, &i32)| match at < second {
                    true => id as u32,
                    false => id as u32 + self.second,
                };
                ids[..tokens].iter().enumerate().map(typed)
            })
            .collect();
        let found = self.encoder.hidden_states(&batch)?;
        let dim = found.dim;
        let padded = found.layers.iter().map(|layer| {
            let mut padded = vec![0.0; ids.len() * dim];
            let rows = padded.chunks_exact_mut(length * dim);
            for (row, tokens) in rows.zip(batch.sequences()) {
                let vectors = &layer[tokens.start * dim..tokens.end * dim];
                row[..vectors.len()].copy_from_slice(vectors);
            }
            padded
        });
        Ok(padded.collect())
    }
}
