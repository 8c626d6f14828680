//! A query as its token groups: what they look like at each layer, and how they compose the query's terms.

use crate::prepared::GroupFootprints;
use crate::{Error, lsh};

/// A token group's share in a query term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupWeight {
    /// Index of the token group.
    pub group: usize,
    /// Its weight. The weights of a term add up to at most 1 in absolute value.
    pub weight: f32,
}

/// A decomposed query: the composed similarity of term `i` to a document token is
/// `Σ weight · cos(token group, document token)` over the term's groups.
#[derive(Debug, Clone)]
pub struct CompositeQuery {
    layers: usize,
    groups: usize,
    terms: Vec<Vec<GroupWeight>>,
    vectors: GroupVectors,
}

/// How the token groups are represented.
#[derive(Debug, Clone)]
pub(crate) enum GroupVectors {
    Footprints(Box<GroupFootprints>),
    Raw(RawGroups),
}

/// Unit vectors, `[layer][group][dim]`.
#[derive(Debug, Clone)]
pub(crate) struct RawGroups {
    pub(crate) dim: usize,
    pub(crate) unit: Vec<f32>,
}

impl CompositeQuery {
    /// A query whose groups are footprints, `[layer][group][bits / 32]`.
    pub fn from_footprints(
        bits: usize,
        layers: usize,
        footprints: &[u32],
        terms: Vec<Vec<GroupWeight>>,
    ) -> Result<Self, Error> {
        lsh::check_bits(bits)?;
        let groups = count_groups(
            layers,
            bits / 32,
            footprints.len(),
            "query footprints, in words",
        )?;
        check_terms(groups, &terms)?;
        let prepared = GroupFootprints::new(bits, groups, footprints, &terms);
        Ok(Self {
            layers,
            groups,
            terms,
            vectors: GroupVectors::Footprints(Box::new(prepared)),
        })
    }

    /// A query whose groups are vectors, `[layer][group][dim]`, for evaluation without LSH.
    pub fn from_vectors(
        dim: usize,
        layers: usize,
        vectors: &[f32],
        terms: Vec<Vec<GroupWeight>>,
    ) -> Result<Self, Error> {
        if dim == 0 {
            return Err(Error::NoDimensions);
        }
        let groups = count_groups(layers, dim, vectors.len(), "query vectors, in numbers")?;
        check_terms(groups, &terms)?;
        let unit = vectors.chunks_exact(dim).flat_map(unit_vector).collect();
        Ok(Self {
            layers,
            groups,
            terms,
            vectors: GroupVectors::Raw(RawGroups { dim, unit }),
        })
    }

    /// The number of layers.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// The number of token groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The terms, each with its groups.
    #[must_use]
    pub fn terms(&self) -> &[Vec<GroupWeight>] {
        &self.terms
    }

    pub(crate) fn vectors(&self) -> &GroupVectors {
        &self.vectors
    }
}

fn count_groups(
    layers: usize,
    numbers_per_vector: usize,
    found: usize,
    what: &'static str,
) -> Result<usize, Error> {
    let per_group = layers * numbers_per_vector;
    if per_group == 0 {
        return Err(Error::NoLayers);
    }
    let groups = found / per_group;
    Error::check_length(what, groups * per_group, found)?;
    Ok(groups)
}

fn check_terms(groups: usize, terms: &[Vec<GroupWeight>]) -> Result<(), Error> {
    for (term, uses) in terms.iter().enumerate() {
        if uses.is_empty() {
            return Err(Error::TermWithoutGroups { term });
        }
        if let Some(unknown) = uses.iter().find(|u| u.group >= groups) {
            return Err(Error::UnknownGroup {
                term,
                group: unknown.group,
                groups,
            });
        }
        let sum: f32 = uses.iter().map(|u| u.weight.abs()).sum();
        if sum.is_nan() || sum > 1.001 {
            return Err(Error::Weights { term, sum });
        }
    }
    Ok(())
}

/// `vector` scaled to length 1; the zero vector stays what it is, so that its cosines are 0.
pub(crate) fn unit_vector(vector: &[f32]) -> impl Iterator<Item = f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
    vector.iter().map(move |x| x * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(pairs: &[(usize, f32)]) -> Vec<GroupWeight> {
        pairs
            .iter()
            .map(|&(group, weight)| GroupWeight { group, weight })
            .collect()
    }

    #[test]
    fn impossible_queries_are_refused() {
        let query = |terms| CompositeQuery::from_footprints(32, 1, &[5, 6], terms);
        assert_eq!(
            query(vec![vec![]]).unwrap_err(),
            Error::TermWithoutGroups { term: 0 }
        );
        let error = query(vec![uses(&[(2, 1.0)])]).unwrap_err();
        assert_eq!(
            error,
            Error::UnknownGroup {
                term: 0,
                group: 2,
                groups: 2
            }
        );
        assert!(matches!(
            query(vec![uses(&[(0, 0.7), (1, -0.7)])]).unwrap_err(),
            Error::Weights { term: 0, .. }
        ));
        assert!(query(vec![uses(&[(0, f32::NAN)])]).is_err());
        assert!(CompositeQuery::from_footprints(64, 2, &[0; 5], vec![]).is_err());
        assert!(CompositeQuery::from_footprints(64, 0, &[], vec![]).is_err());
        assert!(CompositeQuery::from_vectors(0, 1, &[], vec![]).is_err());
        assert!(query(vec![uses(&[(0, 0.5), (1, 0.5)])]).is_ok());
    }
}
