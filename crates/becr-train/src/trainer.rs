//! The door: an index, examples and options in, a head out.

use crate::{Example, Observer, TrainError, TrainOptions, Validation};
use becr_model::Model;
use becr_store::Store;
use std::path::Path;

/// What a training works on.
pub struct Trainer<'a> {
    /// The model whose encoder made the index.
    pub model: &'a Model,
    /// The index's store, with footprints, token groups, statistics and, to train the encoder, texts.
    pub store: &'a Store,
    /// Checkpoints, log and curves go here; a training that was interrupted goes on from here.
    pub directory: &'a Path,
}

/// What a training made.
#[derive(Debug, Clone)]
pub struct Trained {
    /// Mean nDCG@10 of the best validation.
    pub ndcg: f64,
    /// The step of the best validation, whose weights these are.
    pub step: usize,
    /// Steps done in all.
    pub steps: usize,
}

impl Trainer<'_> {
    /// Trains, or goes on training.
    pub fn run(
        &self,
        examples: &[Example],
        validation: &Validation,
        options: &TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<Trained, TrainError> {
        let _ = (examples, validation, options, observer);
        Err(TrainError::Device("to come".into()))
    }
}
