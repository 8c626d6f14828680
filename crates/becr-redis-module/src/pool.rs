//! A few threads that score, and a bounded line of lists that wait for them.

use becr_rank::RemoteWorkspace;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

/// Something to do on a thread, with its buffers.
pub(crate) type Task = Box<dyn FnOnce(&mut RemoteWorkspace) + Send>;

/// The threads. They live as long as the server.
pub(crate) struct Pool {
    tasks: Mutex<mpsc::Sender<Task>>,
    waiting: Arc<AtomicUsize>,
    most: usize,
}

impl Pool {
    pub(crate) fn new(threads: usize, most: usize) -> Self {
        let (tasks, received) = mpsc::channel::<Task>();
        let received = Arc::new(Mutex::new(received));
        let waiting = Arc::new(AtomicUsize::new(0));
        for _ in 0..threads {
            let (received, waiting) = (received.clone(), waiting.clone());
            std::thread::spawn(move || {
                let mut work = RemoteWorkspace::default();
                loop {
                    let task = received
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .recv();
                    let Ok(task) = task else { return };
                    waiting.fetch_sub(1, Ordering::Relaxed);
                    task(&mut work);
                }
            });
        }
        Self {
            tasks: Mutex::new(tasks),
            waiting,
            most,
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < self.most
    }

    pub(crate) fn run(&self, task: Task) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // The threads never end, so there is always somebody who takes it.
        let _ = self
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .send(task);
    }
}
