//! An index in a Redis Cluster: exported once, then shared by any number of servers.
//!
//! ```no_run
//! use becr::{Candidate, Index, RankOptions};
//!
//! let address = "redis://redis-1:7000,redis-2:7000/wiki";
//! becr::cluster::export(&Index::open("wiki.becr")?, address, Default::default(), &mut |_| {})?;
//!
//! let shared = Index::open(address)?;
//! let ranked = shared.rerank("heavy loaf", &[Candidate::unscored("bread")], &RankOptions::default())?;
//! # Ok::<(), becr::Error>(())
//! ```
//!
//! Such an index ranks as the one that it was exported from, to the bit. It has no first stage: candidates come from another
//! engine, or from an index that is named when it is opened ([`OpenOptions::first_stage`](crate::OpenOptions::first_stage)).

use crate::{Error, Index, Observer};
use becr_index::manifest::Manifest;
pub use becr_redis::{Exported, Options, Progress, Traffic};
use becr_store::{StoreContents, Table};
use std::path::Path;

/// The address in a path that is one.
pub(crate) fn address(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| is_address(path))
}

/// Whether a path is meant as the address of an index in a cluster.
pub fn is_address(path: &str) -> bool {
    becr_redis::Address::is_one(path)
}

/// An address as it may be shown: without the password.
pub fn shown(address: &str) -> Result<String, Error> {
    Ok(parsed(address)?.to_string())
}

/// The name of the index at an address.
pub fn name(address: &str) -> Result<String, Error> {
    Ok(parsed(address)?.name().to_owned())
}

fn parsed(address: &str) -> Result<becr_redis::Address, Error> {
    address
        .parse()
        .map_err(|error: becr_redis::ClusterError| Error::Cluster(error.to_string()))
}

/// Rows that an export of an index writes.
pub fn rows(index: &Index) -> Result<u64, Error> {
    let view = index.view()?;
    let snapshot = view.snapshot()?;
    let tables = [
        Table::Records,
        Table::Numbers,
        Table::Ids,
        Table::Texts,
        Table::Words,
        Table::Spellings,
        Table::Stems,
        Table::Pairs,
        Table::Groups,
    ];
    let rows = tables.into_iter().map(|table| snapshot.rows(table));
    Ok(rows.sum::<Result<u64, _>>()?)
}

/// Writes an embedded index to an address, with the small files that ranking needs, in the place of what is there, in one step.
/// An export that was interrupted is gone on with by the same export.
pub fn export(
    index: &Index,
    address: &str,
    options: Options,
    progress: &mut Progress<'_>,
) -> Result<Exported, Error> {
    let view = index.view()?;
    let snapshot = view.snapshot()?;
    let embedded = snapshot.embedded();
    let embedded = embedded.ok_or_else(|| Error::InCluster(index.path().to_owned()))?;
    // What it says of itself, without the folders of this machine and the list of its files.
    let mut files = becr_index::small_files(index.path())?;
    let manifest = Manifest {
        folders: Vec::new(),
        files: Vec::new(),
        ..becr_index::manifest_of(&files, index.path())?
    };
    let file = Manifest::file(Path::new(""));
    for (path, bytes) in &mut files {
        if Path::new(path) == file {
            *bytes = manifest.bytes()?;
        }
    }
    let exported = becr_redis::export(embedded, &files, address, options, progress)?;
    tracing::info!(?exported, "exported");
    Ok(exported)
}

/// Makes an index directory of an index in a cluster, its first stage too. Returns how many documents it has.
pub fn import(
    address: &str,
    target: impl AsRef<Path>,
    overwrite: bool,
    options: Options,
    observer: &dyn Observer,
) -> Result<u64, Error> {
    // Everything is read of one state, and that may take longer than states are kept for otherwise.
    let store = becr_redis::Store::open_with(address, options)?;
    let snapshot = store.snapshot()?;
    let files = snapshot.files()?;
    let target = target.as_ref();
    Ok(becr_index::import(
        &snapshot, &files, target, overwrite, observer,
    )?)
}

impl Index {
    /// Bytes that went over the network since the index was opened; `None` for one that is not in a cluster.
    pub fn traffic(&self) -> Result<Option<Traffic>, Error> {
        let opened = self.opened()?;
        Ok(match &opened.store {
            Some(crate::stored::IndexStore::Cluster(store)) => Some(store.traffic()),
            _ => None,
        })
    }

    /// Whether the last list was scored by the nodes; `None` before the first, and for an index that is not in a cluster.
    pub fn scores_there(&self) -> Result<Option<bool>, Error> {
        let opened = self.opened()?;
        Ok(match &opened.store {
            Some(crate::stored::IndexStore::Cluster(store)) => store.scores_there(),
            _ => None,
        })
    }
}
