//! Lists that the nodes score themselves: one `BECR.SCORE` to each node that has some of the documents.
//!
//! ```text
//! BECR.SCORE query generation key extras [key extras …]
//! ```
//!
//! The command names keys of many slots, and so none as Redis counts keys: the node itself checks that each is its own. What
//! cannot be done this way, because a node has no module, a slot has moved or a row was just changed, is left to
//! reading, which finds its way.

use crate::ClusterError;
use crate::cluster::Request;
use crate::reading::Snapshot;
use becr_store::Table;
use redis::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long it is taken for granted that a node has no module.
const PATIENCE: Duration = Duration::from_secs(30);
/// The first byte of a document's answer.
const SCORED: u8 = b'S';
const ABSENT: u8 = b'N';

/// What is known of the nodes' module.
pub(crate) struct ModuleState {
    is_wanted: bool,
    begun: Instant,
    /// Milliseconds since `begun` before which it is not tried again.
    not_before: AtomicU64,
    /// 0 before the first list, 1 if the last was read, 2 if it was scored there.
    last: AtomicU8,
}

impl ModuleState {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self {
            is_wanted,
            begun: Instant::now(),
            not_before: AtomicU64::new(0),
            last: AtomicU8::new(0),
        }
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    pub(crate) fn is_worth_a_try(&self) -> bool {
        self.is_wanted && self.now() >= self.not_before.load(Ordering::Relaxed)
    }

    pub(crate) fn last(&self) -> Option<bool> {
        match self.last.load(Ordering::Relaxed) {
            0 => None,
            last => Some(last == 2),
        }
    }

    fn is_missing(&self) {
        let again = self.now() + PATIENCE.as_millis() as u64;
        self.not_before.store(again, Ordering::Relaxed);
    }
}

/// What came of asking the nodes.
type Scores = Vec<Option<Vec<u8>>>;

impl Snapshot {
    /// Has documents scored by the nodes; `None` if that cannot be done just now.
    pub(crate) fn score_there(
        &self,
        query: &[u8],
        documents: &[(u64, Vec<u8>)],
    ) -> Result<Option<Scores>, ClusterError> {
        self.check_age()?;
        let scores = self.try_score(query, documents);
        let last = if scores.is_some() { 2 } else { 1 };
        self.shared.module.last.store(last, Ordering::Relaxed);
        Ok(scores)
    }

    fn try_score(&self, query: &[u8], documents: &[(u64, Vec<u8>)]) -> Option<Scores> {
        let topology = self.shared.cluster.known_topology()?;
        let mut nodes: BTreeMap<usize, (u16, Vec<usize>)> = BTreeMap::new();
        for (place, (number, _)) in documents.iter().enumerate() {
            let bucket = self.names.bucket(Table::Records, &number.to_be_bytes());
            let slot = self.names.slot(bucket);
            let node = nodes.entry(topology.master(slot)?);
            node.or_insert_with(|| (slot, Vec::new())).1.push(place);
        }
        let requests: Vec<Request> = nodes
            .values()
            .map(|(slot, places)| Request {
                slot: *slot,
                bytes: self.command(query, documents, places).get_packed_command(),
            })
            .collect();
        let mut scores = vec![None; documents.len()];
        for (value, (_, places)) in self
            .shared
            .cluster
            .once(&requests)?
            .into_iter()
            .zip(nodes.values())
        {
            let values = match value {
                Value::Array(values) if values.len() == places.len() => values,
                Value::ServerError(error) => {
                    // A node without the module does not know the command.
                    if error
                        .details()
                        .is_some_and(|details| details.contains("unknown command"))
                    {
                        self.shared.module.is_missing();
                    }
                    return None;
                }
                _ => return None,
            };
            for (value, &place) in values.into_iter().zip(places) {
                let Value::BulkString(mut bytes) = value else {
                    return None;
                };
                match bytes.first() {
                    Some(&SCORED) => {
                        bytes.remove(0);
                        scores[place] = Some(bytes);
                    }
                    Some(&ABSENT) => {}
                    // Changed since, or without its mark: reading tells.
                    _ => return None,
                }
            }
        }
        Some(scores)
    }

    fn command(&self, query: &[u8], documents: &[(u64, Vec<u8>)], places: &[usize]) -> redis::Cmd {
        let mut command = redis::cmd("BECR.SCORE");
        command.arg(query).arg(self.meta.generation);
        for &place in places {
            let (number, extras) = &documents[place];
            let key = number.to_be_bytes();
            let bucket = self.names.bucket(Table::Records, &key);
            command
                .arg(self.names.row(bucket, Table::Records, &key))
                .arg(extras);
        }
        command
    }
}
