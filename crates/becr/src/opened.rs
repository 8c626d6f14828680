//! An edition of an index, opened: what its states have in common.

use crate::view::{State, View};
use crate::{Error, Generation, OpenOptions, RankOptions};
use becr_encoder::{Mixed, Mixer, hyperplanes};
use becr_index::first_stage::FirstStage;
use becr_index::manifest::Manifest;
use becr_lmdb::Store;
use becr_model::{Config, HEAD_FILE, Head, MIXER_FILE, MixerWeights, QueryMode};
use becr_rank::{MixedQuery, RankWorkspace, Ranker};
use becr_text::pieces::WordPieces;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Nothing that holds one of our locks panics half-way through a change.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An edition of an index.
pub(crate) struct Opened {
    pub(crate) dir: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) stamp: Stamp,
    /// None for a lexical index.
    pub(crate) store: Option<Store>,
    /// Made when first asked for: reading a tokenizer takes longer than everything else.
    ranker: Mutex<Option<Arc<Ranker>>>,
    /// The first stage of the newest state that was looked at.
    first_stage: Mutex<Option<(u64, Arc<FirstStage>)>>,
    /// Buffers of rankings, to be used again.
    pub(crate) workspaces: Mutex<Vec<RankWorkspace>>,
}

/// What tells one manifest file from its successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: u64,
    folder: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    pub(crate) fn of(dir: &Path) -> std::io::Result<Self> {
        let meta = std::fs::metadata(Manifest::file(dir))?;
        #[cfg(unix)]
        let (file, folder) = {
            use std::os::unix::fs::MetadataExt;
            (meta.ino(), std::fs::metadata(dir)?.ino())
        };
        #[cfg(not(unix))]
        let (file, folder) = (meta.len(), 0);
        Ok(Self {
            file,
            folder,
            modified: meta.modified().ok(),
        })
    }
}

impl Opened {
    /// Opens what the manifest names. `before` is what was open: its ranker serves a compacted index too.
    pub(crate) fn open(dir: &Path, before: Option<&Self>) -> Result<Self, Error> {
        let mut attempts = 0;
        loop {
            let stamp = Stamp::of(dir).ok();
            let manifest = Manifest::read(dir)?;
            let store = match &manifest.model {
                None => None,
                Some(_) => match Store::open(&manifest.store(dir)) {
                    Ok(store) => Some(store),
                    // A compaction may just have put another edition in its place.
                    Err(_) if attempts < 10 && Stamp::of(dir).ok() != stamp => {
                        attempts += 1;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                },
            };
            let stamp = match stamp {
                Some(stamp) => stamp,
                None => continue,
            };
            let ranker = before
                .filter(|before| before.stamp.folder == stamp.folder)
                .and_then(|before| lock(&before.ranker).clone());
            tracing::debug!(index = %dir.display(), edition = manifest.edition, "opened");
            return Ok(Self {
                dir: dir.to_owned(),
                manifest,
                stamp,
                store,
                ranker: Mutex::new(ranker),
                first_stage: Mutex::default(),
                workspaces: Mutex::default(),
            });
        }
    }

    /// The document store.
    pub(crate) fn store(&self) -> Result<&Store, Error> {
        let lexical = || Error::Lexical(self.dir.clone());
        self.store.as_ref().ok_or_else(lexical)
    }

    /// Why the index cannot be ranked with; `None` if it can.
    pub(crate) fn obstacle(&self, options: &OpenOptions) -> Option<Error> {
        if self.store.is_none() {
            return Some(Error::Lexical(self.dir.clone()));
        }
        if options.head.is_none() && !self.head_file().is_file() {
            return Some(Error::NoHead(self.dir.clone()));
        }
        None
    }

    /// How a query is read and scored on this index. An index for encoded queries alone has no token groups to compose
    /// others of.
    pub(crate) fn options(
        &self,
        ranker: &Ranker,
        asked: &RankOptions,
    ) -> Result<becr_rank::Options, Error> {
        let default = match self.manifest.mode {
            QueryMode::Encoded => QueryMode::Encoded,
            QueryMode::Composed => ranker.head().mode.unwrap_or_default(),
        };
        let options = asked.resolve(default)?;
        match self.manifest.mode == QueryMode::Encoded && !options.is_encoded() {
            true => Err(Error::EncodedOnly(self.dir.clone())),
            false => Ok(options),
        }
    }

    fn head_file(&self) -> PathBuf {
        self.dir.join("model").join(HEAD_FILE)
    }

    /// The head that the index is ranked with.
    pub(crate) fn head(&self, options: &OpenOptions) -> Result<Head, Error> {
        match &options.head {
            Some(head) => Ok(head.clone()),
            None => Ok(Head::read(&self.head_file())?),
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
        let pieces = WordPieces::from_dir(&self.dir.join("model"))?;
        let ranker = Ranker::for_store(self.store()?.header(), head, pieces)?;
        let ranker = Arc::new(self.mixing(ranker)?);
        *held = Some(ranker.clone());
        Ok(ranker)
    }

    /// Lets the ranker mix the words of composed queries, if the index's model has a mixer.
    fn mixing(&self, ranker: Ranker) -> Result<Ranker, Error> {
        let folder = self.dir.join("model");
        let path = folder.join(MIXER_FILE);
        if !path.is_file() {
            return Ok(ranker);
        }
        let config = Config::read(&folder.join("config.json"))?;
        let weights = MixerWeights::read(&path, config.hidden_size)?;
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
                let commit = snapshot.generation()?;
                (Some(snapshot), commit)
            }
            None => (None, 0),
        };
        let first_stage = match with_first_stage {
            true => Some(self.first_stage(snapshot.as_ref(), commit)?),
            false => None,
        };
        Ok(View::new(State {
            opened: self.clone(),
            options: options.clone(),
            generation: Generation {
                edition: self.manifest.edition,
                commit,
            },
            snapshot: snapshot.map(Mutex::new),
            first_stage,
        }))
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
