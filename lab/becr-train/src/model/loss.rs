//! What is minimised.

use super::place::Place;
use crate::Loss;
use crate::batch::Batch;
use burn::tensor::activation::{log_sigmoid, log_softmax};
use burn::tensor::{Tensor, backend::Backend};

/// Added to the score of a document that is not there: nothing is learned from it.
const ABSENT: f32 = -1e4;

impl Loss {
    /// The mean over the queries of a batch, `[1]`, for scores `[query, candidate]`.
    pub(crate) fn of<B: Backend>(
        self,
        scores: Tensor<B, 2>,
        batch: &Batch,
        place: &Place<B>,
    ) -> Tensor<B, 1> {
        let shape = [batch.queries(), batch.candidates];
        let present = |there: f32, absent: f32| {
            let pick = |&present: &bool| if present { there } else { absent };
            place.tensor(batch.present.iter().map(pick).collect(), shape)
        };
        match self {
            Self::Softmax => {
                let logs = log_softmax(scores + present(0.0, ABSENT), 1);
                logs.narrow(1, 0, 1).mean().neg()
            }
            Self::Pairwise => {
                let others = shape[1] - 1;
                let better = scores.clone().narrow(1, 0, 1) - scores.narrow(1, 1, others);
                let present = present(1.0, 0.0).narrow(1, 1, others);
                let count = present.clone().sum_dim(1).clamp_min(1.0);
                let losses = log_sigmoid(better).neg() * present;
                (losses.sum_dim(1) / count).mean()
            }
        }
    }
}
