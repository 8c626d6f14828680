//! Working memory, handed from task to task and from batch to batch: what is given back to the system has to be mapped
//! and cleared anew, page by page, while all other threads of the process wait for the same lock.

use crate::kernel::{Buffer, ByteRows, Panels};
use std::sync::Mutex;

/// What one task needs besides its rows.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Left factor of a product.
    pub(crate) input: Buffer,
    /// Its result.
    pub(crate) output: Buffer,
    /// The wide middle of the feed-forward part, or a block of attention scores.
    pub(crate) wide: Buffer,
    /// Left factor of a product in int8.
    pub(crate) bytes: ByteRows,
    /// One number per row.
    pub(crate) per_row: Buffer,
    /// Keys of one head.
    pub(crate) keys: Panels,
    /// Values of one head.
    pub(crate) values: Panels,
}

/// What one forward pass needs: as large as the largest batch so far.
#[derive(Default)]
pub(crate) struct PassBuffers {
    /// Hidden states, a row per token.
    pub(crate) states: Buffer,
    /// Queries, keys and values: a row per token.
    pub(crate) projections: Buffer,
    /// What attention found: per sequence, per head, `tokens × head size`.
    pub(crate) contexts: Buffer,
}

/// As many pieces of working memory as there were users at the same time.
#[derive(Default)]
pub(crate) struct Pool<M>(Mutex<Vec<M>>);

impl<M: Default> Pool<M> {
    /// Lends a piece to `task`.
    pub(crate) fn with<T>(&self, task: impl FnOnce(&mut M) -> T) -> T {
        // A task that panicked loses its memory but leaves the list whole, so a poisoned lock is fine.
        let lock = || {
            self.0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        let mut memory = lock().pop().unwrap_or_default();
        let result = task(&mut memory);
        lock().push(memory);
        result
    }
}

/// Distance between rows of `len` floats: whole cache lines, and one more so that a dozen rows do not all fall
/// into the same set of the cache when `len` is a power of two.
pub(crate) fn padded(len: usize) -> usize {
    len.next_multiple_of(16) + 16
}
