//! How far the reading is, for a progress bar in another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A handle on the reader's position. Clones share it; reading it costs next to nothing.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    read: Arc<AtomicU64>,
    documents: Arc<AtomicU64>,
    total: Option<u64>,
}

impl Progress {
    pub(crate) fn new(total: Option<u64>) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }

    /// Bytes read so far, as stored (before decompression).
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes of all files together, as stored; `None` if standard input is among them.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total
    }

    /// Documents handed out so far.
    pub fn documents(&self) -> u64 {
        self.documents.load(Ordering::Relaxed)
    }

    pub(crate) fn add_bytes(&self, count: u64) {
        self.read.fetch_add(count, Ordering::Relaxed);
    }

    /// A finished file counts in full, whether or not its last bytes were needed.
    pub(crate) fn set_bytes(&self, count: u64) {
        self.read.store(count, Ordering::Relaxed);
    }

    pub(crate) fn add_document(&self) {
        self.documents.fetch_add(1, Ordering::Relaxed);
    }
}
