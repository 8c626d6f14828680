//! AVX-512 as Ice Lake and Zen 4 have it: weighted cosines come from tables in registers, 64 tokens at a time.

use super::adder::BYTE_DIGITS;
use super::avx512::{Avx512, sum_256, sum_512, sum_short};
use super::cosine;
use super::document::{self, Backend, TilePlace};
use super::x86::{fetch, interleave};
use super::{Job, Sink};
use crate::{Kernels, Workspace, pool::Histogram, workspace::Scratch};
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
            if job.groups.narrow {
                tile(job, place, scratch, sink);
            } else {
                cosine::tile::<Avx512>(job, place, scratch, sink);
            }
        }
    }

    #[inline(always)]
    unsafe fn add_histogram(histogram: &mut Histogram, kernels: &Kernels, sums: &mut [f32]) {
        // SAFETY: the caller's promise is ours.
        unsafe { Avx512::add_histogram(histogram, kernels, sums) }
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
            let d = sum_512::<BYTE_DIGITS>(rows, offsets);
            let mut tokens = interleave!(
                [
                    d[7].0, d[6].0, d[5].0, d[4].0, d[3].0, d[2].0, d[1].0, d[0].0
                ],
                _mm512_unpacklo_epi8,
                _mm512_unpackhi_epi8,
                _mm512_unpacklo_epi16,
                _mm512_unpackhi_epi16,
                _mm512_unpacklo_epi32,
                _mm512_unpackhi_epi32
            );
            for octets in &mut tokens {
                *octets = transpose(*octets);
            }
            tokens
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
            let d = sum_256::<BYTE_DIGITS>(rows, offsets);
            let octets = interleave!(
                [
                    d[7].0, d[6].0, d[5].0, d[4].0, d[3].0, d[2].0, d[1].0, d[0].0
                ],
                _mm256_unpacklo_epi8,
                _mm256_unpackhi_epi8,
                _mm256_unpacklo_epi16,
                _mm256_unpackhi_epi16,
                _mm256_unpacklo_epi32,
                _mm256_unpackhi_epi32
            );
            // Two registers hold octets 0 2 1 3 and 4 6 5 7.
            let order = _mm512_setr_epi64(0, 4, 2, 6, 1, 5, 3, 7);
            let mut tokens = [_mm512_setzero_si512(); 8];
            for i in 0..Self::REGISTERS {
                let low = _mm512_castsi256_si512(octets[2 * i]);
                let both = _mm512_inserti64x4::<1>(low, octets[2 * i + 1]);
                tokens[i] = transpose(_mm512_permutexvar_epi64(order, both));
            }
            tokens
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
            let d = sum_short::<SHIFT, BYTE_DIGITS>(rows, offsets);
            let octets = interleave!(
                [
                    d[7].0, d[6].0, d[5].0, d[4].0, d[3].0, d[2].0, d[1].0, d[0].0
                ],
                _mm_unpacklo_epi8,
                _mm_unpackhi_epi8,
                _mm_unpacklo_epi16,
                _mm_unpackhi_epi16,
                _mm_unpacklo_epi32,
                _mm_unpackhi_epi32
            );
            let order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
            let mut tokens = [_mm512_setzero_si512(); 8];
            for i in 0..Self::REGISTERS {
                let all = _mm512_castsi128_si512(octets[4 * i]);
                let all = _mm512_inserti64x2::<1>(all, octets[4 * i + 1]);
                let all = _mm512_inserti64x2::<2>(all, octets[4 * i + 2]);
                let all = _mm512_inserti64x2::<3>(all, octets[4 * i + 3]);
                tokens[i] = transpose(_mm512_permutexvar_epi64(order, all));
            }
            tokens
        }
    }
}

/// Transposes the 8 × 8 bits of every qword: as a matrix over GF(2), it multiplies the unit vectors. The instruction
/// counts a matrix's rows from the last byte on, which is why the digits are interleaved from the last one on.
#[inline(always)]
unsafe fn transpose(x: __m512i) -> __m512i {
    // SAFETY: the callers of this module's functions promise GFNI and AVX-512 F.
    unsafe {
        let unit = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
        _mm512_gf2p8affine_epi64_epi8::<0>(unit, x)
    }
}

/// The similarities of the tile's tokens to every term.
///
/// # Safety
///
/// As for [`log_sums`].
#[inline(always)]
unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
    let TilePlace { layer, first, tile } = place;
    let groups = job.groups;
    let lines = tile.rows.len().div_ceil(64 * (groups.tables().len() + 1));
    let mut tables = groups.tables().iter();
    let mut step = Step::Others;
    let others = (groups.others(layer), &groups.tables()[0]);
    for (term, uses) in job.terms.iter().enumerate() {
        let uses = uses.iter().zip(&mut tables);
        let uses = uses.map(|(used, table)| (groups.rows(layer, used.group), table));
        // The rows that the first group leaves out come before all.
        for (list, table) in (term == 0).then_some(others).into_iter().chain(uses) {
            let group = Group {
                rows: tile.rows.as_ptr(),
                offsets: &list.offsets,
                table: &table.bytes[usize::from(list.complement)],
                step,
            };
            scratch.ahead.advance(lines, fetch);
            // SAFETY: the caller's promise is ours; the tile has the width that is asked for.
            unsafe {
                match tile.width {
                    512 => add_group::<W512>(&group, scratch),
                    256 => add_group::<W256>(&group, scratch),
                    128 => add_group::<Short<0>>(&group, scratch),
                    64 => add_group::<Short<1>>(&group, scratch),
                    32 => add_group::<Short<2>>(&group, scratch),
                    _ => add_group::<Short<3>>(&group, scratch),
                }
            }
            step = if step == Step::Others {
                Step::VeryFirst
            } else {
                Step::Next
            };
        }
        sink.take(layer, term, first, &scratch.similarities[..tile.tokens]);
        step = Step::First;
    }
}

/// What to do with the counts of a group.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    /// They are the rows that the first group leaves out: keep them.
    Others,
    /// Together with those they are `|d|`; then as `First`.
    VeryFirst,
    /// Begin a term.
    First,
    /// Add to the term.
    Next,
}

struct Group<'a> {
    rows: *const u8,
    offsets: &'a [u16],
    table: &'a [[u8; 256]; 2],
    step: Step,
}

/// Counts a group's rows, looks the weighted cosines up and adds them to the term's similarities.
///
/// # Safety
///
/// As for [`Width`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,bmi1,bmi2")]
#[inline(never)]
unsafe fn add_group<W: Width>(group: &Group, scratch: &mut Scratch) {
    let ones: *mut __m512i = scratch.ones.as_mut_ptr().cast();
    let composed: *mut __m512i = scratch.similarities.as_mut_ptr().cast();
    // SAFETY: the caller's promise is ours; the buffers are aligned and as long as the registers that go there.
    unsafe {
        let counts = W::count(group.rows, group.offsets);
        if group.step == Step::Others {
            for r in 0..W::REGISTERS {
                _mm512_store_si512(ones.add(r), counts[r]);
            }
            return;
        }
        if group.step == Step::VeryFirst {
            for r in 0..W::REGISTERS {
                let sum = _mm512_add_epi8(_mm512_load_si512(ones.add(r)), counts[r]);
                _mm512_store_si512(ones.add(r), sum);
            }
        }
        let set = _mm512_set1_epi8(group.offsets.len() as i8);
        let cosines = Cosines::new(group.table);
        let keep = if group.step == Step::Next {
            u32::MAX
        } else {
            0
        };
        for r in 0..W::REGISTERS {
            // |d| − |d ∧ q| and |q| − |d ∧ q| fit a byte, and so does their sum, 256 being taken as 255.
            let only_document = _mm512_sub_epi8(_mm512_load_si512(ones.add(r)), counts[r]);
            let only_group = _mm512_sub_epi8(set, counts[r]);
            let [even, odd] = cosines.look_up(_mm512_adds_epu8(only_document, only_group));
            for (at, cosine) in [(2 * r, even), (2 * r + 1, odd)] {
                let before = _mm512_maskz_loadu_epi16(keep, composed.add(at).cast());
                _mm512_store_si512(composed.add(at), _mm512_adds_epi16(before, cosine));
            }
        }
    }
}

/// A [`crate::query::CosineTable`] in registers.
struct Cosines {
    high: [__m512i; 4],
    low: [__m512i; 4],
}

impl Cosines {
    #[inline(always)]
    unsafe fn new(table: &[[u8; 256]; 2]) -> Self {
        let load = |table: &[u8; 256]| {
            let start: *const __m512i = table.as_ptr().cast();
            // SAFETY: the callers of this module's functions promise AVX-512 F; a table is four registers.
            unsafe {
                [
                    _mm512_loadu_si512(start),
                    _mm512_loadu_si512(start.add(1)),
                    _mm512_loadu_si512(start.add(2)),
                    _mm512_loadu_si512(start.add(3)),
                ]
            }
        };
        Self {
            high: load(&table[0]),
            low: load(&table[1]),
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
