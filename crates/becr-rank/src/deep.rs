//! S_deep: token groups looked up and composed, kernels pooled, and the composed document-vector similarity.

use crate::RankError;
use crate::query::{GroupUse, QueryTerm};
use becr_footprint::{CompositeQuery, GroupWeight};
use becr_model::{Deep, TermWeights};
use becr_store::{Record, Shape};

/// The deep side of a query: nothing of it depends on a document.
#[derive(Debug, Clone)]
pub(crate) struct DeepQuery {
    /// What the engine compares with documents.
    pub(crate) composite: CompositeQuery,
    /// ω·α, `[layer][term][kernel]`, as the log-sums lie.
    pub(crate) weights: Vec<f64>,
    document_vector: DocumentVector,
}

impl DeepQuery {
    /// Puts together terms whose groups are `footprints`, `[layer][vector][bits / 32]` and then the extensions,
    /// `[vector][extension / 32]`.
    pub(crate) fn new(
        head: &Deep,
        shape: Shape,
        terms: &[QueryTerm],
        mut footprints: Vec<u32>,
    ) -> Result<Self, RankError> {
        let (layers, bits) = (usize::from(shape.layers), usize::from(shape.bits));
        let (words, extension) = (bits / 32, usize::from(shape.extension) / 32);
        let vectors = footprints.len() / (layers * words + extension);
        let extensions = footprints.split_off(layers * vectors * words);
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
        let document_vector = DocumentVector::new(terms, (last, words), (&extensions, extension));
        Ok(Self {
            composite,
            weights,
            document_vector,
        })
    }

    /// Σ ω·α·log-sum.
    pub(crate) fn score(&self, log_sums: &[f32]) -> f64 {
        let cells = self.weights.iter().zip(log_sums);
        cells.map(|(weight, sum)| weight * f64::from(*sum)).sum()
    }

    /// The composed document-vector similarity; `None` for a document without a token.
    pub(crate) fn document_vector(&self, record: &Record<'_>) -> Option<f32> {
        (record.tokens() > 0).then(|| self.document_vector.similarity(record.mean()))
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

/// v = Σ_i ω̂_i Σ_t w_it · cos(π·h(e_t, mean)/b) at the last layer: for each vector t, the sum of its weights over
/// the terms.
#[derive(Debug, Clone)]
struct DocumentVector {
    /// Weight and footprint, as bytes, of each vector.
    vectors: Vec<(f32, Vec<u8>)>,
    /// cos(π·h/b) by h.
    cosines: Vec<f32>,
}

impl DocumentVector {
    /// For vectors whose footprints at the last layer and extensions are given, each with its number of words.
    fn new(
        terms: &[QueryTerm],
        (last, words): (&[u32], usize),
        (extensions, extension): (&[u32], usize),
    ) -> Self {
        let total: f32 = terms.iter().map(|term| term.weight).sum();
        let bits = 32 * (words + extension);
        let whole = |(vector, footprint): (usize, &[u32])| {
            let rest = &extensions[vector * extension..][..extension];
            let words = footprint.iter().chain(rest);
            (0.0, words.flat_map(|w| w.to_le_bytes()).collect())
        };
        let footprints = last.chunks_exact(words).enumerate();
        let mut vectors: Vec<(f32, Vec<u8>)> = footprints.map(whole).collect();
        for term in terms {
            for GroupUse { vector, weight, .. } in &term.groups {
                vectors[*vector].0 += term.weight / total * weight;
            }
        }
        let cosine = |h: usize| (std::f64::consts::PI * h as f64 / bits as f64).cos() as f32;
        Self {
            vectors,
            cosines: (0..=bits).map(cosine).collect(),
        }
    }

    fn similarity(&self, mean: &[u8]) -> f32 {
        let parts = self.vectors.iter();
        parts
            .map(|(weight, vector)| weight * self.cosines[distance(vector, mean)])
            .sum()
    }
}

/// Bits in which two footprints differ.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<4>().0.iter().zip(b.as_chunks::<4>().0);
    words
        .map(|(a, b)| (u32::from_le_bytes(*a) ^ u32::from_le_bytes(*b)).count_ones() as usize)
        .sum()
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

    /// Two terms of weight 1/2. Term 0 is vector 0 (1/4) and vector 1 (3/4), term 1 is vector 1 alone. Against a mean
    /// of zeros, vector 0 differs in all 32 bits (cosine −1), vector 1 in 8 (cos(π/4) = 0.70711):
    /// 1/2·1/4·(−1) + (1/2·3/4 + 1/2)·0.70711 = 0.49372.
    #[test]
    fn the_document_vector_by_hand() {
        let used = |vector, weight| GroupUse {
            vector,
            weight,
            ..GroupUse::example()
        };
        let term = |groups| QueryTerm {
            position: 0,
            word: "w".into(),
            weight: 0.5,
            groups,
        };
        let terms = [
            term(vec![used(0, 0.25), used(1, 0.75)]),
            term(vec![used(1, 1.0)]),
        ];
        let vector = DocumentVector::new(&terms, (&[u32::MAX, 0xff00], 1), (&[], 0));
        assert!((vector.similarity(&[0; 4]) - 0.493_72).abs() < 1e-5);
        // As many bits more that say the same.
        let footprints = [u32::MAX, 0xff00];
        let vector = DocumentVector::new(&terms, (&footprints, 1), (&footprints, 1));
        assert!((vector.similarity(&[0; 8]) - 0.493_72).abs() < 1e-5);
    }
}
