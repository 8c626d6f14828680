//! The store: where it is, and its newest generation.

use crate::cluster::{Cluster, Request, Traffic};
use crate::keys::IndexKeys;
use crate::meta::Meta;
use crate::scoring::ModuleState;
use crate::{Address, ClusterError, Options, Snapshot};
use becr_store::{Header, StoreError};
use redis::{Cmd, Value};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Keys that a node is asked to look at in one go.
const SCANNED: usize = 1000;

/// An index in a cluster. Clones share connections.
#[derive(Clone)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
    header: Header,
}

/// What a store and its snapshots share.
pub(crate) struct Shared {
    pub(crate) cluster: Cluster,
    pub(crate) address: Address,
    pub(crate) path: PathBuf,
    /// Whether nodes can score.
    pub(crate) module: ModuleState,
    /// Held by the writer of this process.
    pub(crate) writer: Mutex<()>,
}

impl Shared {
    /// A key of the index that is in no edition.
    pub(crate) fn key(&self, what: &str) -> Vec<u8> {
        IndexKeys(&self.address.name).key(what)
    }

    /// Asks the node that has the index's own keys.
    pub(crate) fn ask(&self, command: &Cmd) -> Result<Value, ClusterError> {
        self.cluster.one(self.request(command))
    }

    pub(crate) fn request(&self, command: &Cmd) -> Request {
        Request {
            slot: IndexKeys(&self.address.name).slot(),
            bytes: command.get_packed_command(),
        }
    }

    /// The newest generation.
    pub(crate) fn meta(&self) -> Result<Meta, ClusterError> {
        match self.ask(redis::cmd("GET").arg(self.key("meta")))? {
            Value::BulkString(bytes) => Meta::read(&bytes),
            Value::Nil => Err(ClusterError::NoIndex),
            _ => Err(ClusterError::Reply("GET")),
        }
    }

    /// A number that no edition had before.
    pub(crate) fn next_edition(&self) -> Result<u64, ClusterError> {
        match self.ask(redis::cmd("INCR").arg(self.key("edition")))? {
            Value::Int(edition) => Ok(edition as u64),
            _ => Err(ClusterError::Reply("INCR")),
        }
    }

    pub(crate) fn error(&self, error: ClusterError) -> StoreError {
        error.at(&self.address)
    }

    pub(crate) fn damaged(&self, what: String, reason: &str) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            what,
            reason: reason.into(),
        }
    }
}

impl Store {
    /// Opens the index at an address, `redis://host:port[,host:port…]/name`.
    pub fn open(address: &str) -> Result<Self, StoreError> {
        Self::open_with(address, Options::default())
    }

    /// Opens the index at an address.
    pub fn open_with(address: &str, options: Options) -> Result<Self, StoreError> {
        let shared = Self::connect(address, options)?;
        let meta = shared.meta().map_err(|error| shared.error(error))?;
        Ok(Self {
            shared,
            header: meta.header,
        })
    }

    /// Makes an empty index at an address, in the place of one that is there.
    pub fn create(address: &str, header: &Header, options: Options) -> Result<Self, StoreError> {
        let buckets = options.buckets;
        let shared = Self::connect(address, options)?;
        let create = || {
            let lease = crate::lease::Lease::take(&shared)?;
            let meta = Meta::new(header.clone(), shared.next_edition()?, buckets);
            crate::writing::mark(&shared, &meta, &lease)?;
            crate::writing::publish(&shared, &meta, &lease)
        };
        create().map_err(|error| shared.error(error))?;
        Ok(Self {
            shared,
            header: header.clone(),
        })
    }

    pub(crate) fn connect(address: &str, options: Options) -> Result<Arc<Shared>, StoreError> {
        let address: Address = address.parse().map_err(|error| StoreError::Engine {
            path: shown(address),
            source: Box::<ClusterError>::new(error),
        })?;
        let shared = Shared {
            path: address.path(),
            module: ModuleState::new(options.module),
            cluster: Cluster::new(address.clone(), options),
            address,
            writer: Mutex::default(),
        };
        refuse_eviction(&shared).map_err(|error| shared.error(error))?;
        Ok(Arc::new(shared))
    }

    /// What the store was made for.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What errors call the store.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Refuses a model of another encoder than the store was made with.
    pub fn check_encoder(&self, encoder_id: &str) -> Result<(), StoreError> {
        match self.header.encoder_id == encoder_id {
            true => Ok(()),
            false => Err(StoreError::OtherEncoder {
                path: self.shared.path.clone(),
                found: self.header.encoder_id.clone(),
                expected: encoder_id.to_owned(),
            }),
        }
    }

    /// A view of the store as it is now, which later writes do not change. One question to one node.
    pub fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let meta = self
            .shared
            .meta()
            .map_err(|error| self.shared.error(error))?;
        if meta.header != self.header {
            return Err(StoreError::Replaced(self.shared.path.clone()));
        }
        Ok(Snapshot::new(self.shared.clone(), meta))
    }

    /// Bytes that went over the network since the store was opened.
    pub fn traffic(&self) -> Traffic {
        self.shared.cluster.traffic()
    }

    /// Whether the last list was scored by the nodes; `None` before the first.
    pub fn scores_there(&self) -> Option<bool> {
        self.shared.module.last()
    }

    /// The index that is at the address now, over the same connections: also one that was made for another encoder.
    pub fn reopened(&self) -> Result<Self, StoreError> {
        let shared = self.shared.clone();
        let meta = shared.meta().map_err(|error| shared.error(error))?;
        Ok(Self {
            shared,
            header: meta.header,
        })
    }

    /// The files that came with the index: names and contents, checked.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.snapshot()?.files()
    }
}

/// An address for errors, when it cannot be read: without what may be a password.
fn shown(address: &str) -> PathBuf {
    let rest = address.rsplit_once('@').map_or(address, |(_, rest)| rest);
    PathBuf::from(rest)
}

/// Refuses a server that says it evicts keys. Managed ones may not say, or not to everybody.
fn refuse_eviction(shared: &Shared) -> Result<(), ClusterError> {
    let command = redis::cmd("INFO").arg("memory").to_owned();
    let info = match shared.ask(&command) {
        Ok(Value::BulkString(info)) => info,
        Ok(_) => return Ok(()),
        Err(ClusterError::Refused { message, .. }) if message.starts_with("NOPERM") => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let info = String::from_utf8_lossy(&info);
    let policy = info
        .lines()
        .find_map(|line| line.strip_prefix("maxmemory_policy:"));
    let limit = info
        .lines()
        .find_map(|line| line.strip_prefix("maxmemory:"));
    match (policy, limit) {
        (Some(policy), Some(limit)) if policy.starts_with("allkeys") && limit != "0" => {
            Err(ClusterError::Evicting {
                policy: policy.to_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// The keys that match a pattern, on all masters.
pub(crate) fn scan_keys(shared: &Shared, pattern: &str) -> Result<Vec<Vec<u8>>, ClusterError> {
    let mut keys = Vec::new();
    shared.cluster.each_master(|ask| {
        let mut cursor = b"0".to_vec();
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(&cursor)
                .arg("MATCH")
                .arg(pattern)
                .arg("COUNT")
                .arg(SCANNED);
            let Value::Array(reply) = ask(&scan)? else {
                return Err(ClusterError::Reply("SCAN"));
            };
            let [Value::BulkString(next), Value::Array(found)] = &reply[..] else {
                return Err(ClusterError::Reply("SCAN"));
            };
            for key in found {
                if let Value::BulkString(key) = key {
                    keys.push(key.clone());
                }
            }
            if next == b"0" {
                return Ok(());
            }
            cursor.clone_from(next);
        }
    })?;
    Ok(keys)
}
