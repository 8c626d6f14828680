//! Scoring a document, for any backend: tiles in, similarities to the pool.

use super::{Job, Sink, histogram};
use crate::moments::{FEWEST, Moments, Window};
use crate::pool::{self, Histogram};
use crate::tile::{LARGEST, MAX_WIDTH, Tile};
use crate::workspace::{Ahead, Scratch, Similarities};
use crate::{Kernels, Relative, Workspace};

/// What an implementation provides.
///
/// # Safety
///
/// The methods may use instructions that only some CPUs have: the caller runs on one that has them.
pub(super) trait Backend {
    /// Computes the similarities of all tokens of `tile` to every term and gives them to `sink`.
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink);

    /// Asks for the cache line at an address, which may be any.
    #[inline(always)]
    fn fetch(_address: usize) {}

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

    /// Adds the kernels of all tokens in the histograms of the terms to `sums`, `[term][kernel]`, and empties them.
    #[inline(always)]
    unsafe fn drain(histograms: &mut [Histogram], kernels: &Kernels, sums: &mut [f32]) {
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
        let mut sink = Pool::<B> {
            relative: job.document.relative_to(),
            kernels,
            histograms,
            moments: &mut moments[..terms],
            sums,
            ahead,
            backend: std::marker::PhantomData,
        };
        // SAFETY: the caller's promise is ours.
        unsafe { walk::<B>(&job, layer, scratch, last, &mut sink) };
        sink.flush();
    }
    pool::logarithms(out, kernels.epsilon());
}

struct Pool<'a, B> {
    relative: Option<Relative<'a>>,
    kernels: &'a Kernels,
    histograms: &'a mut [Histogram],
    moments: &'a mut [Moments],
    /// `[term][kernel]`.
    sums: &'a mut [f32],
    ahead: &'a mut Ahead,
    backend: std::marker::PhantomData<B>,
}

impl<B: Backend> Pool<'_, B> {
    /// Decides by the first tile of a layer how the terms are pooled.
    #[inline(always)]
    fn begin(&mut self, tokens: usize, similarities: &[Similarities]) {
        let windows = self.kernels.windows();
        for (moments, similarities) in self.moments.iter_mut().zip(similarities) {
            // SAFETY: whoever made this pool promised a CPU for the backend.
            let bounds = || unsafe { B::bounds(similarities, tokens) };
            let serves = B::MOMENTS && tokens >= FEWEST;
            let window = serves.then(bounds).and_then(Window::around);
            moments.window = window.filter(|&window| windows.allow(window));
        }
    }

    #[inline(always)]
    fn flush(&mut self) {
        let kernels = self.kernels.len();
        // SAFETY: whoever made this pool promised a CPU for the backend.
        unsafe {
            for (moments, sums) in (self.moments.iter_mut()).zip(self.sums.chunks_mut(kernels)) {
                if let Some(window) = moments.window {
                    B::finish(moments, window, self.kernels, sums);
                }
            }
            if self.moments.iter().any(|moments| moments.window.is_none()) {
                B::drain(self.histograms, self.kernels, self.sums);
            }
        }
    }

    /// Adds the tokens of a tile, and fetches as many lines as it has meanwhile.
    #[inline(always)]
    fn add(&mut self, tokens: usize, lines: usize, similarities: &[Similarities]) {
        let terms = similarities.len();
        if self.moments.iter().all(|moments| moments.window.is_none()) {
            let lines = lines.div_ceil(histogram::steps(terms, tokens).max(1));
            return histogram::add(self.histograms, similarities, tokens, || {
                self.ahead.advance(lines, B::fetch);
            });
        }
        let lines = lines.div_ceil(terms * tokens.div_ceil(32));
        for i in 0..terms {
            let Some(window) = self.moments[i].window else {
                let one = i..i + 1;
                histogram::add(
                    &mut self.histograms[one.clone()],
                    &similarities[one],
                    tokens,
                    || (),
                );
                continue;
            };
            let meanwhile = || self.ahead.advance(lines, B::fetch);
            // SAFETY: whoever made this pool promised a CPU for the backend.
            unsafe {
                B::add(
                    &similarities[i],
                    tokens,
                    window,
                    &mut self.moments[i],
                    meanwhile,
                )
            };
        }
    }
}

impl<B: Backend> Sink for Pool<'_, B> {
    #[inline(always)]
    fn meanwhile(&mut self, place: &TilePlace, steps: usize) {
        let lines = place.tile.rows.len() / 64;
        self.ahead.advance((lines / 2).div_ceil(steps), B::fetch);
    }

    #[inline(always)]
    fn take(&mut self, place: &TilePlace, similarities: &mut [Similarities]) {
        let (first, tokens) = (place.tile.first, place.tile.tokens);
        if let Some(relative) = self.relative {
            relative.complete(first, tokens, similarities);
        }
        if first == 0 {
            self.begin(tokens, similarities);
        }
        // Histograms and moments have room for so many tokens, then they must be emptied.
        if first != 0 && first.is_multiple_of(pool::FLUSH_TILES * MAX_WIDTH)
            || self.moments.iter().any(Moments::is_full)
        {
            self.flush();
        }
        // As much memory is fetched as the tile has, while the CPU has little else to wait for.
        self.add(tokens, place.tile.rows.len() / 128, similarities);
        let sums = self.sums.chunks_exact_mut(self.kernels.len());
        for (similarities, sums) in similarities.iter().zip(sums) {
            pool::add_narrow_kernels(&similarities.0[..tokens], self.kernels, sums);
        }
    }
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
