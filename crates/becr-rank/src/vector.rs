//! The document's vector: its composed similarity to a query, and what it adds to footprints that are relative to it.

use crate::RankError;
use crate::query::{GroupUse, QueryTerm};
use becr_footprint::lsh::dot;
use becr_footprint::{DocumentTokens, Relative, unpack};
use becr_model::QueryVector;
use becr_store::{Record, Shape, u32s};

/// A query as documents' vectors are compared with it: v = Σ_i ω̂_i Σ_t w_it · cos(e_t, mean) at the last layer, or the
/// cosine of one vector of the whole query.
#[derive(Debug, Clone)]
pub(crate) enum VectorQuery {
    Footprints(Footprints),
    Packed(Packed),
}

/// What documents' vectors are compared with.
#[derive(Debug, Clone)]
pub(crate) enum Compared {
    /// Every term's vector.
    Terms,
    /// Their sum by ω, brought to length 1. Footprints cannot be added: there it is the same as `Terms`.
    Sum,
    /// This vector, as records have documents' means: packed, or its footprint.
    Vector(Vec<u32>),
}

impl Compared {
    /// `whole` is the vector of the whole query, if the encoder or a mixer gave one.
    pub(crate) fn of(query_vector: QueryVector, whole: Option<Vec<u32>>) -> Self {
        match (query_vector, whole) {
            (QueryVector::Terms, _) => Self::Terms,
            (QueryVector::Whole, Some(whole)) => Self::Vector(whole),
            (QueryVector::Whole, None) => Self::Sum,
        }
    }
}

/// Cosines estimated from footprints.
#[derive(Debug, Clone)]
pub(crate) struct Footprints {
    /// Weight, summed over the terms, and footprint, as bytes, of each vector.
    vectors: Vec<(f32, Vec<u8>)>,
    /// cos(π·h/b) by h.
    cosines: Vec<f32>,
    /// The footprint of the whole query's vector, if that is what counts.
    whole: Option<Vec<u8>>,
}

/// Cosines of packed vectors.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    dim: usize,
    /// ω̂.
    weights: Vec<f32>,
    /// Σ_t w_it · e_t, `[term][dim]`.
    terms: Vec<f32>,
    /// The vector of the whole query, if that is what counts.
    whole: Option<Vec<f32>>,
}

/// What a document's vector has to do with a query, while it is the document's turn.
#[derive(Default)]
pub(crate) struct Related {
    vector: Vec<f32>,
    /// Of each term to the vector.
    similarities: Vec<f32>,
    /// The same, times the share.
    offsets: Vec<f32>,
}

impl VectorQuery {
    /// For terms whose vectors have these `footprints` at the last layer and, if documents' footprints are relative,
    /// these `packed` vectors.
    pub(crate) fn new(
        shape: Shape,
        terms: &[QueryTerm],
        footprints: &[u32],
        packed: &[u32],
        compared: &Compared,
    ) -> Self {
        let total: f32 = terms.iter().map(|term| term.weight).sum();
        let weights: Vec<f32> = terms.iter().map(|term| term.weight / total).collect();
        match shape.is_relative() {
            true => {
                let mut query = Packed::new(shape, terms, weights, packed);
                query.whole = query.whole(compared);
                Self::Packed(query)
            }
            false => {
                let mut query = Footprints::new(shape, terms, &weights, footprints);
                if let Compared::Vector(footprint) = compared {
                    query.whole = Some(bytes(footprint));
                }
                Self::Footprints(query)
            }
        }
    }

    /// Appends the document's vector to `means`, once the document has been related: unpacked, or the signs that its
    /// footprint has, so that vectors of either kind have length 1.
    pub(crate) fn keep_mean(&self, record: &Record<'_>, related: &Related, means: &mut Means) {
        match self {
            Self::Packed(query) => {
                means.dim = query.dim;
                means.values.extend_from_slice(&related.vector);
            }
            Self::Footprints(query) => query.keep_signs(record.mean(), means),
        }
    }

    /// The same of a mean as its record has it.
    pub(crate) fn keep_bytes(&self, mean: &[u8], means: &mut Means) {
        match self {
            Self::Packed(query) => {
                means.dim = query.dim;
                let start = means.values.len();
                means.values.resize(start + query.dim, 0.0);
                unpack(u32s(mean), &mut means.values[start..]);
            }
            Self::Footprints(query) => query.keep_signs(mean, means),
        }
    }

    /// The vector whose product with a document's is the similarity.
    pub(crate) fn direction(&self) -> Option<Vec<f32>> {
        match self {
            Self::Packed(query) => Some(query.whole.clone().unwrap_or_else(|| query.sum())),
            Self::Footprints(_) => None,
        }
    }

    /// Compares a document's vector with the query.
    pub(crate) fn relate(&self, record: &Record<'_>, related: &mut Related) {
        if let Self::Packed(query) = self {
            query.relate(record, related);
        }
    }

    /// The document as the engine takes it, once it has been related.
    pub(crate) fn document<'a>(
        &self,
        document: DocumentTokens<'a>,
        record: &Record<'a>,
        related: &'a Related,
    ) -> Result<DocumentTokens<'a>, RankError> {
        Ok(match (self, document) {
            (Self::Packed(_), DocumentTokens::Footprints(footprints)) => {
                DocumentTokens::Footprints(footprints.relative(Relative {
                    offsets: &related.offsets,
                    lengths: record.lengths(),
                })?)
            }
            (_, document) => document,
        })
    }

    /// v, once the document has been related; `None` for a document without a token.
    pub(crate) fn similarity(&self, record: &Record<'_>, related: &Related) -> Option<f32> {
        (record.tokens() > 0).then(|| match self {
            Self::Footprints(query) => query.similarity(record.mean()),
            Self::Packed(query) => match &query.whole {
                Some(whole) => dot(whole, &related.vector),
                None => {
                    let parts = query.weights.iter().zip(&related.similarities);
                    parts.map(|(weight, similarity)| weight * similarity).sum()
                }
            },
        })
    }
}

/// The vectors of a list of documents.
#[derive(Debug, Default)]
pub(crate) struct Means {
    dim: usize,
    values: Vec<f32>,
    are_signs: bool,
}

impl Means {
    /// The cosine of two of them, by their places.
    pub(crate) fn cosine(&self, a: usize, b: usize) -> f32 {
        let mean = |at: usize| &self.values[at * self.dim..][..self.dim];
        let product = dot(mean(a), mean(b));
        match self.are_signs {
            // 1 − 2h/b of the footprints; the cosine is cos(π·h/b).
            true => (std::f32::consts::FRAC_PI_2 * product).sin(),
            false => product,
        }
    }
}

fn bytes(footprint: &[u32]) -> Vec<u8> {
    footprint.iter().flat_map(|w| w.to_le_bytes()).collect()
}

impl Footprints {
    fn new(shape: Shape, terms: &[QueryTerm], weights: &[f32], footprints: &[u32]) -> Self {
        let bits = usize::from(shape.bits);
        let mut vectors: Vec<(f32, Vec<u8>)> = footprints
            .chunks_exact(bits / 32)
            .map(|footprint| (0.0, bytes(footprint)))
            .collect();
        for (term, term_weight) in terms.iter().zip(weights) {
            for GroupUse { vector, weight, .. } in &term.groups {
                vectors[*vector].0 += term_weight * weight;
            }
        }
        let cosine = |h: usize| (std::f64::consts::PI * h as f64 / bits as f64).cos() as f32;
        Self {
            vectors,
            cosines: (0..=bits).map(cosine).collect(),
            whole: None,
        }
    }

    fn keep_signs(&self, mean: &[u8], means: &mut Means) {
        means.dim = self.cosines.len() - 1;
        means.are_signs = true;
        let unit = 1.0 / (means.dim as f32).sqrt();
        for byte in mean {
            let sign = |bit: u32| if byte >> bit & 1 == 1 { unit } else { -unit };
            means.values.extend((0..8).map(sign));
        }
    }

    fn similarity(&self, mean: &[u8]) -> f32 {
        if let Some(whole) = &self.whole {
            return self.cosines[distance(whole, mean)];
        }
        let parts = self.vectors.iter();
        parts
            .map(|(weight, vector)| weight * self.cosines[distance(vector, mean)])
            .sum()
    }
}

impl Packed {
    fn new(shape: Shape, terms: &[QueryTerm], weights: Vec<f32>, packed: &[u32]) -> Self {
        let words = usize::from(shape.vector);
        // A hidden size is a multiple of 8 where footprints are relative: there is no padding.
        let dim = 8 * (words - 1);
        let mut vector = vec![0.0; dim];
        let mut sums = vec![0.0; terms.len() * dim];
        for (term, sum) in terms.iter().zip(sums.chunks_exact_mut(dim)) {
            for used in &term.groups {
                let packed = &packed[used.vector * words..][..words];
                unpack(packed.iter().copied(), &mut vector);
                let parts = sum.iter_mut().zip(&vector);
                parts.for_each(|(sum, x)| *sum += used.weight * x);
            }
        }
        Self {
            dim,
            weights,
            terms: sums,
            whole: None,
        }
    }

    /// The terms' vectors, added up by ω̂.
    fn sum(&self) -> Vec<f32> {
        let mut sum = vec![0.0; self.dim];
        for (weight, term) in self.weights.iter().zip(self.terms.chunks_exact(self.dim)) {
            let parts = sum.iter_mut().zip(term);
            parts.for_each(|(sum, x)| *sum += weight * x);
        }
        sum
    }

    /// The vector of the whole query, of length 1 or, if it has no direction, 0.
    fn whole(&self, compared: &Compared) -> Option<Vec<f32>> {
        let mut whole = vec![0.0; self.dim];
        match compared {
            Compared::Terms => return None,
            Compared::Vector(packed) => unpack(packed.iter().copied(), &mut whole),
            Compared::Sum => {
                whole = self.sum();
                let length = dot(&whole, &whole).sqrt();
                if length > 0.0 {
                    whole.iter_mut().for_each(|x| *x /= length);
                }
            }
        }
        Some(whole)
    }

    fn relate(&self, record: &Record<'_>, related: &mut Related) {
        let Related {
            vector,
            similarities,
            offsets,
        } = related;
        vector.resize(self.dim, 0.0);
        unpack(u32s(record.mean()), vector);
        similarities.clear();
        similarities.extend(
            self.terms
                .chunks_exact(self.dim)
                .map(|term| dot(term, vector)),
        );
        offsets.clear();
        offsets.extend(similarities.iter().map(|s| record.share() * s));
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

    /// Two terms of weight 1/2. Term 0 is vector 0 (1/4) and vector 1 (3/4), term 1 is vector 1 alone.
    fn terms() -> [QueryTerm; 2] {
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
        [
            term(vec![used(0, 0.25), used(1, 0.75)]),
            term(vec![used(1, 1.0)]),
        ]
    }

    /// Against a mean of zeros, vector 0 differs in all 32 bits (cosine −1), vector 1 in 8 (cos(π/4) = 0.70711):
    /// 1/2·1/4·(−1) + (1/2·3/4 + 1/2)·0.70711 = 0.49372.
    #[test]
    fn footprints_by_hand() {
        let vector = Footprints::new(
            Shape::new(1, 32),
            &terms(),
            &[0.5, 0.5],
            &[u32::MAX, 0xff00],
        );
        assert!((vector.similarity(&[0; 4]) - 0.493_72).abs() < 1e-5);
    }

    /// Vector 0 is (1, …, 1)/√8, vector 1 the same with its last half turned round, so that their cosine is 0.
    #[test]
    fn packed_vectors_by_hand() {
        let shape = Shape {
            vector: 2,
            ..Shape::new(1, 32)
        };
        let vectors = [[1.0; 8], [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]];
        let packed: Vec<u32> = vectors
            .iter()
            .flat_map(|v| becr_footprint::pack(v))
            .collect();
        let query = Packed::new(shape, &terms(), vec![0.5, 0.5], &packed);
        let to = |vector: [f32; 8]| {
            query
                .terms
                .chunks_exact(8)
                .map(move |term| dot(term, &vector))
        };
        let unit = vectors.map(|vector| vector.map(|x: f32| x / 8.0_f32.sqrt()));
        for (found, expected) in to(unit[0]).chain(to(unit[1])).zip([0.25, 0.0, 0.75, 1.0]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
}
