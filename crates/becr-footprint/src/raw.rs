//! Raw vectors in place of footprints, for evaluation without LSH.

use crate::query::{RawGroups, unit_vector};
use crate::{Error, query::GroupWeight};

/// A document's token vectors, `[layer][token][dim]`, scaled to length 1.
#[derive(Debug, Clone)]
pub struct VectorDocument {
    layers: usize,
    tokens: usize,
    dim: usize,
    unit: Vec<f32>,
}

impl VectorDocument {
    /// Takes the vectors of a document, `[layer][token][dim]`.
    pub fn new(layers: usize, tokens: usize, dim: usize, vectors: &[f32]) -> Result<Self, Error> {
        if dim == 0 {
            return Err(Error::NoDimensions);
        }
        Error::check_length(
            "document vectors, in numbers",
            layers * tokens * dim,
            vectors.len(),
        )?;
        let unit = vectors.chunks_exact(dim).flat_map(unit_vector).collect();
        Ok(Self {
            layers,
            tokens,
            dim,
            unit,
        })
    }

    /// The number of layers.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// The number of tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The dimension of the vectors.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Writes the similarities of the tokens of `layer` to a term into `out`.
    pub(crate) fn similarities(
        &self,
        layer: usize,
        groups: &RawGroups,
        groups_per_layer: usize,
        uses: &[GroupWeight],
        out: &mut [f32],
    ) {
        let dim = self.dim;
        let vectors = &self.unit[layer * self.tokens * dim..][..self.tokens * dim];
        out.fill(0.0);
        for used in uses {
            let start = (layer * groups_per_layer + used.group) * dim;
            let group = &groups.unit[start..start + dim];
            for (out, token) in out.iter_mut().zip(vectors.chunks_exact(dim)) {
                *out += used.weight * crate::lsh::dot(group, token);
            }
        }
    }
}
