//! Scoring a document, for any backend: tiles in, similarities to the pool.

use super::{Job, Sink};
use crate::pool::{self, Histogram};
use crate::{Kernels, Workspace, tile::MAX_WIDTH, tile::Tile, workspace::Scratch};

/// What an implementation provides.
///
/// # Safety
///
/// The methods may use instructions that only some CPUs have: the caller runs on one that has them.
pub(super) trait Backend {
    /// Computes the similarities of all tokens of `tile` to every term and gives them to `sink`.
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink);

    /// Adds the kernels of all tokens in `histogram` to `sums` and empties it.
    #[inline(always)]
    unsafe fn add_histogram(histogram: &mut Histogram, kernels: &Kernels, sums: &mut [f32]) {
        histogram.drain(kernels, sums);
    }
}

/// A tile and where it comes from.
#[derive(Clone, Copy)]
pub(super) struct TilePlace<'a> {
    pub(super) layer: usize,
    /// Index of its first token.
    pub(super) first: usize,
    pub(super) tile: Tile<'a>,
}

/// Walks the document.
///
/// # Safety
///
/// As for [`Backend`].
#[inline(always)]
unsafe fn walk<B: Backend>(job: &Job, layer: usize, scratch: &mut Scratch, sink: &mut impl Sink) {
    for (i, tile) in job.document.layer(layer).enumerate() {
        // All tiles but the last ones, which are narrower, are of the greatest width.
        let first = if i == 0 { 0 } else { scratch.next_first };
        scratch.next_first = first + tile.width;
        // SAFETY: the caller's promise is ours.
        unsafe { B::tile(job, TilePlace { layer, first, tile }, scratch, sink) }
    }
}

/// See [`super::Checked::log_sums`].
///
/// # Safety
///
/// As for [`Backend`].
#[inline(always)]
pub(super) unsafe fn log_sums<B: Backend>(
    job: Job,
    kernels: &Kernels,
    work: &mut Workspace,
    out: &mut [f32],
) {
    let terms = job.terms.len();
    let Workspace {
        scratch,
        histograms,
        ..
    } = work;
    scratch.ahead.start(job.document.bytes(), job.next);
    let histograms = &mut histograms[..terms];
    for layer in 0..job.document.layout().layers() {
        let sums = &mut out[layer * terms * kernels.len()..][..terms * kernels.len()];
        sums.fill(0.0);
        let mut sink = Pool::<B> {
            kernels,
            histograms,
            sums,
            backend: std::marker::PhantomData,
        };
        // SAFETY: the caller's promise is ours.
        unsafe { walk::<B>(&job, layer, scratch, &mut sink) };
        sink.flush();
    }
    pool::logarithms(out, kernels.epsilon());
}

struct Pool<'a, B> {
    kernels: &'a Kernels,
    histograms: &'a mut [Histogram],
    /// `[term][kernel]`.
    sums: &'a mut [f32],
    backend: std::marker::PhantomData<B>,
}

impl<B: Backend> Pool<'_, B> {
    #[inline(always)]
    fn flush(&mut self) {
        let sums = self.sums.chunks_exact_mut(self.kernels.len());
        for (histogram, sums) in self.histograms.iter_mut().zip(sums) {
            // SAFETY: whoever made this pool promised a CPU for the backend.
            unsafe { B::add_histogram(histogram, self.kernels, sums) };
        }
    }
}

impl<B: Backend> Sink for Pool<'_, B> {
    #[inline(always)]
    fn take(&mut self, _layer: usize, term: usize, first: usize, similarities: &[i16]) {
        // A histogram's counters hold so many tokens, then they must be emptied.
        if term == 0 && first != 0 && first.is_multiple_of(pool::FLUSH_TILES * MAX_WIDTH) {
            self.flush();
        }
        self.histograms[term].add(similarities);
        let sums = &mut self.sums[term * self.kernels.len()..][..self.kernels.len()];
        pool::add_narrow_kernels(similarities, self.kernels, sums);
    }
}

/// See [`super::Checked::similarities`].
///
/// # Safety
///
/// As for [`Backend`].
#[inline(always)]
pub(super) unsafe fn similarities<B: Backend>(job: Job, work: &mut Workspace, out: &mut [f32]) {
    work.scratch.ahead.start(job.document.bytes(), job.next);
    let layout = job.document.layout();
    let mut sink = Collect {
        terms: job.terms.len(),
        tokens: layout.tokens(),
        out,
    };
    for layer in 0..layout.layers() {
        // SAFETY: the caller's promise is ours.
        unsafe { walk::<B>(&job, layer, &mut work.scratch, &mut sink) };
    }
}

struct Collect<'a> {
    terms: usize,
    tokens: usize,
    out: &'a mut [f32],
}

impl Sink for Collect<'_> {
    fn take(&mut self, layer: usize, term: usize, first: usize, similarities: &[i16]) {
        let start = (layer * self.terms + term) * self.tokens + first;
        for (out, &c) in self.out[start..].iter_mut().zip(similarities) {
            *out = f32::from(c) * (1.0 / 32768.0);
        }
    }
}
