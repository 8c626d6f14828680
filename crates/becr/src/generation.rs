//! States of an index.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A state of an index: store and first stage as one commit published them. Later states are greater.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Generation {
    /// How many times the contents were written anew: by a compaction, or by a build in the index's place.
    pub edition: u64,
    /// The commit.
    pub commit: u64,
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.edition, self.commit)
    }
}
