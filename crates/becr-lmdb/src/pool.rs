//! Threads that wait for the disk, so that a query does not wait for one record after the other.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, LazyLock, mpsc};

/// A disk is at its best with many requests at a time.
const THREADS: usize = 16;

/// One pool for the process, started by the first query that has to wait; `None` if the system has no threads to give.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let name = |number| format!("becr-prefetch-{number}");
    let pool = ThreadPoolBuilder::new().num_threads(THREADS);
    // What goes wrong with prefetching is no reason to end the process.
    let pool = pool.thread_name(name).panic_handler(drop);
    pool.build().ok()
});

/// Shares a list out to the threads and waits until all parts are done.
///
/// It waits by itself and not as a part of the pool: a thread of another pool would use the time for other work of that
/// pool, and the query would wait for its end.
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
    // Nothing is ever sent: this ends when the last of them has let go, be it by a panic.
    let _ = all_done.recv();
}
