//! AVX-512 as Ice Lake and Zen 4 have it: weighted cosines come from tables in registers, 64 tokens at a time.

use super::avx512::Avx512;
use super::cosine;
use super::document::{self, Backend, TilePlace};
use super::rows512::{Rows, Ymm, Zmm};
use super::triple::{Take, sum_triple};
use super::width::Width;
use super::x86::fetch;
use super::{Job, Sink, drain512};
use crate::groups::{CosineTable, Triple};
use crate::lanes::Lanes;
use crate::workspace::{Distances, Ring, Scratch, Similarities};
use crate::{Kernels, Workspace, pool::Histogram};
use std::arch::x86_64::*;

/// See [`super::Checked::log_sums`].
///
/// # Safety
///
/// The CPU has AVX-512 F, BW, DQ, VL, VBMI, GFNI, AVX2, FMA and BMI2.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,avx2,fma,bmi1,bmi2")]
pub(super) unsafe fn log_sums(job: Job, kernels: &Kernels, work: &mut Workspace, out: &mut [f32]) {
    // SAFETY: the caller's promise is ours.
    unsafe { document::log_sums::<Avx512Vpopcnt>(job, kernels, work, out) }
}

/// See [`super::Checked::similarities`].
///
/// # Safety
///
/// As for [`log_sums`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,avx2,fma,bmi1,bmi2")]
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
                cosine::tile::<Avx512>(job, place, scratch, sink);
            } else if place.tile.width > 256 {
                tile::<Zmm>(job, place, scratch, sink);
            } else {
                tile::<Ymm>(job, place, scratch, sink);
            }
        }
    }

    #[inline(always)]
    unsafe fn drain(histograms: &mut [Histogram], kernels: &Kernels, sums: &mut [f32]) {
        // SAFETY: the caller's promise is ours.
        unsafe { drain512::drain(histograms, kernels, sums) }
    }

    #[inline(always)]
    fn fetch(address: usize) {
        fetch(address);
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
    let triples = groups.triples(layer);
    let mut triples = triples.iter();
    let (mut tables, mut measured, mut used) = (groups.tables(), 0, 0);
    for (uses, similarities) in job.terms.iter().zip(&mut scratch.similarities) {
        while measured < used + uses.len() {
            let Some(triple) = triples.next() else {
                break;
            };
            let slots = scratch.distances.three(measured);
            let ones = &mut scratch.ones;
            // SAFETY: the caller's promise is ours.
            unsafe {
                let measure = if !triple.is_even {
                    measure::<W, 8, 8, true>
                } else if measured == 0 {
                    measure::<W, 6, 7, true>
                } else {
                    measure::<W, 6, 7, false>
                };
                measure(&rows, triple, groups.lowest, slots, ones);
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

/// Writes the distances of the tile's tokens to three groups. With `ONES` the number of bits set in every token is
/// counted first, otherwise it must have been.
///
/// # Safety
///
/// As for [`tile`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,bmi1,bmi2")]
#[inline(never)]
unsafe fn measure<W: Width, const C: usize, const D: usize, const ONES: bool>(
    rows: &Rows,
    triple: &Triple,
    lowest: i8,
    slots: &mut [Distances; 3],
    ones: &mut Ones,
) {
    let mut writer = Writer::<ONES> {
        set: &triple.set,
        lowest,
        slots,
        ones,
    };
    // SAFETY: the caller's promise is ours.
    unsafe {
        sum_triple::<_, C, D, ONES>(triple, |row| W::load(rows, row), &mut writer);
        if ONES {
            for i in 0..3 {
                let mut counts = [_mm512_setzero_si512(); 8];
                for r in 0..W::REGISTERS {
                    counts[r] = load(&writer.slots[i].bytes[r]);
                }
                writer.write::<W>(i, counts);
            }
        }
    }
}

/// Turns the sums of rows into distances.
struct Writer<'a, const ONES: bool> {
    /// Bits set in each group.
    set: &'a [u16; 3],
    lowest: i8,
    slots: &'a mut [Distances; 3],
    ones: &'a mut Ones,
}

impl<const ONES: bool> Writer<'_, ONES> {
    /// Writes the distances to a group of whose rows so many are set.
    #[inline(always)]
    unsafe fn write<W: Width>(&mut self, i: usize, counts: [__m512i; 8]) {
        // SAFETY: the callers of this module's functions promise AVX-512 BW.
        unsafe {
            let set = _mm512_set1_epi8(self.set[i] as i8);
            let lowest = _mm512_set1_epi8(self.lowest);
            let mut beyond = _mm512_setzero_si512();
            for r in 0..W::REGISTERS {
                // |d| − |d ∧ q| and |q| − |d ∧ q| fit a byte, and so does their sum, 256 being taken as 255.
                let only_document = _mm512_sub_epi8(load(&self.ones[r]), counts[r]);
                let only_group = _mm512_sub_epi8(set, counts[r]);
                let distance = _mm512_adds_epu8(only_document, only_group);
                store(&mut self.slots[i].bytes[r], distance);
                beyond = _mm512_or_si512(beyond, _mm512_sub_epi8(distance, lowest));
            }
            self.slots[i].near = _mm512_movepi8_mask(beyond) == 0;
        }
    }
}

impl<W: Width, const ONES: bool> Take<W> for Writer<'_, ONES> {
    #[inline(always)]
    unsafe fn group(&mut self, i: usize, digits: [W; 8]) {
        // SAFETY: the caller's promise is ours.
        unsafe {
            let counts = W::bytes(digits);
            if ONES {
                for r in 0..W::REGISTERS {
                    store(&mut self.slots[i].bytes[r], counts[r]);
                }
            } else {
                self.write::<W>(i, counts);
            }
        }
    }

    #[inline(always)]
    unsafe fn all(&mut self, digits: [W; 8]) {
        // SAFETY: the caller's promise is ours.
        unsafe {
            let all = W::bytes(digits);
            for r in 0..W::REGISTERS {
                store(&mut self.ones[r], all[r]);
            }
        }
    }
}

/// Bits set in the tokens' footprints, modulo 256.
type Ones = [[u8; 64]; 8];

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
                let [a, b, c, d] = &table.near;
                let (a, b, c, d) = (load(a), load(b), load(c), load(d));
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
