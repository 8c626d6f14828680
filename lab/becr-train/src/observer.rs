//! What a training tells while it runs.

use crate::mixer::HeldOut;
use serde::{Deserialize, Serialize};

/// A step of the optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Steps done, this one included.
    pub step: usize,
    /// Steps in all, unless training stops early.
    pub steps: usize,
    /// Mean loss of the step's queries.
    pub loss: f64,
    /// Learning rate of the head.
    pub rate: f64,
    /// Length of the gradient before it was clipped.
    pub gradient: f64,
    /// Seconds since training began.
    pub seconds: f64,
}

/// A validation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Validated {
    /// Steps done.
    pub step: usize,
    /// Mean nDCG@10 of the re-ranked validation queries.
    pub ndcg: f64,
    /// The best so far, this one included.
    pub best: f64,
    /// Seconds since training began.
    pub seconds: f64,
}

/// Is told what happens; a progress bar, say. Every method has a default that does nothing.
pub trait Observer {
    /// Features are measured or prepared: `done` queries of `all`.
    fn preparing(&mut self, done: usize, all: usize) {
        let _ = (done, all);
    }

    /// A step was taken.
    fn step(&mut self, step: &Step) {
        let _ = step;
    }

    /// The validation queries were re-ranked.
    fn validated(&mut self, validated: &Validated) {
        let _ = validated;
    }

    /// A mixer was measured on queries held out.
    fn held_out(&mut self, held_out: &HeldOut) {
        let _ = held_out;
    }

    /// Something worth knowing: a resumed run, queries without a deep term.
    fn note(&mut self, message: &str) {
        let _ = message;
    }
}

/// Watches nothing.
impl Observer for () {}
