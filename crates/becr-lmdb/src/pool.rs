//! Threads that wait for the disk, so that a query does not wait for one record after the other.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::LazyLock;

/// A disk is at its best with many requests at a time.
const THREADS: usize = 16;

/// One pool for the process, started by the first query that has to wait; `None` if the system has no threads to give.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let name = |number| format!("becr-prefetch-{number}");
    let pool = ThreadPoolBuilder::new().num_threads(THREADS);
    pool.thread_name(name).build().ok()
});

/// Shares a list out to the threads and waits until all parts are done.
pub(crate) fn each_part<T: Sync>(list: &[T], work: impl Fn(&[T]) + Sync) {
    let Some(pool) = &*POOL else {
        return;
    };
    let share = list.len().div_ceil(THREADS).max(1);
    pool.scope(|scope| {
        for part in list.chunks(share) {
            scope.spawn(|_| work(part));
        }
    });
}
