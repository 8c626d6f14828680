//! Progress and Ctrl-C.
//!
//! The library works detached from the interpreter. Now and then the calling thread attaches, lets Python handle its
//! signals, and tells the caller's function how far the work is. An exception of either ends the work.

use becr::{Observer, Stage};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// How often Python is asked.
const INTERVAL: Duration = Duration::from_millis(50);

/// The exception that ended the work, if one did.
#[derive(Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    /// Keeps the first exception.
    pub(crate) fn set(&self, error: PyErr) {
        self.lock().get_or_insert(error);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.lock().is_some()
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.lock().take()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells a Python function `(stage, done, total)`.
pub(crate) struct PyObserver {
    function: Option<Py<PyAny>>,
    failure: Failure,
    state: RefCell<State>,
}

struct State {
    stage: &'static str,
    done: u64,
    total: Option<u64>,
    /// When Python was asked last.
    asked: Instant,
}

impl PyObserver {
    pub(crate) fn new(function: Option<Py<PyAny>>, failure: Failure) -> Self {
        Self {
            function,
            failure,
            state: RefCell::new(State {
                stage: "",
                done: 0,
                total: None,
                asked: Instant::now(),
            }),
        }
    }

    /// Has Python handle its signals and tells how far the work is.
    fn ask(&self) {
        self.state.borrow_mut().asked = Instant::now();
        if self.failure.is_set() {
            return;
        }
        let asked = Python::attach(|py| {
            py.check_signals()?;
            let told = {
                let state = self.state.borrow();
                (state.stage, state.done, state.total)
            };
            match &self.function {
                Some(function) => function.call1(py, told).map(drop),
                None => Ok(()),
            }
        });
        if let Err(error) = asked {
            self.failure.set(error);
        }
    }

    fn ask_in_time(&self) {
        if self.state.borrow().asked.elapsed() >= INTERVAL {
            self.ask();
        }
    }
}

impl Observer for PyObserver {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        // The last steps of the stage before.
        self.ask();
        {
            let mut state = self.state.borrow_mut();
            (state.stage, state.done, state.total) = (name(stage), 0, total);
        }
        self.ask();
    }

    fn advance(&self, steps: u64) {
        self.state.borrow_mut().done += steps;
        self.ask_in_time();
    }

    fn should_stop(&self) -> bool {
        self.ask_in_time();
        self.failure.is_set()
    }
}

impl Drop for PyObserver {
    /// The last steps of the last stage.
    fn drop(&mut self) {
        self.ask();
    }
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Counting => "counting words",
        Stage::Comparing => "comparing documents",
        Stage::Indexing => "indexing words",
        Stage::EncodingGroups => "encoding token groups",
        Stage::EncodingDocuments => "encoding documents",
        Stage::Merging => "merging",
        Stage::Compacting => "compacting",
        Stage::Finishing => "finishing",
        _ => "working",
    }
}

/// Work that cannot be stopped, on a thread of its own: after Ctrl-C it is left to end by itself, unheard.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (send, receive) = mpsc::channel();
    let receive = Mutex::new(receive);
    std::thread::spawn(move || {
        // Nobody receives after an interrupt.
        let _ = send.send(work());
    });
    loop {
        let received = py.detach(|| {
            let receive = receive.lock().unwrap_or_else(PoisonError::into_inner);
            receive.recv_timeout(INTERVAL)
        });
        match received {
            Ok(result) => return Ok(result),
            Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(crate::errors::BecrError::new_err(
                    "the work ended by a panic, which is a fault of becr; its message is on standard error",
                ));
            }
        }
    }
}
