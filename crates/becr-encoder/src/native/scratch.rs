//! Working memory of a task, handed from task to task.

use crate::kernel::{Buffer, ByteRows, Panels};
use std::sync::Mutex;

/// What one task needs besides its rows.
#[derive(Default)]
pub(super) struct Scratch {
    /// Left factor of a product.
    pub(super) input: Buffer,
    /// Its result.
    pub(super) output: Buffer,
    /// The wide middle of the feed-forward part, or a block of attention scores.
    pub(super) wide: Buffer,
    /// Left factor of a product in int8.
    pub(super) bytes: ByteRows,
    /// One number per row.
    pub(super) per_row: Buffer,
    /// Keys of one head.
    pub(super) keys: Panels,
    /// Values of one head.
    pub(super) values: Panels,
}

/// As many scratches as there were tasks at the same time.
#[derive(Default)]
pub(super) struct ScratchPool(Mutex<Vec<Scratch>>);

impl ScratchPool {
    /// Lends a scratch to `task`.
    pub(super) fn with<T>(&self, task: impl FnOnce(&mut Scratch) -> T) -> T {
        // A task that panicked loses its scratch but leaves the list whole, so a poisoned lock is fine.
        let lock = || {
            self.0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        let mut scratch = lock().pop().unwrap_or_default();
        let result = task(&mut scratch);
        lock().push(scratch);
        result
    }
}

/// Distance between rows of `len` floats: whole cache lines, and one more so that a dozen rows do not all fall
/// into the same set of the cache when `len` is a power of two.
pub(super) fn padded(len: usize) -> usize {
    len.next_multiple_of(16) + 16
}
