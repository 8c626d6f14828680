//! Scoring a document, for any backend: tiles in, similarities to the pool.

use super::pooling::Pool;
use super::{Job, Sink};
use crate::moments::{Moments, Window};
use crate::pool::{self, Histogram};
use crate::tile::{LARGEST, Tile};
use crate::workspace::{Scratch, Similarities};
use crate::{Kernels, Relative, Workspace};

/// What an implementation provides.
///
/// # Safety
///
/// The methods may use instructions that only some CPUs have: the caller runs on one that has them.
pub(super) trait Backend {
    /// Computes the similarities of all tokens of `tile` to every term and gives them to `sink`.
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink);

    /// Prefetches the cache line at an address, which need not be valid.
    #[inline(always)]
    fn fetch(_address: usize) {}

    /// The same, for a line that is needed soon.
    #[inline(always)]
    fn fetch_close(_address: usize) {}

    /// True if there is pooling by moments.
    const MOMENTS: bool = false;

    /// Bounds that most of the similarities lie within.
    #[inline(always)]
    unsafe fn bounds(_similarities: &Similarities, _tokens: usize) -> [i16; 2] {
        unreachable!("there are no moments")
    }

    /// Adds similarities to the moments of a term and calls `meanwhile` every 32 of them.
    #[inline(always)]
    unsafe fn add(
        _similarities: &Similarities,
        _tokens: usize,
        _window: Window,
        _moments: &mut Moments,
        _meanwhile: impl FnMut(),
    ) {
        unreachable!("there are no moments")
    }

    /// Adds the kernels of all tokens that were added to `sums`, and forgets them.
    #[inline(always)]
    unsafe fn finish(_moments: &mut Moments, _: Window, _kernels: &Kernels, _sums: &mut [f32]) {
        unreachable!("there are no moments")
    }

    /// Adds the kernels of all tokens in the histograms of some terms to `sums`, `[term][kernel]`, and empties them.
    #[inline(always)]
    unsafe fn drain<const N: usize>(
        histograms: &mut [Histogram; N],
        kernels: &Kernels,
        sums: &mut [f32],
    ) {
        for (histogram, sums) in histograms
            .iter_mut()
            .zip(sums.chunks_exact_mut(kernels.len()))
        {
            histogram.drain(kernels, sums);
        }
    }
}

/// A tile and where it comes from.
#[derive(Clone, Copy)]
pub(crate) struct TilePlace<'a> {
    pub(super) layer: usize,
    pub(super) tile: Tile<'a>,
}

/// Walks the document.
///
/// # Safety
///
/// As for [`Backend`].
#[inline(always)]
unsafe fn walk<B: Backend>(
    job: &Job,
    layer: usize,
    scratch: &mut Scratch,
    last: &mut [u8; LARGEST],
    sink: &mut impl Sink,
) {
    for tile in job.document.layer(layer) {
        let tile = tile.readable(job.groups.bits, last);
        // SAFETY: the caller's promise is ours.
        unsafe { B::tile(job, TilePlace { layer, tile }, scratch, sink) }
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
        moments,
        last,
        ahead,
        ..
    } = work;
    ahead.start(job.document.bytes(), job.next);
    let histograms = &mut histograms[..terms];
    for layer in 0..job.document.layout().layers() {
        let sums = &mut out[layer * terms * kernels.len()..][..terms * kernels.len()];
        sums.fill(0.0);
        for moments in &mut moments[..terms] {
            moments.window = None;
        }
        let mut sink = Pool::<B> {
            bits: job.groups.bits,
            relative: job.document.relative_to(),
            kernels,
            // Wider footprints take most of their time waiting for memory, and histograms leave more of it to prefetches.
            by_moments: B::MOMENTS && job.groups.narrow,
            histograms,
            moments: &mut moments[..terms],
            sums,
            ahead,
            fetched: 0,
            backend: std::marker::PhantomData,
        };
        // SAFETY: the caller's promise is ours.
        unsafe { walk::<B>(&job, layer, scratch, last, &mut sink) };
        sink.flush();
    }
    pool::logarithms(out, kernels.epsilon());
}

/// See [`super::Checked::similarities`].
///
/// # Safety
///
/// As for [`Backend`].
#[inline(always)]
pub(super) unsafe fn similarities<B: Backend>(job: Job, work: &mut Workspace, out: &mut [f32]) {
    let layout = job.document.layout();
    let mut sink = Collect {
        terms: job.terms.len(),
        tokens: layout.tokens(),
        relative: job.document.relative_to(),
        out,
    };
    for layer in 0..layout.layers() {
        // SAFETY: the caller's promise is ours.
        unsafe { walk::<B>(&job, layer, &mut work.scratch, &mut work.last, &mut sink) };
    }
}

struct Collect<'a> {
    terms: usize,
    tokens: usize,
    relative: Option<Relative<'a>>,
    out: &'a mut [f32],
}

impl Sink for Collect<'_> {
    fn take(&mut self, place: &TilePlace, similarities: &mut [Similarities]) {
        if let Some(relative) = self.relative {
            relative.complete(place.tile.first, place.tile.tokens, similarities);
        }
        for (term, similarities) in similarities.iter().enumerate() {
            let start = (place.layer * self.terms + term) * self.tokens + place.tile.first;
            let out = &mut self.out[start..start + place.tile.tokens];
            for (out, &c) in out.iter_mut().zip(&similarities.0) {
                *out = f32::from(c) * (1.0 / 32768.0);
            }
        }
    }
}
