//! NEON, as every 64-bit ARM CPU has it.
//!
//! The ways of AVX2 in registers of half the width, with the same results in every digit. A register holds one bit of 128
//! tokens, a lane of a tile's row ([`plane`]), and two lanes go side by side. The rows of three groups are counted together
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
use super::document::{Backend, TilePlace};
use super::{Job, Sink};
use crate::Kernels;
use crate::lanes::Lanes;
use crate::lsh::MAX_BITS;
use crate::pool::Histogram;
use crate::prepared::Trio;
use crate::tile::Tile;
use crate::workspace::{Registers, Scratch};
use plane::Bits;
use std::arch::aarch64::*;
use std::arch::asm;
use std::mem::MaybeUninit;
use std::ops::Range;

pub(super) struct Neon;

impl Backend for Neon {
    #[inline(always)]
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
        tile(job, place, scratch, sink);
    }

    #[inline(always)]
    unsafe fn drain<const N: usize>(
        histograms: &mut [Histogram; N],
        kernels: &Kernels,
        sums: &mut [f32],
    ) {
        drain::drain(histograms, kernels, sums);
    }

    #[inline(always)]
    fn fetch(address: usize) {
        // SAFETY: a prefetch is a hint; it reads nothing and accepts any address.
        unsafe {
            asm!("prfm pldl2keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
    }
}

/// Bytes of a lane.
const LANE: usize = 16;

/// Cache lines per trio that can be prefetched while histograms are filled without holding them up: as with AVX2.
const LINES_PER_TRIO: usize = 150;

/// The similarities of the tile's tokens to every term.
#[inline(always)]
fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
    let TilePlace { layer, tile } = place;
    let (groups, order) = (job.groups, Lanes::new(tile.width));
    let lanes = tile.stride().div_ceil(LANE);
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
        if is_fast {
            for k in 0..trio.classes.len() {
                sink.fetch_ahead(lines_per_class);
                count(&tile, lanes, trio, k..k + 1, work);
            }
        } else {
            count(&tile, lanes, trio, 0..trio.classes.len(), work);
        }
        cosines::add(trio, &scale, uses, lanes, work);
        let last = uses.last().map_or(0, |used| used.term);
        let finished = if i + 1 == trios.len() { last + 1 } else { last };
        for term in done..finished {
            let sums = &mut work.sums[term % 4];
            order::take(sums, lanes, order, &mut similarities[term]);
        }
        done = finished;
    }
    sink.take(&place, &mut similarities[..job.terms.len()]);
}

/// Counts the ones in some classes of a trio.
#[inline(always)]
fn count(tile: &Tile, lanes: usize, trio: &Trio, classes: Range<usize>, work: &mut Registers) {
    let count = match (trio.digits, trio.doublings) {
        (..=6, 2) => count_digits::<6, 2>,
        (..=6, 3..) => count_digits::<6, 3>,
        (..=7, 1) => count_digits::<7, 1>,
        (..=7, _) => count_digits::<7, 0>,
        (8, _) => count_digits::<8, 0>,
        _ => count_digits::<DIGITS, 0>,
    };
    count(tile, lanes, trio, classes, work);
}

/// [`count`] for counts of at most `N` digits, doubled `DOUBLINGS` times.
#[inline(never)]
fn count_digits<const N: usize, const DOUBLINGS: usize>(
    tile: &Tile,
    lanes: usize,
    trio: &Trio,
    classes: Range<usize>,
    work: &mut Registers,
) {
    let mut room = Addresses([const { MaybeUninit::uninit() }; MAX_BITS]);
    let (first, last) = (trio.classes[classes.start], trio.classes[classes.end - 1]);
    room.find(tile, &trio.rows, first.start..last.end);
    for k in classes {
        let class = &trio.classes[k];
        // SAFETY: the addresses of these classes have just been written.
        let rows = unsafe {
            let rows = &raw const room.0[class.start..class.end];
            &*(rows as *const [usize])
        };
        let (first, second) = work.counts[k].split_at_mut(8);
        let (first, second) = (
            &mut first.as_chunks_mut().0[0],
            &mut second.as_chunks_mut().0[0],
        );
        // SAFETY: a tile has a row for every bit and lets 64 bytes of it be read.
        unsafe {
            match lanes {
                1 => write::<N, 1, DOUBLINGS>(&count::sum::<N, 1, 0>(rows, class), first),
                _ => write::<N, 2, DOUBLINGS>(&count::sum::<N, 2, 0>(rows, class), first),
            }
            match lanes {
                ..=2 => (),
                3 => write::<N, 1, DOUBLINGS>(&count::sum::<N, 1, 32>(rows, class), second),
                _ => write::<N, 2, DOUBLINGS>(&count::sum::<N, 2, 32>(rows, class), second),
            }
        }
    }
    #[inline(always)]
    fn write<const N: usize, const REGISTERS: usize, const DOUBLINGS: usize>(
        digits: &[Bits<REGISTERS>; N],
        out: &mut bytes::Out,
    ) {
        if N > 8 {
            bytes::write_words(digits, out);
        } else {
            bytes::write::<N, REGISTERS, DOUBLINGS>(digits, out);
        }
    }
}

/// The addresses of a trio's rows.
struct Addresses([MaybeUninit<usize>; MAX_BITS]);

impl Addresses {
    /// Writes those in a range of the list.
    #[inline(always)]
    fn find(&mut self, tile: &Tile, rows: &[u16], range: Range<usize>) {
        let (start, stride) = (tile.rows.as_ptr().expose_provenance(), tile.stride() as u16);
        let eights = range.start / 8..range.end.div_ceil(8);
        let rows = &rows.as_chunks::<8>().0[eights.clone()];
        for (eight, rows) in self.0.as_chunks_mut::<8>().0[eights].iter_mut().zip(rows) {
            // SAFETY: every 64-bit ARM CPU has NEON; eight addresses are four registers.
            unsafe {
                let (rows, start) = (vld1q_u16(rows.as_ptr()), vdupq_n_u64(start as u64));
                let low = vmull_n_u16(vget_low_u16(rows), stride);
                let high = vmull_high_n_u16(rows, stride);
                let addresses = uint64x2x4_t(
                    vaddw_u32(start, vget_low_u32(low)),
                    vaddw_high_u32(start, low),
                    vaddw_u32(start, vget_low_u32(high)),
                    vaddw_high_u32(start, high),
                );
                let at = eight.as_mut_ptr().cast::<u64>();
                vst1q_u64(at, addresses.0);
                vst1q_u64(at.add(2), addresses.1);
                vst1q_u64(at.add(4), addresses.2);
                vst1q_u64(at.add(6), addresses.3);
            }
        }
    }
}
