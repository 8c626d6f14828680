//! AVX-512 with VBMI, as Ice Lake, Zen 4 and later CPUs have it.
//!
//! A register holds one bit of 512 tokens, or of 256 for narrower tiles ([`plane`]). The rows of three groups are counted
//! together ([`count`]); GFNI turns the counts into bytes ([`bytes`]); these become distances, and byte permutes look the
//! weighted cosines up, 64 tokens at a time ([`cosines`]). Kernels are pooled by moments, with products of 16-bit numbers
//! (VNNI), where that serves ([`moments`]), and in histograms elsewhere ([`drain`]).
//!
//! Distances of footprints of more than 256 bits do not fit a byte: these are computed as AVX2 does it.

mod bytes;
mod cosines;
mod count;
mod drain;
mod moments;
mod plane;

use super::avx2;
use super::document::{self, Backend, TilePlace};
use super::x86::{fetch, fetch_close};
use super::{Job, Sink};
use crate::lanes::Lanes;
use crate::moments::{Moments, Window};
use crate::workspace::{Scratch, Similarities};
use crate::{Kernels, Workspace, pool::Histogram};
use bytes::Width;
use plane::{Rows, Ymm, Zmm};

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
    unsafe { document::log_sums::<Avx512Vbmi>(job, kernels, work, out) }
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
    unsafe { document::similarities::<Avx512Vbmi>(job, work, out) }
}

struct Avx512Vbmi;

impl Backend for Avx512Vbmi {
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
        unsafe { drain::drain(histograms, kernels, sums) }
    }

    const MOMENTS: bool = true;

    #[inline(always)]
    unsafe fn bounds(similarities: &Similarities, tokens: usize) -> [i16; 2] {
        // SAFETY: the caller's promise is ours.
        unsafe { moments::bounds(&similarities.0, tokens) }
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
        unsafe { moments::add(&similarities.0, tokens, window, moments, meanwhile) }
    }

    #[inline(always)]
    unsafe fn finish(moments: &mut Moments, window: Window, kernels: &Kernels, sums: &mut [f32]) {
        // SAFETY: the caller's promise is ours.
        unsafe { moments::finish(moments, window, kernels, sums) }
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
    let lowest = groups.lowest();
    let triples = groups.triples(layer);
    // Half of the cache lines to fetch ahead are fetched while counting, some at every pair of classes.
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
                    cosines::measure::<W, 6>(
                        &rows, triple, places, lowest, slots, between, meanwhile,
                    );
                } else {
                    cosines::measure::<W, 8>(
                        &rows, triple, places, lowest, slots, between, meanwhile,
                    );
                }
            }
            measured += 3;
        }
        let (of_term, later) = tables.split_at(uses.len());
        // SAFETY: the caller's promise is ours.
        unsafe { cosines::compose::<W>(of_term, &scratch.distances, used, lanes, similarities) };
        used += uses.len();
        tables = later;
    }
    sink.take(&place, &mut scratch.similarities[..job.terms.len()]);
}
