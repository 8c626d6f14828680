//! Batches side by side, results in order.
//!
//! A batch goes through all of its work on one thread: threads meet only where batches are handed out and results are
//! taken, so none waits for the slowest of the others at every layer.

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A batch's number, and its result or why it panicked.
type Done<R> = (u64, Result<R, Box<dyn Any + Send>>);

/// Who works on a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    /// One thread, which the parallel loops of the work do not leave. A thread of a larger pool that waits for a part of
    /// its batch would begin with another batch meanwhile, and everybody would wait for the first.
    One,
    /// All threads of the pool: where a device does most of it, one batch at a time.
    All,
}

/// Works on `batches`, as many at a time as the current rayon pool has threads, and hands results on in the order of the
/// batches, on the calling thread. It reads no further ahead than the threads need to stay busy. Stops at the first error
/// of `emit`: batches that are being worked on are finished, those that wait are left out. Fewer batches than threads share
/// all of them.
pub(crate) fn in_order<B, R, E>(
    batches: impl Iterator<Item = B>,
    threads: Threads,
    work: impl Fn(B) -> R + Sync,
    mut emit: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E>
where
    B: Send,
    R: Send,
{
    let workers = rayon::current_num_threads();
    let mut batches = batches.fuse();
    let mut first: Vec<B> = batches.by_ref().take(workers).collect();
    let threads = match first.len() < workers {
        true => Threads::All,
        false => threads,
    };
    // The only one has nobody to wait for: no thread is worth its start.
    if first.len() == 1 && workers > 1 {
        return emit(rayon::scope(|_| work(first.remove(0))));
    }
    // Batches differ in length: one that takes twice as long as others must not leave them without work.
    let ahead = 2 * workers as u64 + 2;
    let (send, receive) = channel();
    let mut waiting = Waiting {
        receive,
        next: 0,
        results: VecDeque::new(),
    };
    let is_over = AtomicBool::new(false);
    let (hand_out, jobs) = channel::<(u64, B)>();
    let jobs = Mutex::new(jobs);
    std::thread::scope(|scope| {
        let (jobs, work, is_over) = (&jobs, &work, &is_over);
        // It goes with this closure, and workers that wait for a job end.
        let (hand_out, mut started, mut running) = (hand_out, 0, 0);
        let mut emit =
            |result| emit(result).inspect_err(|_| is_over.store(true, Ordering::Relaxed));
        for batch in first.into_iter().chain(batches) {
            while started - waiting.next >= ahead {
                emit(waiting.next())?;
            }
            if running < workers {
                let (send, pool) = (send.clone(), pool_of(threads, running));
                let worker = move || {
                    while let Ok((number, batch)) = next_job(jobs)
                        && !is_over.load(Ordering::Relaxed)
                    {
                        let work = || catch_unwind(AssertUnwindSafe(|| work(batch)));
                        let result = match &pool {
                            Some(pool) => pool.install(work),
                            None => rayon::scope(|_| work()),
                        };
                        if result.is_err() {
                            is_over.store(true, Ordering::Relaxed);
                        }
                        // Nobody receives after an error of `emit`.
                        let _ = send.send((number, result));
                    }
                };
                // A machine that has no more threads to give does with those there are, or with this one.
                let spawned = std::thread::Builder::new().spawn_scoped(scope, worker);
                running += usize::from(spawned.is_ok());
                if running == 0 {
                    emit(work(batch))?;
                    continue;
                }
            }
            // Workers listen until `hand_out` is gone.
            let _ = hand_out.send((started, batch));
            started += 1;
        }
        while waiting.next < started {
            emit(waiting.next())?;
        }
        Ok(())
    })
}

fn next_job<J>(jobs: &Mutex<Receiver<J>>) -> Result<J, std::sync::mpsc::RecvError> {
    // Nothing that holds the lock panics.
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv()
}

/// The pool that a worker's batches run in; `None` for the pool that all share.
fn pool_of(threads: Threads, worker: usize) -> Option<Arc<ThreadPool>> {
    /// Made when they are first needed, and kept: their threads sleep meanwhile.
    static OF_ONE_THREAD: Mutex<Vec<Arc<ThreadPool>>> = Mutex::new(Vec::new());
    if threads == Threads::All {
        return None;
    }
    let mut pools = OF_ONE_THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    while pools.len() <= worker {
        // Without, the shared pool has to do.
        let pool = ThreadPoolBuilder::new().num_threads(1).build().ok()?;
        pools.push(Arc::new(pool));
    }
    Some(pools[worker].clone())
}

/// Results that came before their turn.
struct Waiting<R> {
    receive: Receiver<Done<R>>,
    /// The batch whose result is the next to be handed on.
    next: u64,
    /// Results from `next` on, as far as they are there.
    results: VecDeque<Option<R>>,
}

impl<R> Waiting<R> {
    /// Waits for the next result. A panic of the work goes on here.
    fn next(&mut self) -> R {
        loop {
            if let Some(Some(_)) = self.results.front()
                && let Some(Some(result)) = self.results.pop_front()
            {
                self.next += 1;
                return result;
            }
            let (number, result) = self.receive();
            let result = result.unwrap_or_else(|panic| resume_unwind(panic));
            let place = (number - self.next) as usize;
            if self.results.len() <= place {
                self.results.resize_with(place + 1, || None);
            }
            self.results[place] = Some(result);
        }
    }

    fn receive(&self) -> Done<R> {
        loop {
            match self.receive.try_recv() {
                Ok(done) => return done,
                // A thread of a pool must not sleep: it may be the one that has to work.
                Err(TryRecvError::Empty) if rayon::current_thread_index().is_some() => {
                    if rayon::yield_now() != Some(Yield::Executed) {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
                Err(_) => match self.receive.recv() {
                    Ok(done) => return done,
                    Err(_) => unreachable!("the caller keeps a sender"),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;
    use std::sync::atomic::AtomicU64;

    /// Later batches take less time, so they end first.
    fn work(number: u64) -> u64 {
        std::thread::sleep(Duration::from_micros(300 * (7 - number % 8)));
        number * number
    }

    fn squares(threads: Threads) -> Vec<u64> {
        let mut out = Vec::new();
        let emit = |square| {
            out.push(square);
            Ok::<(), ()>(())
        };
        in_order(0..100, threads, work, emit).unwrap();
        out
    }

    #[test]
    fn results_come_in_order_from_outside_and_inside_of_a_pool() {
        let expected: Vec<u64> = (0..100).map(|number| number * number).collect();
        for how in [Threads::One, Threads::All] {
            assert_eq!(squares(how), expected);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                assert_eq!(pool.build().unwrap().install(|| squares(how)), expected);
            }
            // Every thread of the shared pool waits for results, and is needed for them.
            let many: Vec<u64> = (0..8).collect();
            let all: Vec<_> = many.par_iter().map(|_| squares(how)).collect();
            assert!(all.iter().all(|found| *found == expected));
        }
    }

    /// Work may have work of the same kind.
    #[test]
    fn batches_in_batches() {
        let sum = |number: u64| {
            let mut sum = 0;
            let emit = |result| {
                sum += result;
                Ok::<(), ()>(())
            };
            in_order(0..20, Threads::One, |inner| number * inner, emit).unwrap();
            sum
        };
        let mut sums = Vec::new();
        let emit = |result| {
            sums.push(result);
            Ok::<(), ()>(())
        };
        in_order(0..20, Threads::One, sum, emit).unwrap();
        assert_eq!(sums, (0..20).map(|n| n * 190).collect::<Vec<u64>>());
    }

    #[test]
    fn no_batch_is_read_long_before_its_turn() {
        let read = AtomicU64::new(0);
        let batches = (0..1000).inspect(|_| {
            read.fetch_add(1, Ordering::Relaxed);
        });
        let mut emitted = 0;
        let emit = |_| {
            emitted += 1;
            let ahead = read.load(Ordering::Relaxed) - emitted;
            assert!(
                ahead <= 2 * rayon::current_num_threads() as u64 + 3,
                "{ahead}"
            );
            if emitted == 50 { Err("enough") } else { Ok(()) }
        };
        let same = |batch| batch;
        assert_eq!(in_order(batches, Threads::All, same, emit), Err("enough"));
        assert!(read.into_inner() < 60 + 2 * rayon::current_num_threads() as u64);
    }

    #[test]
    #[should_panic(expected = "batch 7")]
    fn a_panic_goes_on() {
        let work = |number: u32| assert!(number != 7, "batch {number}");
        let _ = in_order(0..100, Threads::One, work, |()| Ok::<(), ()>(()));
    }

    /// Parallel loops of a batch stay on its thread, if that is asked for; fewer batches than threads have all of them anyway.
    #[test]
    fn a_batch_has_the_threads_that_it_should() {
        let threads_of = |count: usize, threads| {
            let mut seen = Vec::new();
            let emit = |threads: usize| {
                seen.push(threads);
                Ok::<(), ()>(())
            };
            in_order(0..count, threads, |_| rayon::current_num_threads(), emit).unwrap();
            seen
        };
        let all = rayon::current_num_threads();
        let many = 2 * all + 1;
        assert_eq!(threads_of(many, Threads::One), vec![1; many]);
        assert_eq!(threads_of(many, Threads::All), vec![all; many]);
        assert_eq!(threads_of(all - 1, Threads::One), vec![all; all - 1]);
        assert!(threads_of(0, Threads::One).is_empty());
    }
}
