//! A query as its token groups: what they look like at each layer, and how they compose the query's terms.

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
    Footprints(GroupFootprints),
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
            vectors: GroupVectors::Footprints(prepared),
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

/// Footprints prepared for counting rows of tiles.
///
/// The Hamming distance of a document token `d` to a group `q` is `|d| + |q| − 2·|d ∧ q|`, and `|d ∧ q|` is the
/// sum of the rows whose bit is set in `q`. When more than half of the bits are set, the complement `¬q` is summed
/// instead: `cos(π·h(d,q)/b) = −cos(π·h(d,¬q)/b)`, so only the weight changes its sign.
#[derive(Debug, Clone)]
pub(crate) struct GroupFootprints {
    pub(crate) bits: usize,
    groups: usize,
    /// `[layer][group]`.
    rows: Vec<RowList>,
    /// Per layer, the rows that the first use's list leaves out: both together count `|d|`.
    others: Vec<RowList>,
    /// The uses of groups by terms three at a time, `[layer][triple]`.
    triples: Vec<Triple>,
    triples_per_layer: usize,
    /// Weighted cosines, one table per use of a group by a term, in the order of the terms.
    tables: Vec<CosineTable>,
    /// True if every count and distance fits a byte (256 itself is taken as 255).
    pub(crate) narrow: bool,
    /// The lowest of the 128 distances around `b/2`.
    pub(crate) lowest: i8,
}

/// The rows to sum for a group.
#[derive(Debug, Clone)]
pub(crate) struct RowList {
    pub(crate) rows: Vec<u16>,
    /// True if these are the clear bits of the group.
    pub(crate) complement: bool,
}

/// Three uses of groups at a layer, whose rows are summed together.
///
/// The rows fall into eight classes by which of the groups they belong to: row `i` is in class
/// `q₀[i] + 2·q₁[i] + 4·q₂[i]`. Each class is summed once; the sum of a group is that of its four classes.
#[derive(Debug, Clone)]
pub(crate) struct Triple {
    /// All rows, class by class.
    rows: Vec<u16>,
    /// Where the classes begin, and where the last one ends.
    bounds: [u16; 9],
    /// Bits set in each group.
    pub(crate) set: [u16; 3],
    /// True if no class has more than 63 rows.
    pub(crate) is_even: bool,
}

impl Triple {
    fn new(footprints: [&[u32]; 3]) -> Self {
        let bit = |footprint: &[u32], i: usize| (footprint[i / 32] >> (i % 32)) & 1;
        let class = |i: usize| {
            let [a, b, c] = footprints.map(|footprint| bit(footprint, i));
            a + 2 * b + 4 * c
        };
        let bits = 32 * footprints[0].len();
        let mut rows = Vec::with_capacity(bits);
        let mut bounds = [0; 9];
        for wanted in 0..8 {
            rows.extend((0..bits as u16).filter(|&i| class(i.into()) == wanted));
            bounds[wanted as usize + 1] = rows.len() as u16;
        }
        Self {
            rows,
            bounds,
            is_even: bounds.windows(2).all(|ends| ends[1] - ends[0] < 64),
            set: footprints.map(|f| f.iter().map(|w| w.count_ones() as u16).sum()),
        }
    }

    /// The rows of a class.
    #[inline(always)]
    pub(crate) fn class(&self, class: usize) -> &[u16] {
        &self.rows[usize::from(self.bounds[class])..usize::from(self.bounds[class + 1])]
    }
}

/// `weight · cos(π·h/b)` in units of 2⁻¹⁵ for every distance `h`, high and low bytes apart, in pieces of 64.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct CosineTable {
    pub(crate) high: [[u8; 64]; 4],
    pub(crate) low: [[u8; 64]; 4],
    /// The same for the 128 distances around `b/2`, which are nearly all, by `h` modulo 128: high, high, low, low.
    pub(crate) near: [[u8; 64]; 4],
    pub(crate) weight: f32,
}

impl GroupFootprints {
    fn new(bits: usize, groups: usize, footprints: &[u32], terms: &[Vec<GroupWeight>]) -> Self {
        let words = bits / 32;
        let rows: Vec<_> = footprints.chunks_exact(words).map(RowList::new).collect();
        let first = terms.first().map_or(0, |uses| uses[0].group);
        let others = if groups == 0 {
            Vec::new()
        } else {
            rows.chunks_exact(groups)
                .map(|layer| layer[first].others(bits))
                .collect()
        };
        let tables = terms
            .iter()
            .flatten()
            .map(|used| CosineTable::new(bits, used.weight))
            .collect();
        let uses: Vec<usize> = terms.iter().flatten().map(|used| used.group).collect();
        let triples_per_layer = uses.len().div_ceil(3);
        let mut triples = Vec::new();
        for layer in footprints.chunks_exact((words * groups).max(1)) {
            for first in (0..uses.len()).step_by(3) {
                // The last triple is filled up with the first groups.
                let group = |i: usize| &layer[uses[(first + i) % uses.len()] * words..][..words];
                triples.push(Triple::new([group(0), group(1), group(2)]));
            }
        }
        // An empty list could meet a token with all 256 bits set, whose count does not fit a byte.
        let narrow = bits < 256 || bits == 256 && rows.iter().all(|r| !r.rows.is_empty());
        Self {
            bits,
            groups,
            rows,
            others,
            triples,
            triples_per_layer,
            tables,
            narrow,
            lowest: lowest_near(bits),
        }
    }

    pub(crate) fn rows(&self, layer: usize, group: usize) -> &RowList {
        &self.rows[layer * self.groups + group]
    }

    pub(crate) fn others(&self, layer: usize) -> &RowList {
        &self.others[layer]
    }

    /// The triples of a layer.
    pub(crate) fn triples(&self, layer: usize) -> &[Triple] {
        &self.triples[layer * self.triples_per_layer..][..self.triples_per_layer]
    }

    pub(crate) fn tables(&self) -> &[CosineTable] {
        &self.tables
    }
}

impl RowList {
    fn new(footprint: &[u32]) -> Self {
        let ones: u32 = footprint.iter().map(|w| w.count_ones()).sum();
        let complement = ones as usize > 16 * footprint.len();
        let bits = 0..32 * footprint.len() as u16;
        let set = |i: &u16| (footprint[usize::from(i / 32)] >> (i % 32)) & 1 == 1;
        Self {
            rows: bits.filter(|i| set(i) != complement).collect(),
            complement,
        }
    }

    fn others(&self, bits: usize) -> Self {
        let mut taken = self.rows.iter().copied().peekable();
        let all = 0..bits as u16;
        Self {
            rows: all.filter(|&i| taken.next_if_eq(&i).is_none()).collect(),
            complement: !self.complement,
        }
    }
}

impl CosineTable {
    fn new(bits: usize, weight: f32) -> Self {
        let at = |h: usize| {
            let cosine = (std::f64::consts::PI * h as f64 / bits as f64).cos();
            let scaled = f64::from(weight) * cosine * 32768.0;
            (scaled.round().clamp(-32767.0, 32767.0) as i16).to_le_bytes()
        };
        let byte = |first: usize, byte: usize| std::array::from_fn(|i| at(first + i)[byte]);
        let lowest = lowest_near(bits);
        let near = |first: usize, byte: usize| {
            std::array::from_fn(|i| {
                let above = (first + i).wrapping_sub(lowest as usize) % 128;
                at((isize::from(lowest) + above as isize).unsigned_abs())[byte]
            })
        };
        Self {
            high: [0, 64, 128, 192].map(|first| byte(first, 1)),
            low: [0, 64, 128, 192].map(|first| byte(first, 0)),
            near: [near(0, 1), near(64, 1), near(0, 0), near(64, 0)],
            weight,
        }
    }
}

/// The lowest of the 128 distances around `bits / 2`.
fn lowest_near(bits: usize) -> i8 {
    (bits.min(256) as i16 / 2 - 64) as i8
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

    #[test]
    fn the_shorter_side_is_summed() {
        let list = RowList::new(&[0b1011]);
        assert_eq!(list.rows, [0, 1, 3]);
        assert!(!list.complement);
        let list = RowList::new(&[!0b1011]);
        assert_eq!(list.rows, [0, 1, 3]);
        assert!(list.complement);
        assert_eq!(list.others(32).rows.len(), 29);
    }
}
