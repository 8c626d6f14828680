//! AVX-512 as Ice Lake and Zen 4 have it: weighted cosines come from tables in registers, 64 tokens at a time.

use super::adder::BYTE_DIGITS;
use super::avx512::{Avx512, sum_256, sum_512, sum_short};
use super::cosine;
use super::document::{self, Backend, TilePlace};
use super::x86::{fetch, interleave};
use super::{Job, Sink};
use crate::{Kernels, Workspace, query::CosineTable, workspace::Scratch};
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
    const FMA: bool = true;

    #[inline(always)]
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
        // SAFETY: the caller's promise is ours; the widths are right.
        unsafe {
            match (job.groups.narrow, place.tile.width) {
                (false, _) => cosine::tile::<Avx512>(job, place, scratch, sink),
                (true, 512) => tile::<W512>(job, place, scratch, sink),
                (true, 256) => tile::<W256>(job, place, scratch, sink),
                (true, 128) => tile::<Short<0>>(job, place, scratch, sink),
                (true, 64) => tile::<Short<1>>(job, place, scratch, sink),
                (true, 32) => tile::<Short<2>>(job, place, scratch, sink),
                (true, _) => tile::<Short<3>>(job, place, scratch, sink),
            }
        }
    }
}

/// Bytes of 64 tokens each. Lane `l` of a register holds octets `l` and `l + 4` of its eight octets of tokens, so
/// that unpacking to 16 bits within lanes leaves the tokens in order.
type Tokens = [__m512i; 8];

/// Summing the rows of a tile of some width.
///
/// # Safety
///
/// As for [`log_sums`]; `rows` points to a tile of that width with as many rows as the offsets ask for.
trait Width {
    /// Registers in use.
    const REGISTERS: usize;

    unsafe fn count(rows: *const u8, offsets: &[u16]) -> Tokens;
}

struct W512;

impl Width for W512 {
    const REGISTERS: usize = 8;

    #[inline(always)]
    unsafe fn count(rows: *const u8, offsets: &[u16]) -> Tokens {
        // SAFETY: the caller's promise is ours.
        unsafe {
            let digits = sum_512::<BYTE_DIGITS>(rows, offsets).map(|d| d.0);
            interleave!(
                digits,
                _mm512_unpacklo_epi8,
                _mm512_unpackhi_epi8,
                _mm512_unpacklo_epi16,
                _mm512_unpackhi_epi16,
                _mm512_unpacklo_epi32,
                _mm512_unpackhi_epi32
            )
            .map(|octets| transpose(octets))
        }
    }
}

struct W256;

impl Width for W256 {
    const REGISTERS: usize = 4;

    #[inline(always)]
    unsafe fn count(rows: *const u8, offsets: &[u16]) -> Tokens {
        // SAFETY: the caller's promise is ours.
        unsafe {
            let digits = sum_256::<BYTE_DIGITS>(rows, offsets).map(|d| d.0);
            let octets = interleave!(
                digits,
                _mm256_unpacklo_epi8,
                _mm256_unpackhi_epi8,
                _mm256_unpacklo_epi16,
                _mm256_unpackhi_epi16,
                _mm256_unpacklo_epi32,
                _mm256_unpackhi_epi32
            );
            // Two registers hold octets 0 2 1 3 and 4 6 5 7.
            let order = _mm512_setr_epi64(0, 4, 2, 6, 1, 5, 3, 7);
            std::array::from_fn(|i| {
                if i < Self::REGISTERS {
                    let low = _mm512_castsi256_si512(octets[2 * i]);
                    let both = _mm512_inserti64x4::<1>(low, octets[2 * i + 1]);
                    transpose(_mm512_permutexvar_epi64(order, both))
                } else {
                    _mm512_setzero_si512()
                }
            })
        }
    }
}

/// Rows of `16 >> SHIFT` bytes.
struct Short<const SHIFT: u32>;

impl<const SHIFT: u32> Width for Short<SHIFT> {
    const REGISTERS: usize = if SHIFT == 0 { 2 } else { 1 };

    #[inline(always)]
    unsafe fn count(rows: *const u8, offsets: &[u16]) -> Tokens {
        // SAFETY: the caller's promise is ours.
        unsafe {
            let digits = sum_short::<SHIFT, BYTE_DIGITS>(rows, offsets).map(|d| d.0);
            let octets = interleave!(
                digits,
                _mm_unpacklo_epi8,
                _mm_unpackhi_epi8,
                _mm_unpacklo_epi16,
                _mm_unpackhi_epi16,
                _mm_unpacklo_epi32,
                _mm_unpackhi_epi32
            );
            let order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
            std::array::from_fn(|i| {
                if i < Self::REGISTERS {
                    let all = _mm512_castsi128_si512(octets[4 * i]);
                    let all = _mm512_inserti64x2::<1>(all, octets[4 * i + 1]);
                    let all = _mm512_inserti64x2::<2>(all, octets[4 * i + 2]);
                    let all = _mm512_inserti64x2::<3>(all, octets[4 * i + 3]);
                    transpose(_mm512_permutexvar_epi64(order, all))
                } else {
                    _mm512_setzero_si512()
                }
            })
        }
    }
}

/// Transposes the 8 × 8 bits of every qword: as a matrix over GF(2), it multiplies the unit vectors.
#[inline(always)]
unsafe fn transpose(x: __m512i) -> __m512i {
    // SAFETY: the callers of this module's functions promise GFNI and AVX-512 BW.
    unsafe {
        // The instruction counts a matrix's rows from the last byte on.
        let reverse = _mm512_set_epi8(
            8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0,
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
            11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7,
        );
        let unit = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
        _mm512_gf2p8affine_epi64_epi8::<0>(unit, _mm512_shuffle_epi8(x, reverse))
    }
}

/// The similarities of the tile's tokens to every term.
///
/// # Safety
///
/// As for [`Width`].
#[inline(always)]
unsafe fn tile<W: Width>(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
    let TilePlace { layer, first, tile } = place;
    let groups = job.groups;
    let rows = tile.rows.as_ptr();
    let lines = tile.rows.len() / 64 / (groups.tables().len() + 1) + 1;
    // SAFETY: the caller's promise is ours; the buffers are as long as the registers that are stored to them.
    unsafe {
        let ones: *mut __m512i = scratch.ones.as_mut_ptr().cast();
        let others = W::count(rows, &groups.others(layer).offsets);
        for i in 0..W::REGISTERS {
            _mm512_store_si512(ones.add(i), others[i]);
        }
        scratch.ahead.advance(lines, fetch);
        let mut tables = groups.tables().iter();
        for (term, uses) in job.terms.iter().enumerate() {
            for (i, (used, table)) in uses.iter().zip(&mut tables).enumerate() {
                let list = groups.rows(layer, used.group);
                let counts = W::count(rows, &list.offsets);
                if term == 0 && i == 0 {
                    for r in 0..W::REGISTERS {
                        let sum = _mm512_add_epi8(_mm512_load_si512(ones.add(r)), counts[r]);
                        _mm512_store_si512(ones.add(r), sum);
                    }
                }
                let set = _mm512_set1_epi8(list.offsets.len() as i8);
                let cosines = Cosines::new(table, list.complement);
                let composed: *mut __m512i = scratch.similarities.as_mut_ptr().cast();
                for r in 0..W::REGISTERS {
                    // |d| − |d ∧ q| and |q| − |d ∧ q| fit a byte, and so does their sum, 256 being taken as 255.
                    let only_document = _mm512_sub_epi8(_mm512_load_si512(ones.add(r)), counts[r]);
                    let only_group = _mm512_sub_epi8(set, counts[r]);
                    let distance = _mm512_adds_epu8(only_document, only_group);
                    let [even, odd] = cosines.look_up(distance);
                    let (at_even, at_odd) = (composed.add(2 * r), composed.add(2 * r + 1));
                    if i == 0 {
                        _mm512_store_si512(at_even, even);
                        _mm512_store_si512(at_odd, odd);
                    } else {
                        let even = _mm512_adds_epi16(_mm512_load_si512(at_even), even);
                        let odd = _mm512_adds_epi16(_mm512_load_si512(at_odd), odd);
                        _mm512_store_si512(at_even, even);
                        _mm512_store_si512(at_odd, odd);
                    }
                }
                scratch.ahead.advance(lines, fetch);
            }
            sink.take(layer, term, first, &scratch.similarities[..tile.tokens]);
        }
    }
}

/// A [`CosineTable`] in registers.
struct Cosines {
    high: [__m512i; 4],
    low: [__m512i; 4],
}

impl Cosines {
    #[inline(always)]
    unsafe fn new(table: &CosineTable, complement: bool) -> Self {
        let [high, low] = &table.bytes[usize::from(complement)];
        // SAFETY: the callers of this module's functions promise AVX-512 F; a table is 256 bytes.
        let load = |table: &[u8; 256]| unsafe {
            let start: *const __m512i = table.as_ptr().cast();
            std::array::from_fn(|i| _mm512_loadu_si512(start.add(i)))
        };
        Self {
            high: load(high),
            low: load(low),
        }
    }

    /// The weighted cosines of 64 distances: octets 0 to 3, then octets 4 to 7.
    #[inline(always)]
    unsafe fn look_up(&self, distance: __m512i) -> [__m512i; 2] {
        // SAFETY: the callers of this module's functions promise AVX-512 BW and VBMI.
        unsafe {
            let beyond = _mm512_movepi8_mask(distance);
            let pick = |t: &[__m512i; 4]| {
                let near = _mm512_permutex2var_epi8(t[0], distance, t[1]);
                let far = _mm512_permutex2var_epi8(t[2], distance, t[3]);
                _mm512_mask_blend_epi8(beyond, near, far)
            };
            let (high, low) = (pick(&self.high), pick(&self.low));
            [
                _mm512_unpacklo_epi8(low, high),
                _mm512_unpackhi_epi8(low, high),
            ]
        }
    }
}
