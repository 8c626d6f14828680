//! Pooling the similarities of a layer, tile by tile: a term by moments if polynomials follow the kernels on the window of
//! its similarities, otherwise in a histogram.

use super::document::{Backend, TilePlace};
use super::{Sink, histogram};
use crate::moments::{FEWEST, Moments};
use crate::pool::{self, Histogram};
use crate::prefetch::{Ahead, Near};
use crate::tile::MAX_WIDTH;
use crate::workspace::Similarities;
use crate::{Kernels, Relative};

/// The sums of kernels of a layer, in the making.
pub(super) struct Pool<'a, B> {
    pub(super) bits: usize,
    pub(super) relative: Option<Relative<'a>>,
    pub(super) kernels: &'a Kernels,
    /// False if all terms are pooled in histograms.
    pub(super) by_moments: bool,
    pub(super) histograms: &'a mut [Histogram],
    /// A term whose moments have no window is pooled in its histogram.
    pub(super) moments: &'a mut [Moments],
    /// `[term][kernel]`.
    pub(super) sums: &'a mut [f32],
    pub(super) ahead: &'a mut Ahead,
    /// Lines that were fetched while the tile was counted.
    pub(super) fetched: usize,
    pub(super) backend: std::marker::PhantomData<B>,
}

impl<B: Backend> Pool<'_, B> {
    /// Decides how each term is pooled until the next flush, by the similarities of the tile that comes next. Histograms
    /// and moments must be empty.
    #[inline(always)]
    fn begin(&mut self, tokens: usize, similarities: &[Similarities]) {
        let windows = self.kernels.windows();
        let serves = self.by_moments && tokens >= FEWEST;
        for (moments, similarities) in self.moments.iter_mut().zip(similarities) {
            // SAFETY: whoever made this pool promised a CPU for the backend.
            let bounds = || unsafe { B::bounds(similarities, tokens) };
            moments.window = serves
                .then(bounds)
                .and_then(|bounds| windows.around(bounds));
        }
    }

    /// Adds the kernels of all tokens in histograms and moments to the sums, and empties both.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        let sums = self.sums.chunks_exact_mut(self.kernels.len());
        for (moments, sums) in self.moments.iter_mut().zip(sums) {
            if let Some(window) = moments.window {
                // SAFETY: whoever made this pool promised a CPU for the backend.
                unsafe { B::finish(moments, window, self.kernels, sums) };
            }
        }
        if self.moments.iter().any(|moments| moments.window.is_none()) {
            self.drain();
        }
    }

    /// Empties the histograms, three at a time.
    #[inline(always)]
    fn drain(&mut self) {
        let (threes, rest) = self.histograms.as_chunks_mut::<3>();
        let (sums_of_threes, sums_of_rest) =
            (self.sums).split_at_mut(3 * threes.len() * self.kernels.len());
        let sums_of_threes = sums_of_threes.chunks_exact_mut(3 * self.kernels.len());
        // SAFETY: whoever made this pool promised a CPU for the backend.
        unsafe {
            for (three, sums) in threes.iter_mut().zip(sums_of_threes) {
                B::drain(three, self.kernels, sums);
            }
            if let Some(two) = rest.first_chunk_mut::<2>() {
                B::drain(two, self.kernels, sums_of_rest);
            } else if let Some(one) = rest.first_chunk_mut::<1>() {
                B::drain(one, self.kernels, sums_of_rest);
            }
        }
    }

    /// Adds the tokens of a tile to histograms or moments. Meanwhile prefetches `lines` cache lines far ahead and those of
    /// the next tile.
    #[inline(always)]
    fn add(&mut self, tokens: usize, lines: usize, mut near: Near, similarities: &[Similarities]) {
        if self.moments.iter().all(|moments| moments.window.is_none()) {
            let lines = lines.div_ceil(histogram::steps(similarities.len(), tokens).max(1));
            return histogram::add(self.histograms, similarities, tokens, || {
                self.ahead.advance(lines, B::fetch);
            });
        }
        let windows = (self.moments.iter()).filter(|moments| moments.window.is_some());
        let steps = windows.count() * tokens.div_ceil(32);
        let (lines, near_lines) = (lines.div_ceil(steps), Near::LINES.div_ceil(steps));
        let histograms = self.histograms.as_chunks_mut::<1>().0;
        let lists = similarities.as_chunks::<1>().0;
        for ((moments, histogram), list) in self.moments.iter_mut().zip(histograms).zip(lists) {
            if let Some(window) = moments.window {
                let meanwhile = || {
                    self.ahead.advance(lines, B::fetch);
                    near.advance(near_lines, B::fetch_close, B::fetch);
                };
                // SAFETY: whoever made this pool promised a CPU for the backend.
                unsafe { B::add(&list[0], tokens, window, moments, meanwhile) };
            } else {
                histogram::add(histogram, list, tokens, || ());
            }
        }
    }
}

impl<B: Backend> Sink for Pool<'_, B> {
    #[inline(always)]
    fn fetch_ahead(&mut self, lines: usize) {
        self.fetched += lines;
        self.ahead.advance(lines, B::fetch);
    }

    #[inline(always)]
    fn take(&mut self, place: &TilePlace, similarities: &mut [Similarities]) {
        let (first, tokens) = (place.tile.first, place.tile.tokens);
        if let Some(relative) = self.relative {
            relative.complete(first, tokens, similarities);
        }
        // Histograms and moments must be emptied before their counters can overflow.
        let full = first.is_multiple_of(pool::FLUSH_TILES * MAX_WIDTH)
            || self.moments.iter().any(Moments::is_full);
        if full {
            if first != 0 {
                self.flush();
            }
            self.begin(tokens, similarities);
        }
        // Per tile, as many lines are prefetched as the tile has: counting did some of them, pooling does the rest.
        let lines = (place.tile.rows.len() / 64).saturating_sub(self.fetched);
        self.fetched = 0;
        let near = self.ahead.after(place.tile.end(self.bits));
        self.add(tokens, lines, near, similarities);
        let sums = self.sums.chunks_exact_mut(self.kernels.len());
        for (similarities, sums) in similarities.iter().zip(sums) {
            pool::add_narrow_kernels(&similarities.0[..tokens], self.kernels, sums);
        }
    }
}
