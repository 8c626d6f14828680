//! Threads for ranking: as many as were asked for, with a queue that ends. Requests with small bodies come before those with
//! large ones, which may take seconds each: a few of these keep nobody waiting but each other.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Why a job was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undone {
    /// The queue is full, or the pool is closing.
    Full,
    /// Its deadline passed.
    Late,
    /// It panicked.
    Panicked,
}

type Job = Box<dyn FnOnce() + Send>;

/// How much a job may have to do, by the size of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Light,
    Heavy,
}

/// While both wait, one job of so many is heavy: light ones cannot keep them from being done at all.
const TURNS: usize = 4;

/// A fixed number of threads.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    queue: Mutex<Queue>,
    /// There is a job, or the pool closes.
    changed: Condvar,
    capacity: usize,
    running: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    light: VecDeque<Job>,
    heavy: VecDeque<Job>,
    /// Jobs that were taken.
    taken: usize,
    is_closed: bool,
    /// Threads that have ended.
    ended: usize,
}

impl Queue {
    fn len(&self) -> usize {
        self.light.len() + self.heavy.len()
    }

    fn pop(&mut self) -> Option<Job> {
        self.taken += 1;
        let (first, second) = match self.taken.is_multiple_of(TURNS) {
            true => (&mut self.heavy, &mut self.light),
            false => (&mut self.light, &mut self.heavy),
        };
        first.pop_front().or_else(|| second.pop_front())
    }

    /// Heavy jobs fill half of the queue at most.
    fn has_room(&self, weight: Weight, capacity: usize) -> bool {
        let half = capacity.div_ceil(2);
        self.len() < capacity && (weight == Weight::Light || self.heavy.len() < half)
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Jobs run without the lock, so nothing panics while it is held.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; `None` when the pool is closed and empty.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        loop {
            if let Some(job) = queue.pop() {
                return Some(job);
            }
            if queue.is_closed {
                return None;
            }
            let woken = self.changed.wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            self.running.fetch_add(1, Ordering::Relaxed);
            job();
            self.running.fetch_sub(1, Ordering::Relaxed);
        }
        self.queue().ended += 1;
        self.changed.notify_all();
    }
}

impl Pool {
    /// Starts the threads. `capacity` jobs may wait.
    pub(crate) fn new(name: &str, threads: usize, capacity: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            capacity: capacity.max(1),
            running: AtomicUsize::new(0),
        });
        let start = |number| {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || shared.work())
        };
        let threads = (0..threads.max(1)).map(start).collect::<Result<_, _>>()?;
        Ok(Self {
            shared,
            threads: Mutex::new(threads),
        })
    }

    /// Has `work` done by a thread of the pool, unless the queue is full, and waits for it until the deadline. A job is
    /// dropped before it starts if nobody waits for it any more or its deadline has passed; `work` is told how long it waited.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        deadline: Instant,
        weight: Weight,
        work: impl FnOnce(Duration) -> T + Send + 'static,
    ) -> Result<T, Undone> {
        let (send, receive) = oneshot::channel();
        let queued = Instant::now();
        let job = Box::new(move || {
            // A receiver that is gone: the client has hung up.
            if send.is_closed() || Instant::now() >= deadline {
                return;
            }
            let done = catch_unwind(AssertUnwindSafe(|| work(queued.elapsed())));
            let _ = send.send(done.map_err(drop));
        });
        self.push(job, weight)?;
        match tokio::time::timeout_at(deadline.into(), receive).await {
            Ok(Ok(Ok(done))) => Ok(done),
            Ok(Ok(Err(()))) => Err(Undone::Panicked),
            Ok(Err(_)) | Err(_) => Err(Undone::Late),
        }
    }

    fn push(&self, job: Job, weight: Weight) -> Result<(), Undone> {
        let mut queue = self.shared.queue();
        if queue.is_closed || !queue.has_room(weight, self.shared.capacity) {
            return Err(Undone::Full);
        }
        match weight {
            Weight::Light => queue.light.push_back(job),
            Weight::Heavy => queue.heavy.push_back(job),
        }
        drop(queue);
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Jobs that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.queue().len()
    }

    /// Jobs that run.
    pub(crate) fn running(&self) -> usize {
        self.shared.running.load(Ordering::Relaxed)
    }

    /// Takes no more jobs, drops those that wait, and waits for those that run, until `end`: what takes longer is left to
    /// itself, and ends with the process at the latest. Says whether all have ended.
    pub(crate) fn close(&self, end: Instant) -> bool {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let mut queue = self.shared.queue();
        queue.is_closed = true;
        queue.light.clear();
        queue.heavy.clear();
        self.shared.changed.notify_all();
        while queue.ended < threads.len() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.shared.changed.wait_timeout(queue, left);
            (queue, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
        drop(queue);
        for thread in threads.drain(..) {
            // Jobs catch their panics.
            let _ = thread.join();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    /// A pool of one thread that is busy until the sender is dropped.
    async fn busy(capacity: usize) -> (Arc<Pool>, mpsc::Sender<()>) {
        let pool = Arc::new(Pool::new("test", 1, capacity).unwrap());
        let (hold, held) = mpsc::channel::<()>();
        let (begun, running) = oneshot::channel();
        let other = pool.clone();
        tokio::spawn(async move {
            let block = move |_| {
                let _ = begun.send(());
                let _ = held.recv();
            };
            other.run(soon(), Weight::Light, block).await
        });
        running.await.unwrap();
        (pool, hold)
    }

    #[tokio::test]
    async fn a_full_queue_refuses_at_once() {
        let (pool, hold) = busy(1).await;
        let waits = tokio::spawn({
            let pool = pool.clone();
            async move { pool.run(soon(), Weight::Light, |_| 7).await }
        });
        while pool.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            pool.run(soon(), Weight::Light, |_| 8).await,
            Err(Undone::Full)
        );
        drop(hold);
        assert_eq!(waits.await.unwrap(), Ok(7));
    }

    #[tokio::test]
    async fn jobs_that_nobody_waits_for_do_not_start() {
        let (pool, hold) = busy(8).await;
        let (started, seen) = mpsc::channel();
        let late = started.clone();
        let deadline = Instant::now() + Duration::from_millis(20);
        let undone = pool
            .run(deadline, Weight::Light, move |_| late.send("late"))
            .await;
        assert_eq!(undone.map(drop), Err(Undone::Late));
        let gone = tokio::spawn({
            let pool = pool.clone();
            async move {
                pool.run(soon(), Weight::Light, move |_| started.send("gone"))
                    .await
                    .map(drop)
            }
        });
        while pool.waiting() < 2 {
            tokio::task::yield_now().await;
        }
        gone.abort();
        let _ = gone.await;
        drop(hold);
        assert_eq!(pool.run(soon(), Weight::Light, |_| 1).await, Ok(1));
        assert!(seen.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_panic_is_an_answer_and_the_thread_lives_on() {
        let pool = Pool::new("test", 1, 4).unwrap();
        let fails = |_| -> u8 { std::panic::resume_unwind(Box::new("on purpose")) };
        assert_eq!(
            pool.run(soon(), Weight::Light, fails).await,
            Err(Undone::Panicked)
        );
        assert_eq!(pool.run(soon(), Weight::Light, |_| 2).await, Ok(2));
        assert!(pool.close(soon()));
        assert_eq!(
            pool.run(soon(), Weight::Light, |_| 3).await,
            Err(Undone::Full)
        );
    }

    #[tokio::test]
    async fn light_jobs_come_before_heavy_ones_but_for_every_fourth() {
        let (pool, hold) = busy(64).await;
        let (tell, told) = mpsc::channel();
        let mut waiting = Vec::new();
        let jobs =
            std::iter::repeat_n(Weight::Heavy, 3).chain(std::iter::repeat_n(Weight::Light, 8));
        for (count, weight) in jobs.enumerate() {
            let (pool, tell) = (pool.clone(), tell.clone());
            let run = async move { pool.run(soon(), weight, move |_| tell.send(weight)).await };
            waiting.push((tokio::spawn(run), count));
        }
        while pool.waiting() < waiting.len() {
            tokio::task::yield_now().await;
        }
        drop(hold);
        for (job, _) in waiting {
            job.await.unwrap().unwrap().unwrap();
        }
        let order: Vec<Weight> = told.try_iter().collect();
        let heavy = |jobs: &[Weight]| {
            jobs.iter()
                .filter(|weight| **weight == Weight::Heavy)
                .count()
        };
        assert_eq!(
            (heavy(&order[..4]), heavy(&order[..8]), heavy(&order)),
            (1, 2, 3),
            "{order:?}"
        );
    }

    #[tokio::test]
    async fn heavy_jobs_leave_room_for_light_ones() {
        let (pool, hold) = busy(4).await;
        let spawn = |weight| {
            let pool = pool.clone();
            tokio::spawn(async move { pool.run(soon(), weight, move |_| weight).await })
        };
        let heavy = [spawn(Weight::Heavy), spawn(Weight::Heavy)];
        while pool.waiting() < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(spawn(Weight::Heavy).await.unwrap(), Err(Undone::Full));
        let light = spawn(Weight::Light);
        while pool.waiting() < 3 {
            tokio::task::yield_now().await;
        }
        drop(hold);
        assert_eq!(light.await.unwrap(), Ok(Weight::Light));
        for heavy in heavy {
            assert_eq!(heavy.await.unwrap(), Ok(Weight::Heavy));
        }
    }

    #[tokio::test]
    async fn closing_waits_no_longer_than_it_is_told() {
        let (pool, hold) = busy(1).await;
        assert!(!pool.close(Instant::now() + Duration::from_millis(20)));
        drop(hold);
        assert!(pool.close(soon()));
    }
}
