//! S_deep: token groups composed, kernels pooled and weighted.

use crate::RankError;
use crate::query::QueryTerm;
use crate::vector::{Compared, VectorQuery};
use becr_footprint::{CompositeQuery, GroupWeight};
use becr_model::{Deep, TermWeights};
use becr_store::Shape;

/// The deep side of a query: nothing of it depends on a document.
#[derive(Debug, Clone)]
pub(crate) struct DeepQuery {
    /// What the engine compares with documents.
    pub(crate) composite: CompositeQuery,
    /// ω·α, `[layer][term][kernel]`, as the log-sums lie.
    pub(crate) weights: Vec<f64>,
    /// What documents' vectors are compared with.
    pub(crate) vector: VectorQuery,
}

impl DeepQuery {
    /// Puts together terms whose groups are `footprints`, `[layer][vector][bits / 32]` and then, if footprints are
    /// relative, the packed vectors.
    pub(crate) fn new(
        head: &Deep,
        shape: Shape,
        terms: &[QueryTerm],
        mut footprints: Vec<u32>,
        compared: &Compared,
    ) -> Result<Self, RankError> {
        let (layers, bits) = (usize::from(shape.layers), usize::from(shape.bits));
        let words = bits / 32;
        let vectors = footprints.len() / (layers * words + usize::from(shape.vector));
        let packed = footprints.split_off(layers * vectors * words);
        let uses = terms.iter().map(|term| {
            let uses = term.groups.iter();
            uses.map(|used| GroupWeight {
                group: used.vector,
                weight: used.weight,
            })
            .collect()
        });
        let composite = CompositeQuery::from_footprints(bits, layers, &footprints, uses.collect())?;
        let mut weights = Vec::new();
        for alpha in &head.alpha {
            for term in terms {
                let row = alpha.iter().map(|a| f64::from(term.weight) * f64::from(*a));
                weights.extend(row);
            }
        }
        let last = &footprints[(layers - 1) * vectors * words..];
        Ok(Self {
            composite,
            weights,
            vector: VectorQuery::new(shape, terms, last, &packed, compared),
        })
    }

    /// Σ ω·α·log-sum.
    pub(crate) fn score(&self, log_sums: &[f32]) -> f64 {
        let cells = self.weights.iter().zip(log_sums);
        cells.map(|(weight, sum)| weight * f64::from(*sum)).sum()
    }
}

/// ω over the deep terms: `idf` has each term's inverse document frequency.
pub(crate) fn term_weights(kind: TermWeights, idf: &[f64]) -> Vec<f32> {
    match kind {
        TermWeights::Sum => vec![1.0; idf.len()],
        TermWeights::Mean => vec![1.0 / idf.len() as f32; idf.len()],
        TermWeights::Idf => {
            let sum: f64 = idf.iter().sum();
            idf.iter().map(|idf| (idf / sum) as f32).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_share_the_score() {
        let idf = [1.0, 3.0];
        assert_eq!(term_weights(TermWeights::Sum, &idf), [1.0, 1.0]);
        assert_eq!(term_weights(TermWeights::Mean, &idf), [0.5, 0.5]);
        assert_eq!(term_weights(TermWeights::Idf, &idf), [0.25, 0.75]);
        assert!(term_weights(TermWeights::Mean, &[]).is_empty());
    }
}
