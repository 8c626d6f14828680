//! Threads that wait for the disk, so that a query does not wait for one record after the other.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, LazyLock, mpsc};

/// A disk is at its best with many requests at a time.
const THREADS: usize = 16;

/// One pool for the process, started by the first query that has to wait; `None` if the system has no threads to give.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let name = |number| format!("becr-prefetch-{number}");
    let pool = ThreadPoolBuilder::new().num_threads(THREADS);
    // By default a panic in a spawned job aborts the process; prefetching is not worth that.
    let pool = pool.thread_name(name).panic_handler(drop);
    pool.build().ok()
});

/// Shares a list out to the threads and waits until all parts are done.
///
/// Blocks on a channel instead of rayon's own scope: a caller that is a worker of another rayon pool would run other jobs of
/// that pool while it waits, and its query would wait for those.
pub(crate) fn each_part(list: &[u64], work: impl Fn(&[u64]) + Send + Sync + 'static) {
    let Some(pool) = &*POOL else {
        return;
    };
    let work = Arc::new(work);
    let (working, all_done) = mpsc::channel::<()>();
    for part in list.chunks(list.len().div_ceil(THREADS).max(1)) {
        let (part, work, working) = (part.to_vec(), work.clone(), working.clone());
        pool.spawn(move || {
            work(&part);
            drop(working);
        });
    }
    drop(working);
    // Nothing is sent: `recv` returns when every sender has been dropped, after a panic too.
    let _ = all_done.recv();
}
