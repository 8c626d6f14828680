//! S_deep of raw vectors, to tell what footprints cost.

use crate::{RankError, RankQuery, RankWorkspace, Ranker};
use becr_footprint::lsh::dot;
use becr_footprint::{CompositeQuery, DocumentTokens, GroupWeight, VectorDocument};

/// A document in vectors.
pub struct RawVectors<'a> {
    /// Its tokens.
    pub tokens: &'a VectorDocument,
    /// Its mean at the last layer.
    pub mean: &'a [f32],
}

impl Ranker {
    /// S_deep with cosines of vectors in the place of estimates from footprints. `vectors` are those of the query's
    /// distinct vectors ([`GroupUse::vector`](crate::GroupUse)), `[layer][vector][dim]`.
    pub fn raw_deep(
        &self,
        query: &RankQuery,
        vectors: &[f32],
        document: &RawVectors<'_>,
        work: &mut RankWorkspace,
    ) -> Result<f32, RankError> {
        let Some(deep) = query.deep.as_ref() else {
            return Ok(0.0);
        };
        let (layers, dim) = (usize::from(self.shape.layers), document.tokens.dim());
        let uses = query.terms().iter().map(|term| {
            let groups = term.groups.iter().map(|used| GroupWeight {
                group: used.vector,
                weight: used.weight,
            });
            groups.collect()
        });
        let composite = CompositeQuery::from_vectors(dim, layers, vectors, uses.collect())?;
        let buffers = &mut work.buffers;
        buffers.log_sums.resize(deep.weights.len(), 0.0);
        self.engine.log_sums(
            &composite,
            &self.kernels,
            &DocumentTokens::Vectors(document.tokens),
            None,
            &mut buffers.engine,
            &mut buffers.log_sums,
        )?;
        let mut score = deep.score(&buffers.log_sums);
        if let Some(feature) = &self.head.deep.document_vector
            && document.tokens.tokens() > 0
        {
            let last = &vectors[(layers - 1) * composite.groups() * dim..];
            let total: f32 = query.terms().iter().map(|term| term.weight).sum();
            let mut similarity = 0.0;
            for term in query.terms() {
                for used in &term.groups {
                    let vector = &last[used.vector * dim..][..dim];
                    similarity += term.weight / total * used.weight * cosine(vector, document.mean);
                }
            }
            score += f64::from(feature.contribution(similarity));
        }
        Ok(score as f32)
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let norms = dot(a, a).sqrt() * dot(b, b).sqrt();
    if norms > 0.0 { dot(a, b) / norms } else { 0.0 }
}
