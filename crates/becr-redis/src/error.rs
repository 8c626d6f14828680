//! What can go wrong between a reader or writer and a cluster.

use crate::Address;
use becr_store::StoreError;
use std::time::Duration;

/// Why a cluster could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// An address that cannot be read.
    #[error(
        "not the address of an index in a cluster: {reason}; expected redis://host:port[,host:port…]/name"
    )]
    Address {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// No answer within the time limit.
    #[error(
        "no answer within {:.1} s, last: {last}; check that the cluster is up (`redis-cli cluster info`), and try again: after \
         a failover it answers without a restart",
        waited.as_secs_f32()
    )]
    Unreachable {
        /// How long it was tried.
        waited: Duration,
        /// What went wrong last.
        last: String,
    },
    /// A node wants another name or password.
    #[error(
        "node {node} does not let this program in ({message}); user and password belong into the address, \
         redis://user:password@host:port/name, with %40 for @ and the like"
    )]
    Login {
        /// The node.
        node: String,
        /// What it said.
        message: String,
    },
    /// A node's certificate is not one that we trust.
    #[error(
        "the certificate of node {node} is not trusted ({message}); name the file of its authority in SSL_CERT_FILE, and give \
         each node a certificate for the address that it goes by"
    )]
    Certificate {
        /// The node.
        node: String,
        /// What is wrong with it.
        message: String,
    },
    /// A node refused to write for lack of memory.
    #[error(
        "node {node} is out of memory and takes no more (maxmemory); what was published before is untouched; give it more \
         memory or add nodes, then run the same command again: it goes on where it stopped"
    )]
    OutOfMemory {
        /// The node.
        node: String,
    },
    /// A node refused.
    #[error("node {node} refused: {message}")]
    Refused {
        /// The node.
        node: String,
        /// What it said.
        message: String,
    },
    /// An answer of the wrong kind.
    #[error("a node answered something else than was expected of {0}; is this a Redis server?")]
    Reply(&'static str),
    /// There is no index of that name.
    #[error("there is no index of this name in the cluster; `becr export` writes one")]
    NoIndex,
    /// The description of the index cannot be read.
    #[error(
        "the description of the index cannot be read ({0}); it was written by another version, or damaged: export it again"
    )]
    Meta(String),
    /// Another writer is at work.
    #[error(
        "another writer holds the index; its lease ends {} s after its last sign of life; wait for it, or end it",
        lease.as_secs()
    )]
    Leased {
        /// How long a lease lasts.
        lease: Duration,
    },
    /// The lease went to somebody else.
    #[error(
        "the lease of this writer went to another one, as it was silent for too long; nothing of its change is published; make it again"
    )]
    Fenced,
    /// Replicas did not take the writes.
    #[error(
        "only {found} of {expected} replicas of node {node} took what was written; a failover could lose it, so it is not \
         published; bring the replicas back and write again"
    )]
    Unreplicated {
        /// The master.
        node: String,
        /// Replicas that have it.
        found: i64,
        /// Replicas that should.
        expected: usize,
    },
    /// Rows that were acknowledged are not there.
    #[error(
        "{missing} of {written} rows that were written are not there, lost in a failover most likely; nothing is published; write again"
    )]
    Lost {
        /// How many are missing.
        missing: usize,
        /// How many were written.
        written: usize,
    },
    /// A row that is not what was written under its key.
    #[error("{0} is damaged, or another's: its checksum is not that of its key and value")]
    Row(String),
    /// Rows of a published generation are not there.
    #[error(
        "rows of a published generation are missing: the index was replaced meanwhile (then ask again), or a node lost its \
         data (restarted without persistence, or evicting keys: set maxmemory-policy noeviction and export again)"
    )]
    Gone,
    /// A server that removes keys as it likes.
    #[error(
        "the server evicts keys when its memory is full (maxmemory-policy {policy}), and an index with missing rows ranks \
         wrongly; set maxmemory-policy noeviction"
    )]
    Evicting {
        /// Its policy.
        policy: String,
    },
    /// A snapshot that is too old to be relied on.
    #[error("this state of the index was taken {} s ago, and what it sees may be removed after {} s; take a new one", age.as_secs(), limit.as_secs())]
    Aged {
        /// Its age.
        age: Duration,
        /// The most it may be.
        limit: Duration,
    },
}

impl ClusterError {
    /// As stores tell it.
    pub(crate) fn at(self, address: &Address) -> StoreError {
        if let Self::Row(what) = self {
            return StoreError::Damaged {
                path: address.path(),
                what,
                reason:
                    "its checksum is not that of its key and value: it is damaged, or another row's"
                        .into(),
            };
        }
        StoreError::Engine {
            path: address.path(),
            source: Box::new(self),
        }
    }
}
