//! The model of an index, read once for many changes.

use crate::opened::lock;
use crate::{Error, models};
use becr_index::manifest::Manifest;
use becr_model::Model;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

/// The model that was read last, and the state of its directory then.
#[derive(Default)]
pub(crate) struct ModelCache {
    read: Mutex<Option<(ModelStamp, Identified)>>,
    /// Of the model that was given.
    given: OnceLock<Arc<str>>,
}

/// A model and its [`Model::encoder_id`], a hash of all its weights: made once.
type Identified = (Arc<Model>, Arc<str>);

impl ModelCache {
    /// The model that an index was built with. It is read again where a file of its directory has changed: what was
    /// added, removed or replaced has another time, size or inode.
    pub(crate) fn of_manifest(
        &self,
        index: &Path,
        manifest: &Manifest,
    ) -> Result<Identified, Error> {
        let directory = manifest.model.as_ref().map(|model| &*model.directory);
        let stamp = directory.and_then(ModelStamp::of);
        let mut kept = lock(&self.read);
        match (&*kept, &stamp) {
            (Some((before, found)), Some(now)) if before == now => return Ok(found.clone()),
            _ => *kept = None,
        }
        // The stamp is older than what is read: a change in between is seen the next time.
        let model = Arc::new(models::of_manifest(index, manifest)?);
        let id = Arc::from(model.encoder_id());
        *kept = stamp.map(|stamp| (stamp, (model.clone(), Arc::clone(&id))));
        Ok((model, id))
    }

    /// The identity of the model that was given when the index was opened, which stays the same one.
    pub(crate) fn id_of(&self, given: &Model) -> Arc<str> {
        let id = self.given.get_or_init(|| given.encoder_id().into());
        Arc::clone(id)
    }
}

/// What tells the files of a model from others that took their place.
#[derive(Debug, PartialEq, Eq)]
struct ModelStamp {
    directory: OsString,
    files: Vec<FileStamp>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FileStamp {
    name: OsString,
    bytes: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl ModelStamp {
    /// `None` if the directory cannot be listed: then nothing is kept, and reading it says why.
    fn of(directory: &Path) -> Option<Self> {
        let mut files = Vec::new();
        // The bundled model is part of the program.
        if directory != Path::new(models::BUNDLED) {
            for entry in std::fs::read_dir(directory).ok()? {
                let entry = entry.ok()?;
                // Of what a link leads to: the hub's cache is made of links.
                let meta = std::fs::metadata(entry.path()).ok()?;
                let inode = std::os::unix::fs::MetadataExt::ino(&meta);
                files.push(FileStamp {
                    name: entry.file_name(),
                    bytes: meta.len(),
                    modified: meta.modified().ok(),
                    inode,
                });
            }
            files.sort();
        }
        Some(Self {
            directory: directory.as_os_str().to_owned(),
            files,
        })
    }
}
