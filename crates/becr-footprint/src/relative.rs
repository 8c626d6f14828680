//! Footprints of what a token adds to its document.
//!
//! The tokens of a document resemble each other, so that much of what their footprints say is said by all of them. Here
//! the document's vector `m`, of length 1, says it once, and more exactly: a token's vector `t`, of length 1, is
//! `share · m` and a rest, the share being the mean of `t · m` over the tokens. The footprint is that of the rest, whose
//! length is kept in a byte. The cosine of a query vector `q` to the token is then
//! `share · (q · m) + length · cos(π·h/b)`, and what the estimate errs by shrinks with the length of the rest.

use crate::lsh::{Hyperplanes, dot};
use crate::packed::{pack, unpack};
use crate::{Error, workspace::Similarities};
use rayon::prelude::*;

/// Units of a length: it is at most twice that of a vector.
const UNITS: f32 = 128.0;

/// Tokens whose rests are hashed together.
const BLOCK: usize = 32;

/// What is kept of a document beside footprints that are relative to its vector.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Relation {
    /// The document's vector, [packed](pack).
    pub vector: Vec<u32>,
    /// How much of it there is in a token, on average.
    pub share: f32,
    /// The length of every token's rest, in units of 1/128.
    pub lengths: Vec<u8>,
}

impl Relation {
    /// The relation of tokens, whose vectors are `[token][dim]`, to a document's vector, `mean`, and the footprints of
    /// their rests, `[token][bits / 32]`. No vector need have length 1.
    pub fn new(
        planes: &Hyperplanes,
        vectors: &[f32],
        mean: &[f32],
    ) -> Result<(Self, Vec<u32>), Error> {
        let dim = planes.dim();
        Error::check_length("document vector, in dimensions", dim, mean.len())?;
        let tokens = vectors.len() / dim;
        Error::check_length("token vectors, in numbers", tokens * dim, vectors.len())?;
        let vector = pack(mean);
        // What is subtracted is what will be added again.
        let mut mean = vec![0.0; dim];
        unpack(vector.iter().copied(), &mut mean);
        // One over the length of each token's vector, and what the token has of the document's.
        let lie = |vector: &[f32]| {
            let norm = dot(vector, vector).sqrt();
            let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            (scale, scale * dot(vector, &mean))
        };
        let lies: Vec<(f32, f32)> = vectors.chunks_exact(dim).map(lie).collect();
        let sum: f64 = lies
            .iter()
            .map(|&(_, along)| f64::from(along))
            .filter(|along| along.is_finite()) // one that is no number must not take the others with it
            .sum();
        let share = (sum / tokens.max(1) as f64) as f32;
        let mut footprints = vec![0; tokens * planes.width()];
        let mut lengths = vec![0; tokens];
        (vectors.par_chunks(BLOCK * dim))
            .zip(footprints.par_chunks_mut(BLOCK * planes.width()))
            .zip(lies.par_chunks(BLOCK).zip(lengths.par_chunks_mut(BLOCK)))
            .try_for_each(|((vectors, footprints), (lies, lengths))| {
                let mut rests = vec![0.0; vectors.len()];
                for (i, rest) in rests.chunks_exact_mut(dim).enumerate() {
                    let vector = vectors[i * dim..][..dim].iter().zip(&mean);
                    for (rest, (x, m)) in rest.iter_mut().zip(vector) {
                        *rest = x * lies[i].0 - share * m;
                    }
                    lengths[i] = (UNITS * dot(rest, rest).sqrt()).round() as u8;
                }
                planes.footprints(&rests, footprints)
            })?;
        let relation = Self {
            vector,
            share,
            lengths,
        };
        Ok((relation, footprints))
    }
}

/// What the engine must know of a document beside its relative footprints.
#[derive(Debug, Clone, Copy)]
pub struct Relative<'a> {
    /// `share · (q · m)` for each term `q` of the query.
    pub offsets: &'a [f32],
    /// The length of every token's rest.
    pub lengths: &'a [u8],
}

impl Relative<'_> {
    /// Makes cosines to whole tokens of cosines to their rests, from token `first` on.
    #[inline(always)]
    pub(crate) fn complete(&self, first: usize, tokens: usize, lists: &mut [Similarities]) {
        let lengths = &self.lengths[first..first + tokens];
        for (list, offset) in lists.iter_mut().zip(self.offsets) {
            // Beyond 4 no rest, which is at most 2, brings it back within 1.
            let offset = (offset.clamp(-4.0, 4.0) * 32768.0).round() as i32;
            for (c, &length) in list.0[..tokens].iter_mut().zip(lengths) {
                let whole = offset + ((i32::from(*c) * i32::from(length) + 64) >> 7);
                *c = whole.clamp(-32767, 32767) as i16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsh::HyperplaneKind;
    use crate::query::unit_vector;

    #[test]
    fn rest_and_share_make_the_token() {
        let dim = 64;
        let planes = Hyperplanes::generate(dim, 32, HyperplaneKind::Orthogonal, 1).unwrap();
        let number = |i: usize| ((i * 7919 % 1000) as f32 - 500.0) / 500.0;
        // Tokens around (1, 1, …), of different lengths.
        let token = |t: usize| (0..dim).map(move |i| (t + 1) as f32 * (1.0 + number(t * dim + i)));
        let vectors: Vec<f32> = (0..10).flat_map(token).collect();
        let (relative, footprints) = Relation::new(&planes, &vectors, &vec![1.0; dim]).unwrap();
        assert_eq!((relative.lengths.len(), footprints.len()), (10, 10));
        let mut mean = vec![0.0; dim];
        unpack(relative.vector.iter().copied(), &mut mean);
        let units: Vec<Vec<f32>> = (vectors.chunks_exact(dim))
            .map(|vector| unit_vector(vector).collect())
            .collect();
        let along: f32 = units.iter().map(|unit| dot(unit, &mean)).sum();
        assert!((relative.share - along / 10.0).abs() < 1e-5);
        assert!(relative.share > 0.5 && relative.share < 1.0);
        for (t, unit) in units.iter().enumerate() {
            let rest: Vec<f32> = unit
                .iter()
                .zip(&mean)
                .map(|(x, m)| x - relative.share * m)
                .collect();
            let length = f32::from(relative.lengths[t]) / UNITS;
            assert!((length - dot(&rest, &rest).sqrt()).abs() < 0.005);
            let mut footprint = [0];
            planes.footprint(&rest, &mut footprint).unwrap();
            assert_eq!(footprint[0], footprints[t]);
        }
    }

    #[test]
    fn a_lonely_token_is_all_share() {
        let planes = Hyperplanes::generate(4, 32, HyperplaneKind::Orthogonal, 1).unwrap();
        let vector = [3.0, 3.0, -3.0, 3.0];
        let (relative, _) = Relation::new(&planes, &vector, &vector).unwrap();
        assert!(
            relative.share > 0.99 && relative.lengths[0] < 10,
            "{relative:?}"
        );
        let (empty, _) = Relation::new(&planes, &[], &[0.0; 4]).unwrap();
        assert_eq!((empty.share, empty.lengths.len()), (0.0, 0));
        assert!(Relation::new(&planes, &vector, &[1.0]).is_err());
        assert!(Relation::new(&planes, &vector[..3], &vector).is_err());
    }

    /// Tokens around a common direction: what footprints are made relative for.
    #[test]
    fn relative_footprints_err_less() {
        let (dim, bits, tokens) = (64, 256, 40);
        let planes = Hyperplanes::generate(dim, bits, HyperplaneKind::Orthogonal, 3).unwrap();
        let number = |i: usize| (i as f32 * 12.9898).sin() * 43_758.547 % 1.0;
        let common: Vec<f32> = (0..dim).map(number).collect();
        let token = |t: usize| (0..dim).map(move |i| number(1000 + t * dim + i));
        let mixed = |t| {
            token(t)
                .zip(&common)
                .map(|(x, c)| x + c)
                .collect::<Vec<f32>>()
        };
        let vectors: Vec<f32> = (0..tokens).flat_map(mixed).collect();
        let mean: Vec<f32> = (0..dim)
            .map(|i| vectors.iter().skip(i).step_by(dim).sum())
            .collect();
        let (relation, rests) = Relation::new(&planes, &vectors, &mean).unwrap();
        let mut m = vec![0.0; dim];
        unpack(relation.vector.iter().copied(), &mut m);
        let cosine = |a: &[u32], b: &[u32]| {
            let h: u32 = a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum();
            (std::f32::consts::PI * h as f32 / bits as f32).cos()
        };
        let footprint = |vector: &[f32]| {
            let mut footprint = vec![0; bits / 32];
            planes.footprint(vector, &mut footprint).unwrap();
            footprint
        };
        let (mut plain, mut relative) = (0.0, 0.0);
        for query in 0..50 {
            let q: Vec<f32> = (0..dim).map(|i| number(50_000 + query * dim + i)).collect();
            let q: Vec<f32> = q.iter().zip(&common).map(|(x, c)| 2.0 * x + c).collect();
            let (q, hashed): (Vec<f32>, _) = (unit_vector(&q).collect(), footprint(&q));
            let offset = relation.share * dot(&q, &m);
            for (t, vector) in vectors.chunks_exact(dim).enumerate() {
                let unit: Vec<f32> = unit_vector(vector).collect();
                let exact = dot(&q, &unit);
                let rest = cosine(&hashed, &rests[t * bits / 32..][..bits / 32]);
                let length = f32::from(relation.lengths[t]) / UNITS;
                relative += (offset + length * rest - exact).powi(2);
                plain += (cosine(&hashed, &footprint(vector)) - exact).powi(2);
            }
        }
        assert!(relative < 0.7 * plain, "{relative} {plain}");
    }

    #[test]
    fn a_token_that_is_no_number_is_alone_with_it() {
        let planes = Hyperplanes::generate(8, 32, HyperplaneKind::Orthogonal, 1).unwrap();
        let mut vectors: Vec<f32> = (0..24).map(|i| (i % 5) as f32).collect();
        let (before, _) = Relation::new(&planes, &vectors, &[1.0; 8]).unwrap();
        vectors[11] = f32::NAN;
        let (after, _) = Relation::new(&planes, &vectors, &[1.0; 8]).unwrap();
        assert!(after.share.is_finite() && before.share > 0.0);
        assert_eq!(after.lengths[1], 0);
        // A document whose mean is no number has no vector and no share of it.
        let (lost, _) = Relation::new(&planes, &vectors, &[f32::NAN; 8]).unwrap();
        assert_eq!((lost.share, lost.vector[0]), (0.0, 0));
    }

    #[test]
    fn cosines_are_completed() {
        let mut lists = [Similarities([16384; 512]), Similarities([-32767; 512])];
        let relative = Relative {
            offsets: &[0.25, -0.5],
            lengths: &[9, 128, 64, 0, 255],
        };
        relative.complete(1, 4, &mut lists);
        assert_eq!(lists[0].0[..5], [24576, 16384, 8192, 32767, 16384]);
        assert_eq!(lists[1].0[..5], [-32767, -32767, -16384, -32767, -32767]);
    }
}
