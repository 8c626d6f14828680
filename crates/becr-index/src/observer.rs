//! How long work goes on, told to whoever wants to know.

use crate::Plan;

/// The stages of work on an index, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Documents are read, their words and pairs counted.
    Counting,
    /// Documents are read and compared with what an index has of them.
    Comparing,
    /// Words of documents are indexed.
    Indexing,
    /// Token groups are encoded.
    EncodingGroups,
    /// Documents are encoded, or composed, and stored.
    EncodingDocuments,
    /// Documents of parts are copied.
    Merging,
    /// Contents are written anew without free space.
    Compacting,
    /// The last merges and syncs.
    Finishing,
}

/// Told how work goes. `&()` is an observer that does not listen.
pub trait Observer {
    /// Whether [`planned`](Self::planned) is worth the second of trial that a plan takes.
    fn wants_plan(&self) -> bool {
        false
    }

    /// How many documents there will be, judged by those that were read so far: asked where they are read only once.
    fn expected_documents(&self) -> Option<u64> {
        None
    }

    /// What a build is going to do, and how long that takes.
    fn planned(&self, plan: &Plan) {
        let _ = plan;
    }

    /// A stage begins; `total` is the number of its steps (documents, or token groups), if known.
    fn begin(&self, stage: Stage, total: Option<u64>) {
        let _ = (stage, total);
    }

    /// Some steps are done.
    fn advance(&self, steps: u64) {
        let _ = steps;
    }

    /// Some steps had been done before, by an earlier try say: they count, but say nothing of how fast the work goes.
    fn resumed(&self, steps: u64) {
        self.advance(steps);
    }

    /// Whether to stop, asked after every step: the work then ends with [`IndexError::Stopped`](crate::IndexError). What
    /// was committed stays, and a build with an identity can be resumed.
    fn should_stop(&self) -> bool {
        false
    }
}

/// Ends the work if the observer says so.
pub(crate) fn check_stop(observer: &dyn Observer) -> Result<(), crate::IndexError> {
    match observer.should_stop() {
        true => Err(crate::IndexError::Stopped),
        false => Ok(()),
    }
}

impl Observer for () {}
