//! AVX2 with FMA, as Haswell, Zen and later CPUs have it.
//!
//! A register holds one bit of 256 tokens, half a tile ([`plane`]). The rows of three groups are counted together
//! ([`count`]); the counts become bytes, or words where they must ([`bytes`]), these distances and weighted cosines in
//! 16-bit arithmetic ([`cosines`]), which are added up term by term and brought into the tokens' order ([`order`]).
//! Kernels are pooled in histograms ([`drain`]).

mod bytes;
mod cosines;
mod count;
mod drain;
mod order;
mod plane;

use super::adder::DIGITS;
use super::document::{self, Backend, TilePlace};
use super::x86::fetch;
use super::{Job, Sink};
use crate::lanes::Lanes;
use crate::pool::Histogram;
use crate::prepared::Trio;
use crate::tile::Tile;
use crate::workspace::{Registers, Scratch};
use crate::{Kernels, Workspace};
use std::ops::Range;

/// See [`super::Checked::log_sums`].
///
/// # Safety
///
/// The CPU has AVX2, FMA, BMI1 and BMI2.
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
pub(super) unsafe fn log_sums(job: Job, kernels: &Kernels, work: &mut Workspace, out: &mut [f32]) {
    // SAFETY: the caller's promise is ours.
    unsafe { document::log_sums::<Avx2>(job, kernels, work, out) }
}

/// See [`super::Checked::similarities`].
///
/// # Safety
///
/// As for [`log_sums`].
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
pub(super) unsafe fn similarities(job: Job, work: &mut Workspace, out: &mut [f32]) {
    // SAFETY: the caller's promise is ours.
    unsafe { document::similarities::<Avx2>(job, work, out) }
}

struct Avx2;

impl Backend for Avx2 {
    #[inline(always)]
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
        // SAFETY: the caller's promise is ours.
        unsafe { tile(job, place, scratch, sink) }
    }

    #[inline(always)]
    unsafe fn drain<const N: usize>(
        histograms: &mut [Histogram; N],
        kernels: &Kernels,
        sums: &mut [f32],
    ) {
        // SAFETY: the caller's promise is ours.
        unsafe { drain::drain(histograms, kernels, sums) }
    }

    #[inline(always)]
    fn fetch(address: usize) {
        fetch(address);
    }
}

/// Tokens of half a tile.
const HALF: usize = 256;

/// Cache lines per trio that can be prefetched while histograms are filled without holding them up.
const LINES_PER_TRIO: usize = 150;

/// The similarities of the tile's tokens to every term.
///
/// # Safety
///
/// As for [`log_sums`].
#[inline(always)]
pub(super) unsafe fn tile(
    job: &Job,
    place: TilePlace,
    scratch: &mut Scratch,
    sink: &mut impl Sink,
) {
    let TilePlace { layer, tile } = place;
    let (groups, lanes, halves) = (
        job.groups,
        Lanes::new(tile.width),
        tile.width.div_ceil(HALF),
    );
    let Scratch {
        registers: work,
        similarities,
        ..
    } = scratch;
    let uses = groups.sines().chunks(3);
    let mut done = 0;
    let scale = cosines::Scale::new(groups.bits);
    let trios = groups.trios(layer);
    // A tile with few trios for its memory is computed fast: half of the prefetches are then spread over its classes.
    let lines = tile.rows.len() / 64;
    let is_fast = lines > LINES_PER_TRIO * trios.len();
    let lines_per_class = lines.div_ceil(8 * trios.len().max(1));
    for (i, (trio, uses)) in trios.iter().zip(uses).enumerate() {
        // SAFETY: the caller's promise is ours.
        unsafe {
            if is_fast {
                for k in 0..trio.classes.len() {
                    sink.fetch_ahead(lines_per_class);
                    count(&tile, halves, trio, k..k + 1, work);
                }
            } else {
                count(&tile, halves, trio, 0..trio.classes.len(), work);
            }
            cosines::add(trio, &scale, uses, halves, work);
        }
        let last = uses.last().map_or(0, |used| used.term);
        let finished = if i + 1 == trios.len() { last + 1 } else { last };
        for term in done..finished {
            // SAFETY: the caller's promise is ours.
            unsafe {
                order::take(
                    &mut work.sums[term % 4],
                    halves,
                    lanes,
                    &mut similarities[term],
                );
            };
        }
        done = finished;
    }
    sink.take(&place, &mut similarities[..job.terms.len()]);
}

/// Counts the ones in some classes of a trio. Class 0 must be counted first: it also finds the offsets of all rows.
///
/// # Safety
///
/// As for [`log_sums`].
#[inline(always)]
unsafe fn count(
    tile: &Tile,
    halves: usize,
    trio: &Trio,
    classes: Range<usize>,
    work: &mut Registers,
) {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let count = match (trio.digits, trio.doublings) {
            (..=6, 2) => count_digits::<6, 2>,
            (..=6, 3..) => count_digits::<6, 3>,
            (..=7, 1) => count_digits::<7, 1>,
            (..=7, _) => count_digits::<7, 0>,
            (8, _) => count_digits::<8, 0>,
            _ => count_digits::<DIGITS, 0>,
        };
        count(tile, halves, trio, classes, work);
    }
}

/// [`count`] for counts of at most `N` digits, doubled `DOUBLINGS` times.
///
/// # Safety
///
/// As for [`log_sums`].
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn count_digits<const N: usize, const DOUBLINGS: usize>(
    tile: &Tile,
    halves: usize,
    trio: &Trio,
    classes: Range<usize>,
    work: &mut Registers,
) {
    if classes.start == 0 {
        let stride = tile.stride() as u16;
        for (place, row) in work.places.0.iter_mut().zip(&trio.rows) {
            *place = row * stride;
        }
    }
    for k in classes {
        let class = &trio.classes[k];
        let places = &work.places.0[class.start..class.end];
        for half in 0..halves {
            let start = tile.rows[32 * half..].as_ptr();
            let out = &mut work.counts[k].as_chunks_mut::<8>().0[half];
            // SAFETY: the caller's promise is ours; a tile has a row for every bit and lets 64 bytes of it be read.
            unsafe {
                let digits = count::sum::<N>(places, class, start);
                if N > 8 {
                    bytes::write_words(&digits, out);
                } else {
                    bytes::write::<N, DOUBLINGS>(&digits, out);
                }
            }
        }
    }
}
