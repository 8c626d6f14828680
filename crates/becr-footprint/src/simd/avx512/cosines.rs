//! From counts to distances and weighted cosines, 64 tokens at a time.

use super::bytes::Width;
use super::count::differences;
use super::plane::Rows;
use crate::lanes::Lanes;
use crate::prepared::{CosineTable, Triple};
use crate::workspace::{Differences, Distances, Ring, Similarities};
use std::arch::x86_64::*;

/// Writes the distances of the tile's tokens to three groups, counted from `lowest`, modulo 256. A class has at most `C`
/// digits. [`Triple`]'s module says how the differences of opposite classes make distances.
///
/// # Safety
///
/// As for [`super::log_sums`]; the tile is as wide as `W` says.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,bmi1,bmi2")]
#[inline(never)]
pub(super) unsafe fn measure<W: Width, const C: usize>(
    rows: &Rows,
    triple: &Triple,
    places: &[u16],
    lowest: i8,
    slots: &mut [Distances; 3],
    between: &mut Differences,
    mut meanwhile: impl FnMut(),
) {
    // SAFETY: the caller's promise is ours.
    unsafe {
        differences::<W, C>(
            triple,
            places,
            |place| W::load(rows.at(place)),
            |i, digits| {
                meanwhile();
                let bytes = W::bytes(digits);
                for r in 0..W::REGISTERS {
                    store(&mut between[i][r], bytes[r]);
                }
            },
        );
        let mut set = [_mm512_setzero_si512(); 3];
        for i in 0..3 {
            set[i] = _mm512_set1_epi8((triple.set[i] as i8).wrapping_sub(lowest));
        }
        let mut beyond = [_mm512_setzero_si512(); 3];
        for r in 0..W::REGISTERS {
            let [a, b, c, d] = [
                load(&between[0][r]),
                load(&between[1][r]),
                load(&between[2][r]),
                load(&between[3][r]),
            ];
            let (ab, cd) = (_mm512_add_epi8(a, b), _mm512_sub_epi8(c, d));
            let first = _mm512_add_epi8(_mm512_sub_epi8(a, b), _mm512_add_epi8(c, d));
            let sums = [first, _mm512_sub_epi8(ab, cd), _mm512_add_epi8(ab, cd)];
            for i in 0..3 {
                let distance = _mm512_add_epi8(sums[i], set[i]);
                store(&mut slots[i].bytes[r], distance);
                beyond[i] = _mm512_or_si512(beyond[i], distance);
            }
        }
        for (i, slot) in slots.iter_mut().enumerate() {
            slot.near = _mm512_movepi8_mask(beyond[i]) == 0;
            if !slot.near {
                tell_opposites::<W>(rows, triple.first[i], lowest, slot);
            }
        }
    }
}

/// Distances of 0 and 256 are the same byte. A token at distance 0 has the group's bit 0, one at distance 256 has not:
/// its distance becomes 255.
///
/// # Safety
///
/// As for [`measure`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,bmi1,bmi2")]
#[cold]
unsafe fn tell_opposites<W: Width>(rows: &Rows, first: bool, lowest: i8, slot: &mut Distances) {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let mut digits = [W::zero(); 8];
        digits[0] = W::load(rows.at(0));
        let bits = W::bytes(digits);
        let (own, zero) = (
            _mm512_set1_epi8(first.into()),
            _mm512_set1_epi8(lowest.wrapping_neg()),
        );
        for r in 0..W::REGISTERS {
            let distance = load(&slot.bytes[r]);
            let opposite = _mm512_cmpneq_epi8_mask(bits[r], own);
            let opposite = _mm512_mask_cmpeq_epi8_mask(opposite, distance, zero);
            let less = _mm512_sub_epi8(distance, _mm512_set1_epi8(1));
            store(
                &mut slot.bytes[r],
                _mm512_mask_mov_epi8(distance, opposite, less),
            );
        }
    }
}

/// Looks up the weighted cosines of a term's groups, adds them up and stores them.
///
/// # Safety
///
/// As for [`measure`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,bmi1,bmi2")]
#[inline(never)]
pub(super) unsafe fn compose<W: Width>(
    tables: &[CosineTable],
    distances: &Ring,
    first: usize,
    lanes: Lanes,
    similarities: &mut Similarities,
) {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let mut sums = [[_mm512_setzero_si512(); 2]; 8];
        for (i, table) in tables.iter().enumerate() {
            let distances = distances.get(first + i);
            if distances.near {
                let (a, b) = (load(&table.high[0]), load(&table.high[1]));
                let (c, d) = (load(&table.low[0]), load(&table.low[1]));
                for r in 0..W::REGISTERS {
                    let distance = load(&distances.bytes[r]);
                    let high = _mm512_permutex2var_epi8(a, distance, b);
                    let low = _mm512_permutex2var_epi8(c, distance, d);
                    add(&mut sums[r], low, high);
                }
            } else {
                for r in 0..W::REGISTERS {
                    let distance = load(&distances.bytes[r]);
                    let beyond = _mm512_movepi8_mask(distance);
                    let high = pick(&table.high, distance, beyond);
                    let low = pick(&table.low, distance, beyond);
                    add(&mut sums[r], low, high);
                }
            }
        }
        for r in 0..W::REGISTERS {
            W::store(similarities.0.as_mut_ptr(), lanes, r, sums[r]);
        }
    }
}

/// The entries of a table at 64 distances, of which those marked are in its second half.
#[inline(always)]
unsafe fn pick(table: &[[u8; 64]; 4], distance: __m512i, beyond: u64) -> __m512i {
    // SAFETY: the callers of this module's functions promise AVX-512 BW and VBMI.
    unsafe {
        let [a, b, c, d] = table;
        let near = _mm512_permutex2var_epi8(load(a), distance, load(b));
        let far = _mm512_permutex2var_epi8(load(c), distance, load(d));
        _mm512_mask_blend_epi8(beyond, near, far)
    }
}

/// Adds numbers given as low and high bytes.
#[inline(always)]
unsafe fn add(sums: &mut [__m512i; 2], low: __m512i, high: __m512i) {
    // SAFETY: the callers of this module's functions promise AVX-512 BW.
    unsafe {
        sums[0] = _mm512_adds_epi16(sums[0], _mm512_unpacklo_epi8(low, high));
        sums[1] = _mm512_adds_epi16(sums[1], _mm512_unpackhi_epi8(low, high));
    }
}

#[inline(always)]
unsafe fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the callers of this module's functions promise AVX-512 F; the bytes are a register's.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline(always)]
unsafe fn store(bytes: &mut [u8; 64], value: __m512i) {
    // SAFETY: the callers of this module's functions promise AVX-512 F; the bytes are a register's.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), value) }
}
