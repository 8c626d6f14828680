//! S_deep of raw vectors, to tell what footprints cost.

use crate::query::QueryTerm;
use crate::{RankError, RankQuery, RankWorkspace, Ranker};
use becr_footprint::lsh::dot;
use becr_footprint::{CompositeQuery, DocumentTokens, GroupWeight, VectorDocument};
use becr_model::{QueryVector, Similarity};

/// A document in vectors.
pub struct RawVectors<'a> {
    /// Its tokens.
    pub tokens: &'a VectorDocument,
    /// Its mean at the last layer.
    pub mean: &'a [f32],
}

/// The vectors that a query is made of.
pub struct QueryVectors<'a> {
    /// Those of the query's distinct vectors ([`GroupUse::vector`](crate::GroupUse)), `[layer][vector][dim]`.
    pub groups: &'a [f32],
    /// The vector of the whole query at the last layer, where the encoder read it as a whole.
    pub whole: Option<&'a [f32]>,
    /// How the vectors of a term are joined: cosines are added, or vectors are and their sum has one cosine.
    pub similarity: Similarity,
}

/// The deep side of a query in vectors.
pub struct RawQuery {
    composite: CompositeQuery,
    /// What the documents' means are compared with, `[vector][dim]` of length 1, and the weight of each.
    means: Vec<(f32, Vec<f32>)>,
}

impl Ranker {
    /// A query whose cosines are those of vectors; `None` for one without terms.
    pub fn raw_query(
        &self,
        query: &RankQuery,
        vectors: &QueryVectors<'_>,
    ) -> Result<Option<RawQuery>, RankError> {
        let (layers, count) = (usize::from(self.shape.layers), query.vectors());
        if query.deep.is_none() || layers * count == 0 {
            return Ok(None);
        }
        let dim = vectors.groups.len() / (layers * count);
        let terms = query.terms();
        let (groups, uses) = match vectors.similarity {
            Similarity::SumOfCosines => (vectors.groups.to_vec(), uses(terms)),
            Similarity::CosineOfSum => {
                let sums = sums(terms, vectors.groups, count, dim);
                let own = |group| vec![GroupWeight { group, weight: 1.0 }];
                (sums, (0..terms.len()).map(own).collect())
            }
        };
        let last = &groups[(layers - 1) * groups.len() / layers..];
        let means = self.means(query, last, dim, &uses, vectors.whole);
        Ok(Some(RawQuery {
            composite: CompositeQuery::from_vectors(dim, layers, &groups, uses)?,
            means,
        }))
    }

    /// What documents' means are compared with: every vector of the last layer by its weight in the query, or one vector.
    fn means(
        &self,
        query: &RankQuery,
        last: &[f32],
        dim: usize,
        uses: &[Vec<GroupWeight>],
        whole: Option<&[f32]>,
    ) -> Vec<(f32, Vec<f32>)> {
        let is_whole = query.plan.query_vector == QueryVector::Whole;
        if let (true, Some(whole)) = (is_whole, whole) {
            return vec![(1.0, unit(whole))];
        }
        let total: f32 = query.terms().iter().map(|term| term.weight).sum();
        let mut means: Vec<(f32, Vec<f32>)> = last
            .chunks_exact(dim)
            .map(|vector| (0.0, unit(vector)))
            .collect();
        for (term, uses) in query.terms().iter().zip(uses) {
            for used in uses {
                means[used.group].0 += term.weight / total * used.weight;
            }
        }
        // Vectors can be added where an index keeps them; footprints cannot, and are compared one by one.
        if is_whole && self.shape.is_relative() {
            let mut sum = vec![0.0; dim];
            for (weight, vector) in &means {
                let parts = sum.iter_mut().zip(vector);
                parts.for_each(|(sum, x)| *sum += weight * x);
            }
            return vec![(1.0, unit(&sum))];
        }
        means
    }

    /// S_deep with cosines of vectors in the place of estimates from footprints.
    pub fn raw_deep(
        &self,
        query: &RankQuery,
        raw: &RawQuery,
        document: &RawVectors<'_>,
        work: &mut RankWorkspace,
    ) -> Result<f32, RankError> {
        let Some(deep) = query.deep.as_ref() else {
            return Ok(0.0);
        };
        let buffers = &mut work.buffers;
        buffers.log_sums.resize(deep.weights.len(), 0.0);
        self.engine.log_sums(
            &raw.composite,
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
            let mean = unit(document.mean);
            let cosines = raw.means.iter();
            let similarity: f32 = cosines
                .map(|(weight, vector)| weight * dot(vector, &mean))
                .sum();
            score += f64::from(feature.contribution(similarity));
        }
        Ok(score as f32)
    }
}

fn uses(terms: &[QueryTerm]) -> Vec<Vec<GroupWeight>> {
    let uses = terms.iter().map(|term| {
        let groups = term.groups.iter().map(|used| GroupWeight {
            group: used.vector,
            weight: used.weight,
        });
        groups.collect()
    });
    uses.collect()
}

/// The composed vector of every term, `[layer][term][dim]`.
fn sums(terms: &[QueryTerm], vectors: &[f32], count: usize, dim: usize) -> Vec<f32> {
    let mut sums = Vec::new();
    for layer in vectors.chunks_exact(count * dim) {
        for term in terms {
            let start = sums.len();
            sums.resize(start + dim, 0.0);
            for used in &term.groups {
                let vector = &layer[used.vector * dim..][..dim];
                let parts = sums[start..].iter_mut().zip(vector);
                parts.for_each(|(sum, x)| *sum += used.weight * x);
            }
        }
    }
    sums
}

/// A vector of length 1; zeros stay.
fn unit(vector: &[f32]) -> Vec<f32> {
    let length = dot(vector, vector).sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    vector.iter().map(|x| scale * x).collect()
}
