//! AVX-512 as Ice Lake and Zen 4 have it: weighted cosines come from tables in registers, 64 tokens at a time. Footprints
//! of more than 256 bits, whose distances do not fit a byte, are left to AVX2's way.

use super::avx2;
use super::document::{self, Backend, TilePlace};
use super::rows512::{Rows, Ymm, Zmm};
use super::triple::differences;
use super::width::Width;
use super::x86::{fetch, fetch_close};
use super::{Job, Sink, drain512, moments512};
use crate::groups::{CosineTable, Triple};
use crate::lanes::Lanes;
use crate::moments::{Moments, Window};
use crate::workspace::{Differences, Distances, Ring, Scratch, Similarities};
use crate::{Kernels, Workspace, pool::Histogram};
use std::arch::x86_64::*;

/// See [`super::Checked::log_sums`].
///
/// # Safety
///
/// The CPU has AVX-512 F, BW, DQ, VL, VBMI, VBMI2 and VNNI, GFNI, AVX2, FMA, BMI1, BMI2 and POPCNT.
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,gfni,avx2,fma,bmi1,bmi2,popcnt"
)]
pub(super) unsafe fn log_sums(job: Job, kernels: &Kernels, work: &mut Workspace, out: &mut [f32]) {
    // SAFETY: the caller's promise is ours.
    unsafe { document::log_sums::<Avx512Vpopcnt>(job, kernels, work, out) }
}

/// See [`super::Checked::similarities`].
///
/// # Safety
///
/// As for [`log_sums`].
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,gfni,avx2,fma,bmi1,bmi2,popcnt"
)]
pub(super) unsafe fn similarities(job: Job, work: &mut Workspace, out: &mut [f32]) {
    // SAFETY: the caller's promise is ours.
    unsafe { document::similarities::<Avx512Vpopcnt>(job, work, out) }
}

struct Avx512Vpopcnt;

impl Backend for Avx512Vpopcnt {
    #[inline(always)]
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
        // SAFETY: the caller's promise is ours.
        unsafe {
            if !job.groups.narrow {
                avx2::tile(job, place, scratch, sink);
            } else if place.tile.width > 256 {
                tile::<Zmm>(job, place, scratch, sink);
            } else {
                tile::<Ymm>(job, place, scratch, sink);
            }
        }
    }

    #[inline(always)]
    unsafe fn drain<const N: usize>(
        histograms: &mut [Histogram; N],
        kernels: &Kernels,
        sums: &mut [f32],
    ) {
        // SAFETY: the caller's promise is ours.
        unsafe { drain512::drain(histograms, kernels, sums) }
    }

    const MOMENTS: bool = true;

    #[inline(always)]
    unsafe fn bounds(similarities: &Similarities, tokens: usize) -> [i16; 2] {
        // SAFETY: the caller's promise is ours.
        unsafe { moments512::bounds(&similarities.0, tokens) }
    }

    #[inline(always)]
    unsafe fn add(
        similarities: &Similarities,
        tokens: usize,
        window: Window,
        moments: &mut Moments,
        meanwhile: impl FnMut(),
    ) {
        // SAFETY: the caller's promise is ours.
        unsafe { moments512::add(&similarities.0, tokens, window, moments, meanwhile) }
    }

    #[inline(always)]
    unsafe fn finish(moments: &mut Moments, window: Window, kernels: &Kernels, sums: &mut [f32]) {
        // SAFETY: the caller's promise is ours.
        unsafe { moments512::finish(moments, window, kernels, sums) }
    }

    #[inline(always)]
    fn fetch(address: usize) {
        fetch(address);
    }

    #[inline(always)]
    fn fetch_close(address: usize) {
        fetch_close(address);
    }
}

/// The similarities of the tile's tokens to every term.
///
/// # Safety
///
/// As for [`log_sums`]; the tile has the width that is asked for.
#[inline(always)]
unsafe fn tile<W: Width>(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
    let TilePlace { layer, tile } = place;
    let (groups, rows, lanes) = (job.groups, Rows::new(&tile), Lanes::new(tile.width));
    let lowest = groups.lowest;
    let triples = groups.triples(layer);
    // Half of the memory to fetch while counting, at every pair of classes.
    let lines = (tile.rows.len() / 128).div_ceil(4 * triples.len().max(1));
    let mut triples = triples.iter();
    let (mut tables, mut measured, mut used) = (groups.tables(), 0, 0);
    for (uses, similarities) in job.terms.iter().zip(&mut scratch.similarities) {
        while measured < used + uses.len() {
            let Some(triple) = triples.next() else {
                break;
            };
            let slots = scratch.distances.three(measured);
            let between = &mut scratch.differences;
            // SAFETY: the caller's promise is ours.
            unsafe {
                let places = rows.places(&triple.places, &mut scratch.registers.places);
                let meanwhile = || sink.fetch_ahead(lines);
                if triple.is_even {
                    measure::<W, 6>(&rows, triple, places, lowest, slots, between, meanwhile);
                } else {
                    measure::<W, 8>(&rows, triple, places, lowest, slots, between, meanwhile);
                }
            }
            measured += 3;
        }
        let (of_term, later) = tables.split_at(uses.len());
        // SAFETY: the caller's promise is ours.
        unsafe { compose::<W>(of_term, &scratch.distances, used, lanes, similarities) };
        used += uses.len();
        tables = later;
    }
    sink.take(&place, &mut scratch.similarities[..job.terms.len()]);
}

/// Writes the distances of the tile's tokens to three groups, counted from the lowest near one, modulo 256.
///
/// With `U₀` to `U₃` the differences of opposite classes, the distance to group `i` is the sum of `|qᵢ|`, of the three
/// others and of `−Uᵢ₊₁`.
///
/// # Safety
///
/// As for [`tile`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,bmi1,bmi2")]
#[inline(never)]
unsafe fn measure<W: Width, const C: usize>(
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

/// Distances of 0 and 256 look the same. A token of either is told by its first bit, and 256 becomes 255.
///
/// # Safety
///
/// As for [`tile`].
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
/// As for [`tile`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,bmi1,bmi2")]
#[inline(never)]
unsafe fn compose<W: Width>(
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
