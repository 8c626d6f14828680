//! Scores of a list of documents from the engine alone: `Σ term weight · Σ α[layer][kernel] · log-sum`.

use becr_footprint::{CompositeQuery, DocumentTokens, Engine, Error, Kernels, Workspace};
use rayon::prelude::*;

/// What documents are scored for and with.
pub(crate) struct Scoring<'a> {
    pub(crate) query: &'a CompositeQuery,
    pub(crate) kernels: &'a Kernels,
    /// `[layer][kernel]`.
    pub(crate) alpha: &'a [f32],
    pub(crate) term_weights: &'a [f32],
}

/// Buffers of a thread.
#[derive(Default)]
pub(crate) struct ScoringBuffers {
    work: Workspace,
    log_sums: Vec<f32>,
}

impl Scoring<'_> {
    /// Scores documents one after the other.
    pub(crate) fn score(
        &self,
        engine: &Engine,
        documents: &[DocumentTokens],
        buffers: &mut ScoringBuffers,
        scores: &mut [f32],
    ) -> Result<(), Error> {
        let ScoringBuffers { work, log_sums } = buffers;
        log_sums.resize(self.alpha.len() * self.term_weights.len(), 0.0);
        for (i, (document, score)) in documents.iter().zip(scores).enumerate() {
            let next = documents.get(i + 1);
            engine.log_sums(self.query, self.kernels, document, next, work, log_sums)?;
            *score = self.weigh(log_sums);
        }
        Ok(())
    }

    /// Scores documents with the threads of the current rayon pool.
    pub(crate) fn score_parallel(
        &self,
        engine: &Engine,
        documents: &[DocumentTokens],
        scores: &mut [f32],
    ) -> Result<(), Error> {
        // A few parts per thread, so that a thread that was held up does not hold up all.
        let parts = 4 * rayon::current_num_threads();
        let part = documents.len().div_ceil(parts).max(1);
        let documents = documents.par_chunks(part);
        documents
            .zip(scores.par_chunks_mut(part))
            .try_for_each_init(ScoringBuffers::default, |buffers, (documents, scores)| {
                self.score(engine, documents, buffers, scores)
            })
    }

    /// The score of `log_sums`, `[layer][term][kernel]`.
    fn weigh(&self, log_sums: &[f32]) -> f32 {
        let kernels = self.kernels.len();
        let layers = log_sums.chunks_exact((kernels * self.term_weights.len()).max(1));
        let mut score = 0.0;
        for (alpha, layer) in self.alpha.chunks_exact(kernels).zip(layers) {
            for (weight, sums) in self.term_weights.iter().zip(layer.chunks_exact(kernels)) {
                score += weight * alpha.iter().zip(sums).map(|(a, s)| a * s).sum::<f32>();
            }
        }
        score
    }
}
