//! Plain Rust for any CPU. The compiler makes vectors of its loops.
//!
//! Groups are counted one at a time ([`count`]), 128 tokens side by side ([`plane`]); the counts become a number per
//! token ([`bytes`]) and cosines in 32-bit floating-point numbers ([`cosines`]). Kernels are pooled in histograms.

mod bytes;
mod cosines;
mod count;
mod plane;

use super::document::{Backend, TilePlace};
use super::{Job, Sink};
use crate::workspace::Scratch;

pub(super) struct Portable;

impl Backend for Portable {
    #[inline(always)]
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
        cosines::tile(job, place, scratch, sink);
    }
}
