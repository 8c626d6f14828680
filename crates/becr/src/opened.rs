//! An edition of an index, opened: what its states have in common.

use crate::files::IndexFiles;
use crate::stored::{IndexStore, StoreSnapshot};
use crate::view::{Finder, State, View};
use crate::{Error, Generation, OpenOptions, RankOptions};
use becr_encoder::{Mixed, Mixer, hyperplanes};
use becr_index::FileSum;
use becr_index::first_stage::FirstStage;
use becr_index::manifest::Manifest;
use becr_lmdb::Store;
use becr_model::{Head, QueryMode};
use becr_rank::{MixedQuery, QueryPlan, RankError, RankWorkspace, Ranker};
use becr_store::StoreContents;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// How often files are looked at again that were replaced while they were being opened.
const ATTEMPTS: usize = 10;

/// Nothing that holds one of our locks panics half-way through a change.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An edition of an index.
pub(crate) struct Opened {
    /// No other has it in this process: what is kept of one index is told from what is kept of its successor by it.
    pub(crate) number: u64,
    pub(crate) dir: PathBuf,
    pub(crate) files: IndexFiles,
    pub(crate) manifest: Manifest,
    /// None for an index in a cluster.
    pub(crate) stamp: Option<Stamp>,
    /// The inode of the store's file; none for an index without a store here.
    store_file: Option<u64>,
    /// None for a lexical index.
    pub(crate) store: Option<IndexStore>,
    /// Made when first asked for: reading a tokenizer takes longer than everything else.
    ranker: Mutex<Option<Arc<Ranker>>>,
    /// The first stage of the newest state that was looked at.
    first_stage: Mutex<Option<(u64, Arc<FirstStage>)>>,
    /// Buffers of rankings, to be used again.
    pub(crate) workspaces: Mutex<Vec<RankWorkspace>>,
}

/// What tells one manifest file from its successor, a copy with the same time and the same inode included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: u64,
    folder: u64,
    modified: Option<SystemTime>,
    /// When the system last changed what it knows of the file: no copy can bring that along.
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(dir: &Path) -> std::io::Result<Self> {
        let meta = std::fs::metadata(Manifest::file(dir))?;
        let (file, folder, changed) = {
            use std::os::unix::fs::MetadataExt;
            let folder = std::fs::metadata(dir)?.ino();
            (meta.ino(), folder, (meta.ctime(), meta.ctime_nsec()))
        };
        Ok(Self {
            file,
            folder,
            modified: meta.modified().ok(),
            changed,
        })
    }
}

/// The inode of a store's file: one that was restored from a copy is another file beside the same manifest.
fn file_of(store: &Path) -> std::io::Result<u64> {
    let meta = std::fs::metadata(store.join("data.mdb"))?;
    Ok(std::os::unix::fs::MetadataExt::ino(&meta))
}

/// The next [`Opened::number`].
fn number() -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

impl Opened {
    /// Opens an index in a cluster. `before` is what was open.
    #[cfg(feature = "redis")]
    pub(crate) fn in_cluster(
        address: &str,
        options: &OpenOptions,
        before: Option<&Self>,
    ) -> Result<Self, Error> {
        let store = match before.and_then(|before| before.store.as_ref()) {
            Some(IndexStore::Cluster(store)) => store.reopened()?,
            _ => becr_redis::Store::open_with(address, options.cluster.clone())?,
        };
        let snapshot = store.snapshot()?;
        let files = snapshot.files()?;
        let dir = store.path().to_owned();
        let manifest = Manifest {
            edition: snapshot.edition(),
            ..becr_index::manifest_of(&files, &dir)?
        };
        tracing::debug!(index = %dir.display(), edition = manifest.edition, "opened");
        Ok(Self {
            number: number(),
            files: IndexFiles::Memory(dir.clone(), files),
            dir,
            manifest,
            stamp: None,
            store_file: None,
            store: Some(IndexStore::Cluster(store)),
            ranker: Mutex::default(),
            first_stage: Mutex::default(),
            workspaces: Mutex::default(),
        })
    }

    /// Opens what the manifest names. `before` is what was open: its ranker serves a compacted index too.
    pub(crate) fn open(dir: &Path, before: Option<&Self>) -> Result<Self, Error> {
        Self::open_stamped(dir, before, &Stamp::of)
    }

    fn open_stamped(
        dir: &Path,
        before: Option<&Self>,
        stamp_of: &dyn Fn(&Path) -> std::io::Result<Stamp>,
    ) -> Result<Self, Error> {
        let mut attempts = 0;
        loop {
            let stamp = stamp_of(dir);
            let manifest = Manifest::read(dir)?;
            let store_file = match &manifest.model {
                None => None,
                Some(_) => file_of(&manifest.store(dir)).ok(),
            };
            let store = match &manifest.model {
                None => None,
                Some(_) => match Store::open(&manifest.store(dir)) {
                    Ok(store) => Some(IndexStore::Embedded(store)),
                    // A compaction may just have put another edition in its place.
                    Err(_)
                        if attempts < ATTEMPTS
                            && stamp_of(dir).ok() != stamp.as_ref().ok().copied() =>
                    {
                        attempts += 1;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                },
            };
            let stamp = match stamp {
                Ok(stamp) => stamp,
                // The index was being replaced in this very moment.
                Err(_) if attempts < ATTEMPTS => {
                    attempts += 1;
                    continue;
                }
                Err(source) => {
                    return Err(becr_index::IndexError::Io {
                        path: dir.to_owned(),
                        action: "cannot look at",
                        source,
                    }
                    .into());
                }
            };
            let ranker = before
                .filter(|before| before.ranks_as(&manifest, store.as_ref()))
                .and_then(|before| lock(&before.ranker).clone());
            tracing::debug!(index = %dir.display(), edition = manifest.edition, "opened");
            return Ok(Self {
                number: number(),
                dir: dir.to_owned(),
                files: IndexFiles::Folder(dir.to_owned()),
                manifest,
                stamp: Some(stamp),
                store_file,
                store,
                ranker: Mutex::new(ranker),
                first_stage: Mutex::default(),
                workspaces: Mutex::default(),
            });
        }
    }

    /// Whether this is what the directory holds. One that is gone, for a moment or for good, is no reason to stop: what is
    /// open stays readable.
    pub(crate) fn is_current(&self) -> bool {
        let Some(stamp) = self.stamp else {
            return true;
        };
        let same_store = || match self.store_file {
            None => true,
            Some(file) => file_of(&self.manifest.store(&self.dir)).map_or(true, |now| now == file),
        };
        Stamp::of(&self.dir).map_or(true, |now| now == stamp && same_store())
    }

    /// Whether another edition has the same head, tokenizer and mixer, by the checksums of their files, and records of the
    /// same kind. The folder's inode tells nothing: systems use that of a removed folder again.
    fn ranks_as(&self, other: &Manifest, store: Option<&IndexStore>) -> bool {
        let header = |store: Option<&IndexStore>| store.map(|store| store.header().clone());
        let files = |manifest: &Manifest| -> Vec<FileSum> {
            let files = manifest.files.iter();
            let of_model = files.filter(|file| file.path.starts_with("model/"));
            of_model.cloned().collect()
        };
        let own = files(&self.manifest);
        !own.is_empty() && own == files(other) && header(self.store.as_ref()) == header(store)
    }

    /// The document store.
    pub(crate) fn store(&self) -> Result<&IndexStore, Error> {
        let lexical = || Error::Lexical(self.dir.clone());
        self.store.as_ref().ok_or_else(lexical)
    }

    /// Why the index cannot be ranked with; `None` if it can.
    pub(crate) fn obstacle(&self, options: &OpenOptions) -> Option<Error> {
        if self.store.is_none() {
            return Some(Error::Lexical(self.dir.clone()));
        }
        if options.head.is_none() && !self.files.has_head() {
            return Some(Error::NoHead(self.dir.clone()));
        }
        None
    }

    /// How a query is read and scored on this index.
    pub(crate) fn plan(&self, ranker: &Ranker, asked: &RankOptions) -> Result<QueryPlan, Error> {
        ranker.plan(asked).map_err(|error| match error {
            RankError::EncodedOnly => Error::EncodedOnly(self.dir.clone()),
            error => error.into(),
        })
    }

    /// The head that the index is ranked with.
    pub(crate) fn head(&self, options: &OpenOptions) -> Result<Head, Error> {
        match &options.head {
            Some(head) => Ok(head.clone()),
            None => (self.files.head()?).ok_or_else(|| Error::NoHead(self.dir.clone())),
        }
    }

    /// The ranker of the index.
    pub(crate) fn ranker(&self, options: &OpenOptions) -> Result<Arc<Ranker>, Error> {
        let mut held = lock(&self.ranker);
        if let Some(ranker) = &*held {
            return Ok(ranker.clone());
        }
        if let Some(obstacle) = self.obstacle(options) {
            return Err(obstacle);
        }
        let head = self.head(options)?;
        let pieces = self.files.word_pieces()?;
        let ranker = Ranker::for_store(self.store()?.header(), head, pieces)?;
        let ranker = match self.manifest.mode {
            QueryMode::Encoded => ranker.encoded_only(),
            QueryMode::Composed => self.mixing(ranker)?,
        };
        let ranker = Arc::new(ranker);
        *held = Some(ranker.clone());
        Ok(ranker)
    }

    /// Lets the ranker mix the words of composed queries, if the index's model has a mixer.
    fn mixing(&self, ranker: Ranker) -> Result<Ranker, Error> {
        let Some((config, weights, path)) = self.files.mixer()? else {
            return Ok(ranker);
        };
        weights.check_encoder(&self.store()?.header().encoder_id, &path)?;
        let Some(hyperplanes) = hyperplanes(&config)? else {
            return Ok(ranker);
        };
        let mixer = Mixer::new(&weights)?;
        let mix = move |words: &[f32]| {
            let mut mixed = Mixed::default();
            mixer.mix(words, &mut mixed);
            MixedQuery {
                terms: mixed.terms,
                query: mixed.query,
            }
        };
        Ok(ranker.with_mixer(Box::new(mix), hyperplanes)?)
    }

    /// The newest state; with the first stage, if it will be asked.
    pub(crate) fn view(
        self: &Arc<Self>,
        options: &Arc<OpenOptions>,
        with_first_stage: bool,
    ) -> Result<View, Error> {
        let (snapshot, commit) = match &self.store {
            Some(store) => {
                let snapshot = store.snapshot()?;
                self.check_edition(&snapshot)?;
                let commit = snapshot.generation()?;
                (Some(snapshot), commit)
            }
            None => (None, 0),
        };
        let candidates = match with_first_stage {
            true => self.candidates(options, snapshot.as_ref(), commit)?,
            false => Finder::None,
        };
        Ok(View::new(State {
            opened: self.clone(),
            options: options.clone(),
            generation: Generation {
                edition: self.manifest.edition,
                commit,
            },
            snapshot: snapshot.map(Mutex::new),
            candidates,
        }))
    }

    /// An index in a cluster may have been replaced: files that came with another edition are of no use then.
    fn check_edition(&self, snapshot: &StoreSnapshot) -> Result<(), Error> {
        match snapshot {
            StoreSnapshot::Embedded(_) => Ok(()),
            #[cfg(feature = "redis")]
            StoreSnapshot::Cluster(cluster) if cluster.edition() == self.manifest.edition => Ok(()),
            #[cfg(feature = "redis")]
            StoreSnapshot::Cluster(_) => {
                Err(becr_store::StoreError::Replaced(self.dir.clone()).into())
            }
        }
    }

    /// Where candidates come from: another index, if one was named, or the index's own first stage.
    fn candidates(
        &self,
        options: &OpenOptions,
        snapshot: Option<&StoreSnapshot>,
        commit: u64,
    ) -> Result<Finder, Error> {
        if let Some(other) = &options.first_stage {
            return Ok(Finder::Of(other.view()?));
        }
        match snapshot {
            None => self.first_stage(None, commit).map(Finder::Own),
            Some(snapshot) => match snapshot.embedded() {
                Some(embedded) => self.first_stage(Some(embedded), commit).map(Finder::Own),
                None => Ok(Finder::None),
            },
        }
    }

    fn first_stage(
        &self,
        snapshot: Option<&becr_lmdb::Snapshot>,
        commit: u64,
    ) -> Result<Arc<FirstStage>, Error> {
        let mut held = lock(&self.first_stage);
        if let Some((known, first_stage)) = &*held
            && *known == commit
        {
            return Ok(first_stage.clone());
        }
        let opened = Arc::new(match snapshot {
            Some(snapshot) => {
                FirstStage::of_snapshot(&self.manifest.first_stage(&self.dir), snapshot)?
            }
            None => FirstStage::open(&self.dir)?,
        });
        if held.as_ref().is_none_or(|(known, _)| *known < commit) {
            *held = Some((commit, opened.clone()));
        }
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index whose manifest can be read and not looked at is an error after some attempts, not a wait without an end.
    #[test]
    fn a_stamp_that_cannot_be_had_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        Manifest::default().write(dir.path()).unwrap();
        let asked = std::cell::Cell::new(0);
        let denied = |_: &Path| {
            asked.set(asked.get() + 1);
            Err(std::io::ErrorKind::PermissionDenied.into())
        };
        let error = Opened::open_stamped(dir.path(), None, &denied)
            .err()
            .unwrap();
        assert!(error.to_string().contains("cannot look at"), "{error}");
        assert_eq!(asked.get(), ATTEMPTS + 1);
    }
}
