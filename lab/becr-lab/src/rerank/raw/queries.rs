//! Queries in vectors: of token groups, or read as a whole.

use super::documents::Groups;
use becr::{Index, QueryMode, RerankAnswer};
use becr_encoder::Encoder;
use becr_model::Similarity;
use becr_rank::{QueryVectors, RankQuery, RankWorkspace, Ranker, RawQuery, RawVectors};
use rayon::prelude::*;
use std::sync::Arc;

/// Queries in vectors, in the order of the answers.
pub(super) struct RawQueries {
    ranker: Arc<Ranker>,
    queries: Vec<Option<RawQuery>>,
}

impl RawQueries {
    pub(super) fn new(
        index: &Index,
        encoder: &Encoder,
        similarity: Similarity,
        answers: &[Option<RerankAnswer>],
    ) -> anyhow::Result<Self> {
        let ranker = index.ranker()?;
        let groups = Groups::new(encoder);
        let queries = answers.par_iter().map(|answer| {
            let Some(query) = answer.as_ref().map(|answer| &answer.query) else {
                return Ok(None);
            };
            let (vectors, whole) = match query.plan().mode() {
                QueryMode::Encoded => whole(encoder, query)?,
                QueryMode::Composed => (composed(encoder, &groups, query)?, None),
            };
            let vectors = QueryVectors {
                groups: &vectors,
                whole: whole.as_deref(),
                similarity,
            };
            Ok(ranker.raw_query(query, &vectors)?)
        });
        let queries = queries.collect::<anyhow::Result<_>>()?;
        Ok(Self { ranker, queries })
    }

    /// S_deep of a document for the query of an answer.
    pub(super) fn deep(
        &self,
        answer: usize,
        query: &RankQuery,
        document: &RawVectors<'_>,
        work: &mut RankWorkspace,
    ) -> anyhow::Result<f32> {
        match &self.queries[answer] {
            Some(raw) => Ok(self.ranker.raw_deep(query, raw, document, work)?),
            None => Ok(0.0),
        }
    }
}

/// The distinct vectors of a composed query, `[layer][vector][dim]`.
fn composed(encoder: &Encoder, groups: &Groups<'_>, query: &RankQuery) -> anyhow::Result<Vec<f32>> {
    let shape = encoder.backend().shape();
    let (dim, layers, count) = (shape.dim, shape.layers.len(), query.vectors());
    let mut vectors = vec![0.0; layers * count * dim];
    for used in query.terms().iter().flat_map(|term| &term.groups) {
        let group = groups.get(&used.group)?;
        let slots = group.len() / (layers * dim);
        for layer in 0..layers {
            let from = (layer * slots + usize::from(used.second)) * dim;
            let to = (layer * count + used.vector) * dim;
            vectors[to..to + dim].copy_from_slice(&group[from..from + dim]);
        }
    }
    Ok(vectors)
}

/// The vectors of a whole query's terms, `[layer][term][dim]`, and of the whole query.
fn whole(encoder: &Encoder, query: &RankQuery) -> anyhow::Result<(Vec<f32>, Option<Vec<f32>>)> {
    let read = encoder.raw_query(query.text())?;
    let shape = encoder.backend().shape();
    let dim = shape.dim;
    let mut vectors = Vec::with_capacity(shape.layers.len() * query.terms().len() * dim);
    for layer in read.vectors.chunks_exact((read.words * dim).max(1)) {
        for term in query.terms() {
            vectors.extend_from_slice(&layer[term.position * dim..][..dim]);
        }
    }
    Ok((vectors, Some(read.mean)))
}
