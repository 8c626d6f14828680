//! Batches side by side, results in order.
//!
//! A batch goes through all of its work on one thread: threads meet only where batches are handed out and results are
//! taken, so none waits for the slowest of the others at every layer.

use rayon::Yield;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;

/// A batch's number, and its result or why it panicked.
type Done<R> = (u64, Result<R, Box<dyn Any + Send>>);

/// Works on `batches` in the current rayon pool, several at a time, and hands results on in the order of the batches, on
/// the calling thread. It reads no further ahead than the pool needs to stay busy. Stops at the first error of `emit`:
/// batches that are being worked on are finished, those that wait are left out.
pub(crate) fn in_order<B, R, E>(
    batches: impl Iterator<Item = B>,
    work: impl Fn(B) -> R + Sync,
    mut emit: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E>
where
    B: Send,
    R: Send,
{
    // Batches differ in length: one that takes twice as long as others must not leave them without work.
    let ahead = 2 * rayon::current_num_threads() as u64 + 2;
    let (send, receive) = channel();
    let is_over = AtomicBool::new(false);
    let mut waiting = Waiting {
        receive,
        next: 0,
        results: VecDeque::new(),
    };
    rayon::in_place_scope(|scope| {
        let (work, is_over, mut started) = (&work, &is_over, 0);
        let mut emit =
            |result| emit(result).inspect_err(|_| is_over.store(true, Ordering::Relaxed));
        for batch in batches {
            while started - waiting.next >= ahead {
                emit(waiting.next())?;
            }
            let (send, number): (Sender<Done<R>>, u64) = (send.clone(), started);
            scope.spawn(move |_| {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let result = catch_unwind(AssertUnwindSafe(|| work(batch)));
                // Nobody receives after an error of `emit`.
                let _ = send.send((number, result));
            });
            started += 1;
        }
        while waiting.next < started {
            emit(waiting.next())?;
        }
        Ok(())
    })
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
                // A thread of the pool must not sleep while it is the one that has to work.
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
    use std::sync::atomic::AtomicU64;

    /// Later batches take less time, so they end first.
    fn work(number: u64) -> u64 {
        std::thread::sleep(Duration::from_micros(300 * (7 - number % 8)));
        number * number
    }

    fn squares() -> Vec<u64> {
        let mut out = Vec::new();
        let emit = |square| {
            out.push(square);
            Ok::<(), ()>(())
        };
        in_order(0..100, work, emit).unwrap();
        out
    }

    #[test]
    fn results_come_in_order_from_outside_and_inside_of_a_pool() {
        let expected: Vec<u64> = (0..100).map(|number| number * number).collect();
        assert_eq!(squares(), expected);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            assert_eq!(pool.build().unwrap().install(squares), expected);
        }
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
        assert_eq!(in_order(batches, |batch| batch, emit), Err("enough"));
        assert!(read.into_inner() < 100);
    }

    #[test]
    #[should_panic(expected = "batch 7")]
    fn a_panic_goes_on() {
        let work = |number: u32| assert!(number != 7, "batch {number}");
        let _ = in_order(0..100, work, |()| Ok::<(), ()>(()));
    }
}
