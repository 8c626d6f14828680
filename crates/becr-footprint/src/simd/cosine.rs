//! The similarities of a tile, for implementations that compute cosines rather than look them up.

use super::document::TilePlace;
use super::{Job, Sink};
use crate::groups::RowList;
use crate::tile::{MAX_WIDTH, Tile};
use crate::workspace::{Counts, Scratch, Similarities};

/// Counting, which is what these implementations differ in.
///
/// # Safety
///
/// The methods may use instructions that only some CPUs have: the caller runs on one that has them.
pub(super) trait Counter {
    /// True if a fused multiply–add is one instruction.
    const FMA: bool;

    /// Writes how many of the list's rows are set, per token in its order; the high bytes only when `wide`.
    unsafe fn count(tile: Tile, list: &RowList, wide: bool, counts: &mut Counts);

    #[inline(always)]
    fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
        if Self::FMA {
            a.mul_add(b, c)
        } else {
            a * b + c
        }
    }
}

/// The similarities of the tile's tokens to every term.
///
/// # Safety
///
/// As for [`Counter`].
#[inline(always)]
pub(super) unsafe fn tile<C: Counter>(
    job: &Job,
    place: TilePlace,
    scratch: &mut Scratch,
    sink: &mut impl Sink,
) {
    let TilePlace { layer, tile } = place;
    let (groups, wide) = (job.groups, !job.groups.narrow);
    let half = groups.bits as f32 / 2.0;
    // SAFETY: the caller's promise is ours.
    unsafe { C::count(tile, groups.others(layer), wide, &mut scratch.counts) };
    let mut tables = groups.tables().iter();
    for (term, uses) in job.terms.iter().enumerate() {
        scratch.composed[..tile.width].fill(0.0);
        for (i, (used, table)) in uses.iter().zip(&mut tables).enumerate() {
            let list = groups.rows(layer, used.group);
            let is_first = term == 0 && i == 0;
            let counts = if is_first {
                &mut scratch.first
            } else {
                &mut scratch.counts
            };
            // SAFETY: the caller's promise is ours.
            unsafe { C::count(tile, list, wide, counts) };
            if is_first {
                let others = &scratch.counts;
                balance(
                    &scratch.first,
                    others,
                    wide,
                    half,
                    &mut scratch.balance[..tile.width],
                );
            }
            let counts = if is_first {
                &scratch.first
            } else {
                &scratch.counts
            };
            let weight = if list.complement {
                -table.weight
            } else {
                table.weight
            };
            let composed = &mut scratch.composed[..tile.width];
            let cosines = Cosines {
                weight,
                shift: list.rows.len() as f32 / half,
                double: 2.0 / half,
            };
            cosines.add::<C>(counts, wide, &scratch.balance, composed);
        }
        quantise(
            &scratch.composed[..tile.width],
            &mut scratch.similarities[term],
        );
    }
    sink.take(&place, &mut scratch.similarities[..job.terms.len()]);
}

/// `1 − |d| / (b/2)` per token, where the rows of both lists together are all rows.
#[inline(always)]
fn balance(list: &Counts, others: &Counts, wide: bool, half: f32, balance: &mut [f32]) {
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
    fn add<C: Counter>(
        &self,
        counts: &Counts,
        wide: bool,
        balance: &[f32; MAX_WIDTH],
        composed: &mut [f32],
    ) {
        // Plain loops over slices: the compiler makes vectors of them.
        let add = |composed: &mut f32, balance: f32, count: i32| {
            let t = C::multiply_add(count as f32, self.double, balance - self.shift);
            *composed = C::multiply_add(self.weight, sine::<C>(t), *composed);
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
fn sine<C: Counter>(t: f32) -> f32 {
    // The polynomial through the function at Chebyshev nodes in t².
    const S1: f32 = 1.570_795;
    const S3: f32 = -0.645_925_7;
    const S5: f32 = 0.079_500_01;
    const S7: f32 = -0.004_370_586;
    let t2 = t * t;
    let p = C::multiply_add(t2, S7, S5);
    let p = C::multiply_add(t2, p, S3);
    t * C::multiply_add(t2, p, S1)
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
