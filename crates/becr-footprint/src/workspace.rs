//! Buffers that are made once per thread and used for every document.

use crate::tile::{LARGEST, MAX_WIDTH};
use crate::{CompositeQuery, lsh, moments::Moments, pool::Histogram, prefetch::Ahead};

/// The engine's buffers: keep one per thread, so that pooling a document allocates nothing but, once each, the tables of
/// windows of similarities ([`Kernels`](crate::Kernels) keeps them) and of queries.
pub struct Workspace {
    pub(crate) scratch: Box<Scratch>,
    /// A copy of the document's last tile, if reading whole registers of its last rows would go beyond the document.
    pub(crate) last: Box<[u8; LARGEST]>,
    pub(crate) histograms: Vec<Histogram>,
    pub(crate) moments: Vec<Moments>,
    pub(crate) ahead: Ahead,
    /// Similarities of raw vectors to one term.
    pub(crate) cosines: Vec<f32>,
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace")
            .field("terms", &self.histograms.len())
            .finish_non_exhaustive()
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Workspace {
    /// Empty buffers. They grow with the longest query they meet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            scratch: Box::default(),
            last: Box::new([0; LARGEST]),
            histograms: Vec::new(),
            moments: Vec::new(),
            ahead: Ahead::default(),
            cosines: Vec::new(),
        }
    }

    /// Makes room for `query`: does nothing the second time.
    pub(crate) fn prepare(&mut self, query: &CompositeQuery) {
        let terms = query.terms().len();
        if self.histograms.len() < terms {
            self.histograms.resize_with(terms, Histogram::default);
            self.moments.resize_with(terms, Moments::default);
            let similarities = &mut self.scratch.similarities;
            similarities.resize_with(terms, || Similarities([0; MAX_WIDTH]));
        }
        let longest_term = query.terms().iter().map(Vec::len).max().unwrap_or(0);
        self.scratch.distances.prepare(longest_term);
    }
}

/// What the computation of one tile needs. All arrays are in the order of the tokens.
#[repr(C, align(64))]
pub(crate) struct Scratch {
    /// Counted rows of one group, per token.
    pub(crate) counts: Counts,
    /// Those of the first group: with the counts of all other rows they also give `balance`.
    pub(crate) first: Counts,
    /// `1 − |d| / (b/2)`: how far the bits set in the token's footprint stay below half of all.
    pub(crate) balance: [f32; MAX_WIDTH],
    /// What AVX-512 counts: the differences of a triple's opposite classes.
    pub(crate) differences: Differences,
    /// Distances to the groups of a term.
    pub(crate) distances: Ring,
    pub(crate) composed: [f32; MAX_WIDTH],
    pub(crate) registers: Registers,
    /// Composed similarities of every term.
    pub(crate) similarities: Vec<Similarities>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            counts: Counts::default(),
            first: Counts::default(),
            balance: [0.0; MAX_WIDTH],
            differences: [[[0; 64]; MAX_WIDTH / 64]; 4],
            distances: Ring::default(),
            composed: [0.0; MAX_WIDTH],
            registers: Registers::default(),
            similarities: Vec::new(),
        }
    }
}

/// Numbers of four pairs of classes, in the order of the registers.
pub(crate) type Differences = [[[u8; 64]; MAX_WIDTH / 64]; 4];

/// A ring of distances to groups: a triple takes the next three slots, and the first ones again behind the last.
#[derive(Default)]
pub(crate) struct Ring {
    /// As many as a power of two.
    slots: Vec<[Distances; 3]>,
}

impl Ring {
    /// Makes room for the groups of the longest term and those that are computed with them in the same triples.
    fn prepare(&mut self, longest_term: usize) {
        let wanted = (longest_term.div_ceil(3) + 1).next_power_of_two();
        if self.slots.len() < wanted {
            self.slots.resize_with(wanted, Default::default);
        }
    }

    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    /// The slots of the uses `first`, `first + 1` and `first + 2`, where `first` is a multiple of three.
    #[inline(always)]
    pub(crate) fn three(&mut self, first: usize) -> &mut [Distances; 3] {
        let at = (first / 3) & (self.slots.len() - 1);
        &mut self.slots[at]
    }

    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    /// The slot of a use.
    #[inline(always)]
    pub(crate) fn get(&self, i: usize) -> &Distances {
        &self.slots[(i / 3) & (self.slots.len() - 1)][i % 3]
    }
}

/// Distances to one group, counted from the lowest of the 128 near `b/2`, modulo 256, in the order of the registers.
#[repr(C, align(64))]
pub(crate) struct Distances {
    pub(crate) bytes: [[u8; 64]; MAX_WIDTH / 64],
    /// True if all of them are among these 128.
    pub(crate) near: bool,
}

impl Default for Distances {
    fn default() -> Self {
        Self {
            bytes: [[0; 64]; MAX_WIDTH / 64],
            near: false,
        }
    }
}

/// Similarities of a tile's tokens in units of 2⁻¹⁵.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct Similarities(pub(crate) [i16; MAX_WIDTH]);

/// A number of 16 bits per token in the order of 256-bit registers: byte `p` of half a row has eight tokens, one in each
/// of eight pairs of registers, in the first of the pair if `p` is even.
pub(crate) type Numbers = [[[i16; 16]; 2]; MAX_WIDTH / 32];

/// What AVX2 computes with, and the offsets of rows, which AVX-512 uses too.
#[derive(Default)]
#[repr(C, align(64))]
pub(crate) struct Registers {
    /// The offsets of the rows of a trio or triple in the current tile.
    pub(crate) places: Places,
    /// Ones counted in each class of a trio.
    pub(crate) counts: [Numbers; 4],
    /// Similarities to the terms that a trio belongs to, by term modulo 4; 0 in the others.
    pub(crate) sums: [Numbers; 4],
}

/// Offsets of the rows of a tile.
#[repr(C, align(64))]
pub(crate) struct Places(pub(crate) [u16; lsh::MAX_BITS]);

impl Default for Places {
    fn default() -> Self {
        Self([0; lsh::MAX_BITS])
    }
}

/// A number per token, low and high byte apart; the high bytes only count when footprints exceed 256 bits.
#[repr(C, align(64))]
pub(crate) struct Counts {
    pub(crate) low: [u8; MAX_WIDTH],
    pub(crate) high: [u8; MAX_WIDTH],
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            low: [0; MAX_WIDTH],
            high: [0; MAX_WIDTH],
        }
    }
}
