//! Buffers that are made once per thread and used for every document.

use crate::{CompositeQuery, pool::Histogram, tile::MAX_WIDTH};

/// The engine's buffers: keep one per thread, so that scoring a document allocates nothing.
#[derive(Default)]
pub struct Workspace {
    pub(crate) scratch: Box<Scratch>,
    pub(crate) histograms: Vec<Histogram>,
    /// Similarities of raw vectors to one term.
    pub(crate) cosines: Vec<f32>,
    pub(crate) log_sums: Vec<f32>,
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace")
            .field("terms", &self.histograms.len())
            .finish_non_exhaustive()
    }
}

impl Workspace {
    /// Empty buffers. They grow with the longest query they meet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for `query`: does nothing the second time.
    pub(crate) fn prepare(&mut self, query: &CompositeQuery) {
        let terms = query.terms().len();
        if self.histograms.len() < terms {
            self.histograms.resize_with(terms, Histogram::default);
        }
    }
}

/// What the computation of one tile needs. All arrays are in the order of the tokens.
#[repr(C, align(64))]
pub(crate) struct Scratch {
    /// Counted rows of one group, per token.
    pub(crate) counts: Counts,
    /// Those of the first group, which also serve to find `ones`.
    pub(crate) first: Counts,
    /// `b/2 − |d|`: half the bits less the bits set in the token's footprint.
    pub(crate) balance: [f32; MAX_WIDTH],
    /// The same as bytes `|d| mod 256`, in the order of the registers.
    pub(crate) ones: [[u8; 64]; MAX_WIDTH / 64],
    pub(crate) composed: [f32; MAX_WIDTH],
    /// Composed similarities of one term in units of 2⁻¹⁵.
    pub(crate) similarities: [i16; MAX_WIDTH],
    pub(crate) next_first: usize,
    pub(crate) ahead: Ahead,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            counts: Counts::default(),
            first: Counts::default(),
            balance: [0.0; MAX_WIDTH],
            ones: [[0; 64]; MAX_WIDTH / 64],
            composed: [0.0; MAX_WIDTH],
            similarities: [0; MAX_WIDTH],
            next_first: 0,
            ahead: Ahead::default(),
        }
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

/// What to fetch while a record is computed, beside the record itself.
#[derive(Clone, Copy)]
pub(crate) enum Next<'a> {
    /// The beginning of the record that comes next.
    Begin(&'a [u8]),
    /// All of the record that comes next: this one is in the cache already.
    Whole(&'a [u8]),
}

/// Where to fetch ahead: a position that runs a fixed distance before the one that is computed, through this record
/// and on into the next.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Address and length of what is left of this record, and of the next record. Addresses only: they are given to
    /// the prefetch instruction, which may be given any, and never read.
    left: [(usize, usize); 2],
}

impl Ahead {
    /// Bytes between what is fetched and what is computed.
    const LEAD: usize = 16 * 1024;

    /// Starts a record whose first [`Self::LEAD`] bytes have been fetched while the one before was computed.
    pub(crate) fn start(&mut self, record: &[u8], next: Next) {
        let span = |bytes: &[u8]| (bytes.as_ptr() as usize, bytes.len());
        self.left = match next {
            Next::Begin(next) => {
                let lead = Self::LEAD.min(record.len());
                [
                    span(&record[lead..]),
                    span(&next[..Self::LEAD.min(next.len())]),
                ]
            }
            Next::Whole(next) => [span(next), (0, 0)],
        };
    }

    /// Fetches the next `lines` cache lines.
    #[inline(always)]
    pub(crate) fn advance(&mut self, lines: usize, fetch: impl Fn(usize)) {
        if self.left[0].1 == 0 {
            self.left.swap(0, 1);
        }
        let (address, length) = self.left[0];
        let bytes = (64 * lines).min(length);
        for line in (0..bytes).step_by(64) {
            fetch(address + line);
        }
        self.left[0] = (address + bytes, length - bytes);
    }
}
