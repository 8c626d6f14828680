//! Work on the device: one piece at a time, and its failures as errors.

use becr_encoder::EncodeError;
use burn::tensor::StreamId;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// The name of this backend.
pub(crate) const NAME: &str = "burn";

/// An error of this backend.
pub(crate) fn error(problem: impl Into<String>) -> EncodeError {
    EncodeError::Backend {
        backend: NAME,
        problem: problem.into(),
    }
}

/// Lets one thread at a time use the device.
///
/// burn queues operations by thread and fuses neighbours into kernels. Threads that took turns between two
/// operations would have it compile new kernels every time, and threads with queues of their own would wait for each
/// other's memory. So there is one queue, and a thread has it until its piece of work is in.
#[derive(Debug)]
pub(crate) struct Turn {
    queue: StreamId,
    taken: Mutex<()>,
}

impl Turn {
    /// Takes the queue of the current thread for all.
    pub(crate) fn new() -> Self {
        Self {
            queue: StreamId::current(),
            taken: Mutex::new(()),
        }
    }

    /// Runs code that uses the device. burn panics where the device fails (no memory left, a kernel that does not
    /// compile, a lost driver), and a caller that encodes for hours needs an error it can report.
    pub(crate) fn run<T>(
        &self,
        doing: &str,
        work: impl FnOnce() -> Result<T, EncodeError>,
    ) -> Result<T, EncodeError> {
        // The lock guards no data that a panic could leave half written.
        let _taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || self.queue.executes(work);
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
            let said = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            Err(error(format!(
                "the device failed while {doing}: {}; if its memory is full, lower the tokens per launch",
                said.trim()
            )))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_device_is_an_error_and_others_go_on() {
        let turn = Turn::new();
        let failed = turn.run::<()>("testing", || panic!("out of memory"));
        let message = failed.unwrap_err().to_string();
        assert!(message.contains("burn") && message.contains("while testing: out of memory"));
        assert_eq!(turn.run("testing", || Ok(7)).unwrap(), 7);
    }

    #[test]
    fn every_thread_works_on_one_queue() {
        let turn = Turn::new();
        let queue = || turn.run("testing", || Ok(StreamId::current())).unwrap();
        let here = queue();
        let there = std::thread::scope(|scope| scope.spawn(queue).join().unwrap());
        assert_eq!(here, there);
    }
}
