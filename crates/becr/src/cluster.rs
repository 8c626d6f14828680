//! Indexes in a cluster: opening one, and the way there and back.

use crate::backing::{Backing, Snapshot};
use crate::opened::{Opened, Stamp};
use crate::{Error, Index};
use becr_index::manifest::Manifest;
use becr_index::{IndexError, Observer, Stage};
use becr_redis::{Exported, Options, Store};
use becr_store::{StoreContents, StoreError, Table};
use std::fs;
use std::path::Path;

/// The address that a path is, if it is one of an index in a cluster.
pub(crate) fn address(path: &Path) -> Option<&str> {
    path.to_str()
        .filter(|text| becr_redis::Address::is_one(text))
}

impl Opened {
    /// Opens an index in a cluster. Its files (`becr.json`, head, tokenizer) come into a temporary folder, which goes with it.
    pub(crate) fn open_cluster(address: &str, options: Options) -> Result<Self, Error> {
        let store = Store::open_with(address, options)?;
        let folder = tempfile::tempdir().map_err(StoreError::io(
            &std::env::temp_dir(),
            "cannot make a folder for the files of an index in a cluster",
        ))?;
        write_files(folder.path(), &store.files()?)?;
        let dir = folder.path().to_owned();
        let manifest = Manifest {
            edition: store.snapshot()?.edition(),
            ..Manifest::read(&dir)?
        };
        let stamp = Stamp::of(&dir).map_err(StoreError::io(&dir, "cannot read"))?;
        let path = store.path().to_owned();
        let mut opened = Self::new(dir, manifest, stamp, Some(Backing::Cluster(store)));
        opened.path = path;
        opened.folder = Some(folder);
        Ok(opened)
    }
}

fn write_files(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Error> {
    for (name, bytes) in files {
        let path = folder.join(name);
        // A name comes from the cluster: it must not lead out of the folder.
        let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':']);
        if !name.split('/').all(is_plain) {
            let reason = format!("the cluster names a file {name:?}");
            return Err(IndexError::DamagedFile { path, reason }.into());
        }
        let written = path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, bytes));
        written.map_err(StoreError::io(&path, "cannot write"))?;
    }
    Ok(())
}

impl Index {
    /// Writes the index into a cluster, `redis://host:port[,host:port…]/name`, in the place of what is there under that
    /// name. Readers see the new one in one step, when all of it has been written and counted. An export that was
    /// interrupted goes on when it is begun again.
    pub fn export(
        &self,
        address: &str,
        options: Options,
        observer: &dyn Observer,
    ) -> Result<Exported, Error> {
        let view = self.view()?;
        let opened = &view.state().opened;
        let snapshot = view.snapshot()?;
        let snapshot = snapshot.embedded()?;
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
        let rows = tables.iter().map(|&table| snapshot.rows(table));
        let rows = rows.sum::<Result<u64, _>>()?;
        observer.begin(Stage::Exporting, Some(rows));
        let mut progress = |rows| observer.advance(rows);
        let files = files_of(&opened.dir)?;
        Ok(becr_redis::export(
            snapshot,
            &files,
            address,
            options,
            &mut progress,
        )?)
    }
}

/// The small files of an index: what it says of itself, its token groups, head and tokenizer.
fn files_of(dir: &Path) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let read = |name: String| {
        let path = dir.join(&name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some((name, bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(&path, "cannot read")(error)),
        }
    };
    let mut names = vec!["becr.json".to_owned(), "groups.list".to_owned()];
    let folder = dir.join("model");
    let entries = fs::read_dir(&folder).map_err(StoreError::io(&folder, "cannot read"))?;
    let mut model: Vec<String> = entries
        .flatten()
        .map(|entry| format!("model/{}", entry.file_name().to_string_lossy()))
        .collect();
    model.sort();
    names.extend(model);
    let files = names.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(files.into_iter().flatten().collect())
}

/// Writes an index in a cluster into a directory, first stage included, which is made from its words. Returns how many
/// documents it has.
pub fn import(
    address: &str,
    target: &Path,
    overwrite: bool,
    observer: &dyn Observer,
) -> Result<u64, Error> {
    let options = Options {
        // What is read meanwhile may take longer than a query.
        retention: std::time::Duration::from_secs(24 * 3600),
        ..Options::default()
    };
    let opened = Opened::open_cluster(address, options)?;
    let snapshot = opened.store()?.snapshot()?;
    let Snapshot::Cluster(snapshot) = snapshot else {
        return Err(Error::NotInCluster(target.to_owned()));
    };
    Ok(becr_index::import(
        &snapshot,
        &opened.dir,
        target,
        overwrite,
        observer,
    )?)
}
