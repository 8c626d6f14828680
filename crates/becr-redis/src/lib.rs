//! The store of documents and token groups in a Redis Cluster: for collections that no machine holds, and for any number
//! of servers that share one index. A single Redis server will do, too.
//!
//! ```no_run
//! use becr_redis::Store;
//! use becr_store::{DocumentStore, WriteStore};
//!
//! let store = Store::open("redis://redis-1:7000,redis-2:7000/wiki")?;
//! assert_eq!(store.snapshot()?.numbers(&["no such document"])?, [None]);
//! # Ok::<(), becr_store::StoreError>(())
//! ```
//!
//! | module | job |
//! |---|---|
//! | `cluster` | pipelines to every node at once, again after a redirection or a failover |
//! | `connections` | kept for the next one who asks; no wait is longer than a question has time |
//! | `keys` | how rows become keys, and keys slots |
//! | `row`, `meta` | what a row and a generation look like |
//! | `reading` | a [`Snapshot`]: the store at one generation |
//! | `scoring` | lists that the nodes score, where they have the module |
//! | `writing`, `lease` | one writer at a time; changes that appear as a whole |
//! | `export` | a whole store into the cluster |
//!
//! # Keys and slots
//!
//! Rows are spread over buckets, and a bucket is one hash tag: `becr:{NAME.MODEL.EDITION.BUCKET}:…`. All of a bucket lies in
//! one slot, so several of its rows are asked for in one `MGET`, and one script changes them in one step. A question takes
//! one pipeline to each node, however many rows it asks for.
//!
//! # Generations
//!
//! A row says which generation wrote it and where to find what it was before. A snapshot is a generation's number: what later
//! generations wrote is passed over, what they replaced is looked up under its old key. A generation is published by one
//! write of one value, after replicas have taken all of it (`WAIT`) and after every row has been counted again: a failover
//! may lose writes that were acknowledged. Whoever dies before that leaves rows that nobody sees, and the next writer takes
//! them back. What was replaced is removed when it is older than [`Options::retention`].
//!
//! One writer at a time holds a lease with a token. The token is noted in every bucket before anything is written, and a
//! writer with an older one is refused there: a writer that was thought dead does no harm.
//!
//! # What is lost is not mistaken for what never was
//!
//! Every bucket has a mark that is read along with its rows. Where it is missing, because a node came back empty or
//! the edition was removed, the question fails with [`ClusterError::Gone`]. Set `maxmemory-policy noeviction`: a
//! server that evicts single keys would make documents and counts vanish. [`Store::open`] refuses one that says it does.

mod address;
mod cluster;
mod connections;
mod error;
mod export;
mod keys;
mod lease;
mod meta;
mod options;
mod reading;
mod scoring;
mod scripts;
mod slots;
mod store;
mod writing;

pub use address::{Address, Node};
pub use cluster::Traffic;
pub use error::ClusterError;
pub use export::{Exported, Progress, export};
pub use options::Options;
pub use reading::Snapshot;
pub use store::Store;
