//! How a cluster is asked.

use std::time::Duration;

/// Time limits and the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Until a connection stands.
    pub connect_limit: Duration,
    /// Until a node goes on with its answer.
    pub response_limit: Duration,
    /// Until a question is answered, with everything that is asked again after a failover.
    pub time_limit: Duration,
    /// The same for writes.
    pub write_time_limit: Duration,
    /// How long a writer may be silent before another may take its place.
    pub lease: Duration,
    /// How long a writer waits for another one to be done, or for its lease to end. Longer than a lease, and a writer that died
    /// is waited for.
    pub lease_wait: Duration,
    /// How long what a generation replaced is kept for those who still look at it; states are used for half of it.
    pub retention: Duration,
    /// How long what an export replaced is kept for those who still read it.
    pub grace: Duration,
    /// Replicas that must have taken a write before it is published: `None` all that a master has.
    pub replicas: Option<usize>,
    /// Buckets of an index that is created: see the crate's page. It cannot be changed later.
    pub buckets: u32,
    /// Score where the data lies, if the nodes can.
    pub module: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_limit: Duration::from_secs(1),
            response_limit: Duration::from_secs(2),
            time_limit: Duration::from_secs(5),
            write_time_limit: Duration::from_secs(30),
            lease: Duration::from_secs(60),
            lease_wait: Duration::from_secs(30),
            retention: Duration::from_secs(600),
            grace: Duration::from_secs(5),
            replicas: None,
            buckets: crate::keys::BUCKETS,
            module: true,
        }
    }
}
