//! What a forked child must not touch.
//!
//! A child of `fork` has the parent's memory and none of its threads: the thread pool's work would never be done, and
//! LMDB forbids the use of an environment that another process opened. So the process that first works with the library
//! is remembered, and its forked children get an error.

use crate::errors::ForkError;
use pyo3::PyResult;
use std::sync::atomic::{AtomicU32, Ordering};

/// 0 before the first use.
static USER: AtomicU32 = AtomicU32::new(0);

/// Call before any work. An error in a child that was forked after the library was used.
pub(crate) fn enter() -> PyResult<()> {
    let here = std::process::id();
    match USER.compare_exchange(0, here, Ordering::Relaxed, Ordering::Relaxed) {
        Err(user) if user != here => Err(ForkError::new_err(
            "this process was forked from one that had used becr, whose threads and open indexes it does not have; start \
             workers with the \"spawn\" or \"forkserver\" method of multiprocessing, or import and use becr in the workers \
             alone",
        )),
        _ => Ok(()),
    }
}

/// A value that a forked child leaves alone instead of dropping it: closing what the parent has open takes locks that a
/// thread of the parent may have held.
pub(crate) struct Owned<T> {
    value: Option<T>,
    owner: u32,
}

impl<T> Owned<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Some(value),
            owner: std::process::id(),
        }
    }

    /// The value, for work.
    pub(crate) fn get(&self) -> PyResult<&T> {
        enter()?;
        match &self.value {
            Some(value) => Ok(value),
            None => unreachable!("taken by drop alone"),
        }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.owner != std::process::id() {
            std::mem::forget(self.value.take());
        }
    }
}
