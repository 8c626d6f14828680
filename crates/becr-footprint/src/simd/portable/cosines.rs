//! From counts to weighted cosines and similarities, in 32-bit floating-point numbers.

use super::super::document::TilePlace;
use super::super::{Job, Sink};
use super::count::count;
use crate::tile::MAX_WIDTH;
use crate::workspace::{Counts, Scratch, Similarities};

/// The similarities of the tile's tokens to every term.
#[inline(always)]
pub(super) fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
    let TilePlace { layer, tile } = place;
    let (groups, wide) = (job.groups, !job.groups.narrow);
    let half = groups.bits as f32 / 2.0;
    let Scratch {
        counts,
        first,
        balance,
        composed,
        similarities,
        ..
    } = scratch;
    count(tile, groups.others(layer), wide, counts);
    let mut weights = groups.weights();
    for (term, uses) in job.terms.iter().enumerate() {
        composed[..tile.width].fill(0.0);
        for (i, (used, weight)) in uses.iter().zip(&mut weights).enumerate() {
            let list = groups.rows(layer, used.group);
            let counts = if term == 0 && i == 0 {
                count(tile, list, wide, first);
                measure_balance(first, counts, wide, half, &mut balance[..tile.width]);
                &*first
            } else {
                count(tile, list, wide, counts);
                &*counts
            };
            let cosines = Cosines {
                weight: if list.complement { -weight } else { weight },
                shift: list.rows.len() as f32 / half,
                double: 2.0 / half,
            };
            cosines.add(counts, wide, balance, &mut composed[..tile.width]);
        }
        quantise(&composed[..tile.width], &mut similarities[term]);
    }
    sink.take(&place, &mut similarities[..job.terms.len()]);
}

/// `1 − |d| / (b/2)` per token, where the rows of both lists together are all rows.
#[inline(always)]
fn measure_balance(list: &Counts, others: &Counts, wide: bool, half: f32, balance: &mut [f32]) {
    for ((balance, &a), &b) in balance.iter_mut().zip(&list.low).zip(&others.low) {
        *balance = 1.0 - (i32::from(a) + i32::from(b)) as f32 / half;
    }
    if wide {
        for ((balance, &a), &b) in balance.iter_mut().zip(&list.high).zip(&others.high) {
            *balance -= (256 * (i32::from(a) + i32::from(b))) as f32 / half;
        }
    }
}

struct Cosines {
    weight: f32,
    /// Rows in the list, as a part of `b/2`.
    shift: f32,
    /// `2 / (b/2)`: a row that is set takes two from the distance.
    double: f32,
}

impl Cosines {
    /// Adds `weight · cos(π·h/b)`, which is `weight · sin(π/2 · t)` for `t = (b/2 − h) / (b/2)`.
    #[inline(always)]
    fn add(&self, counts: &Counts, wide: bool, balance: &[f32; MAX_WIDTH], composed: &mut [f32]) {
        // Plain loops over slices: the compiler makes vectors of them.
        let add = |composed: &mut f32, balance: f32, count: i32| {
            let t = count as f32 * self.double + (balance - self.shift);
            *composed += self.weight * sine(t);
        };
        let tokens = composed.iter_mut().zip(balance).zip(&counts.low);
        if wide {
            for (((composed, &balance), &low), &high) in tokens.zip(&counts.high) {
                add(composed, balance, i32::from(low) + 256 * i32::from(high));
            }
        } else {
            for ((composed, &balance), &low) in tokens {
                add(composed, balance, i32::from(low));
            }
        }
    }
}

/// `sin(π/2 · t)` for |t| ≤ 1, within 2e-6.
#[inline(always)]
fn sine(t: f32) -> f32 {
    // The polynomial through the function at Chebyshev nodes in t².
    const S1: f32 = 1.570_795;
    const S3: f32 = -0.645_925_7;
    const S5: f32 = 0.079_500_01;
    const S7: f32 = -0.004_370_586;
    let t2 = t * t;
    t * (S1 + t2 * (S3 + t2 * (S5 + t2 * S7)))
}

/// To units of 2⁻¹⁵.
#[inline(always)]
fn quantise(composed: &[f32], similarities: &mut Similarities) {
    for (out, c) in similarities.0.iter_mut().zip(composed) {
        // Adding 1.5·2²³ rounds to an integer, which then stands in the low bits.
        let rounded = (c * 32768.0).clamp(-32767.0, 32767.0) + 12_582_912.0;
        *out = rounded.to_bits() as i16;
    }
}
