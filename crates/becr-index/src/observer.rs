//! How long work goes on, told to whoever wants to know.

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
}

impl Observer for () {}
