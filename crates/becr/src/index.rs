//! The principal type: an index, open.

use crate::model_cache::ModelCache;
use crate::opened::{Opened, lock};
use crate::stored::IndexStore;
use crate::view::{State, View};
use crate::{
    Candidate, Error, ExplainAnswer, ExplainOptions, Generation, RankOptions, RerankAnswer,
    SearchAnswer, SearchOptions, TextAnswer, TextCache, TextCandidate,
};
use becr_encoder::{Encoder, Precision};
use becr_index::live::LiveIndex;
use becr_index::{Changed, Existing, IntoDocument, Observer, Verification};
use becr_model::{Head, Model, QueryMode};
use becr_rank::{ListParts, Ranker};
use becr_store::{Documents, StoreError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// How an index is opened.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// A head to rank with, in the place of the index's own; of the same encoder.
    pub(crate) head: Option<Head>,
    /// The model, if it is no longer where it was when the index was built.
    model: Option<Arc<Model>>,
    /// An encoder of that model, on a GPU say.
    encoder: Option<Arc<Encoder>>,
    /// Where candidates come from, in the place of the index's own first stage.
    pub(crate) first_stage: Option<Index>,
    /// How a cluster is asked.
    #[cfg(feature = "redis")]
    pub(crate) cluster: becr_redis::Options,
    /// The model, once it was needed.
    read: Arc<ModelCache>,
    /// The encoder, once it was needed.
    loaded: Arc<Mutex<Option<LoadedEncoder>>>,
    /// What the index was encoded with when it was opened: what [`OpenOptions::encoder`] belongs to.
    bound_to: Option<String>,
}

/// An encoder in memory, and what it was loaded for.
struct LoadedEncoder {
    key: EncoderKey,
    encoder: Arc<Encoder>,
}

/// What an encoder computes: footprints of one key are not to be compared with those of another.
#[derive(Clone, PartialEq, Eq)]
struct EncoderKey {
    encoder_id: String,
    precision: Precision,
}

impl EncoderKey {
    fn of(opened: &Opened) -> Result<Self, Error> {
        Ok(Self {
            encoder_id: opened.store()?.header().encoder_id.clone(),
            precision: opened.manifest.precision(),
        })
    }
}

impl OpenOptions {
    /// Opens as the index says itself.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ranks with this head, in the place of the index's own; it must be of the same encoder.
    pub fn head(mut self, head: Head) -> Self {
        self.head = Some(head);
        self
    }

    /// The model of the index, if it is no longer where it was when the index was built. It is needed to add documents
    /// and to encode queries.
    pub fn model(mut self, model: impl Into<Arc<Model>>) -> Self {
        self.model = Some(model.into());
        // What is known of another model, by options that these were cloned from.
        self.read = Arc::default();
        self
    }

    /// An encoder of the index's model, in the place of one on the CPU. It must compute in the precision that the index
    /// was built in.
    pub fn encoder(mut self, encoder: Arc<Encoder>) -> Self {
        self.encoder = Some(encoder);
        self
    }

    /// Finds candidates in another index of the same collection: one in a cluster has no first stage of its own. An index of
    /// words alone will do.
    pub fn first_stage(mut self, index: Index) -> Self {
        self.first_stage = Some(index);
        self
    }

    /// How a cluster is asked: time limits, and whether its nodes score.
    #[cfg(feature = "redis")]
    pub fn cluster(mut self, options: becr_redis::Options) -> Self {
        self.cluster = options;
        self
    }

    /// Opens the index in `path`: a directory, or `redis://host:port[,host:port…]/name` with the feature `redis`.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Index, Error> {
        Index::with_options(path.as_ref(), self)
    }

    /// The encoder of an index, loaded when first asked for. Another index may have taken the place of the one that it was
    /// loaded for, so it is compared at every use.
    pub(crate) fn encoder_of(&self, opened: &Opened) -> Result<Arc<Encoder>, Error> {
        let wanted = EncoderKey::of(opened)?;
        if let Some(encoder) = &self.encoder {
            let asked = encoder.backend().precision();
            opened.manifest.check_precision(&opened.dir, asked)?;
            if let Some(given) = &self.bound_to {
                opened.store()?.check_encoder(given)?;
            }
            return Ok(encoder.clone());
        }
        let mut loaded = lock(&self.loaded);
        if let Some(held) = &*loaded
            && held.key == wanted
        {
            return Ok(held.encoder.clone());
        }
        // Before another is loaded: two at a time would take the memory of two.
        *loaded = None;
        let model = self.model_of(opened)?;
        let encoder = Encoder::with_precision(Model::clone(&model), wanted.precision)?;
        let encoder = Arc::new(encoder);
        *loaded = Some(LoadedEncoder {
            key: wanted,
            encoder: encoder.clone(),
        });
        Ok(encoder)
    }

    /// The model of an index; an error if the one that was given, or is in its place, is another.
    fn model_of(&self, opened: &Opened) -> Result<Arc<Model>, Error> {
        let (model, id) = match &self.model {
            Some(model) => (model.clone(), self.read.id_of(model)),
            None => self.read.of_manifest(&opened.dir, &opened.manifest)?,
        };
        opened.store()?.check_encoder(&id)?;
        Ok(model)
    }
}

/// An index, open. Cheap to clone, and to be shared between threads: searches run side by side, also while documents
/// are added.
///
/// Every call sees the newest [`Generation`] that was published when it began, by this process or another, compaction
/// included. To ask several things of the same state, take a [`View`].
///
/// Changes are made by one writer at a time. Those of one process wait for each other; a second process gets an error.
#[derive(Clone)]
pub struct Index {
    inner: Arc<Inner>,
}

struct Inner {
    /// As it was given: the address of an index in a cluster has a password maybe.
    address: PathBuf,
    /// As it is told.
    path: PathBuf,
    options: Arc<OpenOptions>,
    /// None while the one that was open is let go of and the one in its place cannot be opened yet.
    opened: Mutex<Option<Arc<Opened>>>,
    /// Views that somebody may still have.
    views: Mutex<Vec<Weak<State>>>,
}

/// How often a state is asked for again that vanished while it was being opened.
const ATTEMPTS: usize = 10;
/// How long those who use an index that was replaced at its place are waited for: views may be kept for good.
const LET_GO: Duration = Duration::from_secs(5);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

impl Index {
    /// Opens the index in `path`, as it says itself. Opening it again, in any part of the process, shares its memory.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        OpenOptions::new().open(path)
    }

    fn with_options(path: &Path, mut options: OpenOptions) -> Result<Self, Error> {
        let opened = Arc::new(Self::open_edition(path, &options, None)?);
        options.bound_to = (opened.store.as_ref()).map(|store| store.header().encoder_id.clone());
        let inner = Inner {
            address: path.to_owned(),
            path: opened.dir.clone(),
            options: Arc::new(options),
            opened: Mutex::new(Some(opened)),
            views: Mutex::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    #[cfg(feature = "redis")]
    fn open_edition(
        path: &Path,
        options: &OpenOptions,
        before: Option<&Opened>,
    ) -> Result<Opened, Error> {
        match crate::cluster::address(path) {
            Some(address) => Opened::in_cluster(address, options, before),
            None => Opened::open(path, before),
        }
    }

    #[cfg(not(feature = "redis"))]
    fn open_edition(
        path: &Path,
        _: &OpenOptions,
        before: Option<&Opened>,
    ) -> Result<Opened, Error> {
        let is_address = |path: &str| path.starts_with("redis://") || path.starts_with("rediss://");
        match path.to_str().is_some_and(is_address) {
            true => Err(Error::Options(
                "this program was built without the feature `redis`, which indexes in a cluster need",
            )),
            false => Opened::open(path, before),
        }
    }

    /// Where the index is; the address of one in a cluster without the password.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// What is open, after a look whether there is something newer.
    pub(crate) fn opened(&self) -> Result<Arc<Opened>, Error> {
        let end = Instant::now() + LET_GO;
        loop {
            let mut held = lock(&self.inner.opened);
            if let Some(opened) = held.as_ref().filter(|opened| opened.is_current()) {
                return Ok(opened.clone());
            }
            let opened = Opened::open(&self.inner.path, held.as_deref());
            match opened {
                Ok(opened) => return Ok(held.insert(Arc::new(opened)).clone()),
                // Its store lies where that of another index lay, which this process has open: of two with one path LMDB
                // can have one. Nobody gets the old one any more, and whoever has it still is done with it in a moment.
                Err(Error::Store(StoreError::Replaced(_))) if Instant::now() < end => {
                    *held = None;
                }
                Err(error) => return Err(error),
            }
            drop(held);
            std::thread::sleep(PAUSE);
        }
    }

    /// Opens what took the place of `gone` in a cluster, unless another thread did.
    fn follow(&self, gone: &Arc<Opened>) -> Result<(), Error> {
        let mut held = lock(&self.inner.opened);
        if held.as_ref().is_some_and(|held| Arc::ptr_eq(held, gone)) {
            let Inner {
                address, options, ..
            } = &*self.inner;
            *held = Some(Arc::new(Self::open_edition(address, options, Some(gone))?));
        }
        Ok(())
    }

    /// Whether the index is in a cluster, and not on this machine's disk.
    pub fn is_in_cluster(&self) -> Result<bool, Error> {
        Ok(self.opened()?.stamp.is_none())
    }

    /// Refuses an index in a cluster, for what is done to files.
    fn check_embedded(&self) -> Result<(), Error> {
        match self.is_in_cluster()? {
            false => Ok(()),
            true => Err(Error::InCluster(self.inner.path.clone())),
        }
    }

    /// Looks for the newest state, opens it if it is not open, and says which it is. Calls do this by themselves; an
    /// index that was removed, or cannot be read any more, is an error here.
    pub fn reload(&self) -> Result<Generation, Error> {
        if self.opened()?.stamp.is_some() {
            becr_index::manifest::Manifest::read(&self.inner.path)?;
        }
        Ok(self.view()?.generation())
    }

    /// The newest state, kept as it is as long as the view lives.
    pub fn view(&self) -> Result<View, Error> {
        let view = self.state(true)?;
        let mut views = lock(&self.inner.views);
        views.retain(|view| view.strong_count() > 0);
        views.push(view.downgrade());
        Ok(view)
    }

    /// The state of a generation: the newest, or one that somebody has a [`View`] of.
    pub fn at(&self, generation: Generation) -> Result<View, Error> {
        let newest = self.view()?;
        if newest.generation() == generation {
            return Ok(newest);
        }
        let views = lock(&self.inner.views);
        let mut alive = views.iter().filter_map(View::upgrade);
        let view = alive.find(|view| view.generation() == generation);
        view.ok_or(Error::Gone {
            asked: generation,
            newest: newest.generation(),
        })
    }

    fn state(&self, with_first_stage: bool) -> Result<View, Error> {
        let mut attempt = 0;
        loop {
            let opened = self.opened()?;
            attempt += 1;
            match opened.view(&self.inner.options, with_first_stage) {
                Err(Error::Store(StoreError::Replaced(_)))
                    if opened.stamp.is_none() && attempt < ATTEMPTS =>
                {
                    self.follow(&opened)?;
                }
                // A cluster was asked again already, as long as its time limit says.
                Err(error) if opened.stamp.is_none() => return Err(error),
                // Files of a state that a writer has just replaced may be gone: look again.
                Err(error) if attempt < ATTEMPTS => {
                    tracing::debug!(%error, attempt, "looking again");
                    std::thread::sleep(Duration::from_millis(attempt as u64));
                }
                result => return result,
            }
        }
    }

    /// Finds candidates by BM25 and re-ranks them.
    pub fn search(&self, query: &str, options: &SearchOptions) -> Result<SearchAnswer, Error> {
        self.state(true)?.search(query, options)
    }

    /// Ranks the candidates of any first stage. Each id should stand in the list once.
    pub fn rerank(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
        options: &RankOptions,
    ) -> Result<RerankAnswer, Error> {
        self.state(false)?.rerank(query, candidates, options)
    }

    /// What the scores of a list are made of before they are weighted; see [`View::list_parts`].
    pub fn list_parts(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
        options: &RankOptions,
    ) -> Result<Option<ListParts>, Error> {
        self.state(false)?.list_parts(query, candidates, options)
    }

    /// Ranks candidates that the index has and texts that it does not have; see [`View::rerank_texts`].
    pub fn rerank_texts(
        &self,
        query: &str,
        candidates: &[TextCandidate<'_>],
        options: &RankOptions,
        texts: &TextCache,
        budget: usize,
    ) -> Result<TextAnswer, Error> {
        self.state(false)?
            .rerank_texts(query, candidates, options, texts, budget)
    }

    /// Takes the scores of documents apart, and of two documents the difference.
    pub fn explain(
        &self,
        query: &str,
        documents: &[&str],
        options: &ExplainOptions,
    ) -> Result<ExplainAnswer, Error> {
        self.state(true)?.explain(query, documents, options)
    }

    /// Why the index cannot be ranked with: it is lexical, or has no head. `None` if it can.
    pub fn obstacle(&self) -> Result<Option<Error>, Error> {
        Ok(self.opened()?.obstacle(&self.inner.options))
    }

    /// How queries are read with these options: as they say, or else as the index was built for and as its head says;
    /// composed, if nobody says. An error for what the index cannot do.
    pub fn query_mode(&self, options: &RankOptions) -> Result<QueryMode, Error> {
        let opened = self.opened()?;
        let ranker = opened.ranker(&self.inner.options)?;
        Ok(opened.plan(&ranker, options)?.mode())
    }

    /// Numbers of the documents, by name, that the head gives no weight: they do not count.
    pub fn unweighted(&self) -> Result<Vec<String>, Error> {
        let opened = self.opened()?;
        if opened.obstacle(&self.inner.options).is_some() {
            return Ok(Vec::new());
        }
        let head = opened.head(&self.inner.options)?;
        let mut names = opened.store()?.snapshot()?.feature_names()?;
        names.retain(|name| {
            head.others
                .features
                .iter()
                .all(|feature| &feature.name != name)
        });
        Ok(names)
    }

    /// Whether documents are encoded or composed; `None` for a lexical index.
    pub fn documents_are(&self) -> Result<Option<Documents>, Error> {
        let opened = self.opened()?;
        Ok(opened.store.as_ref().map(IndexStore::documents))
    }

    /// The ranker: its head, its tokenizer, its kernels.
    pub fn ranker(&self) -> Result<Arc<Ranker>, Error> {
        self.opened()?.ranker(&self.inner.options)
    }

    /// The encoder of the index's model, loaded when first asked for.
    pub fn encoder(&self) -> Result<Arc<Encoder>, Error> {
        self.inner.options.encoder_of(&*self.opened()?)
    }

    /// The index's model, read when first asked for.
    pub fn model(&self) -> Result<Arc<Model>, Error> {
        self.inner.options.model_of(&*self.opened()?)
    }

    /// What encodes documents, loaded when first asked for.
    fn model_and_encoder(&self) -> Result<(Arc<Model>, Arc<Encoder>), Error> {
        let opened = self.opened()?;
        let options = &self.inner.options;
        Ok((options.model_of(&opened)?, options.encoder_of(&opened)?))
    }

    /// The same for the index that a writer has open, which may have taken the place of another a moment ago.
    pub(crate) fn model_and_encoder_for(
        &self,
        live: &LiveIndex,
    ) -> Result<(Arc<Model>, Arc<Encoder>), Error> {
        let found = self.model_and_encoder()?;
        let precision = found.1.backend().precision();
        live.manifest().check_precision(live.dir(), precision)?;
        live.store()
            .check_encoder(&self.opened()?.store()?.header().encoder_id)?;
        Ok(found)
    }

    /// What the index's documents and token groups were encoded in.
    pub fn precision(&self) -> Result<Precision, Error> {
        Ok(self.opened()?.manifest.precision())
    }

    /// Refuses an index that can only be built anew: a lexical one, or one in a cluster.
    pub fn check_changeable(&self) -> Result<(), Error> {
        self.check_embedded()?;
        match self.opened()?.store {
            Some(_) => Ok(()),
            None => Err(becr_index::IndexError::Lexical(self.inner.path.clone()).into()),
        }
    }

    /// Adds documents, encoded by the index's model. They are written in batches; a batch is a generation.
    ///
    /// An error says how many documents are in by then ([`IndexError::Incomplete`](becr_index::IndexError)): those
    /// before the fault, in their order.
    pub fn add<D: IntoDocument>(
        &self,
        documents: impl IntoIterator<Item = D>,
        existing: Existing,
        observer: &dyn Observer,
    ) -> Result<Changed, Error> {
        self.check_changeable()?;
        // Loaded before other writers have to wait.
        self.model_and_encoder()?;
        let mut live = LiveIndex::open(&self.inner.path)?;
        let (model, encoder) = self.model_and_encoder_for(&live)?;
        let encoder = becr_index::full::DocumentEncoder::new(&model, &encoder)?;
        let added = becr_index::add(
            &mut live,
            &encoder,
            documents.into_iter(),
            existing,
            observer,
        );
        // The documents are in: a merge that fails, on a full disk say, is made up for by the next writer.
        if let Err(error) = live.finish() {
            tracing::warn!(%error, "merging the first stage failed");
        }
        let changed = added?;
        tracing::info!(?changed, "documents added");
        Ok(changed)
    }

    /// Adds documents, in the place of those that have their ids.
    pub fn update<D: IntoDocument>(
        &self,
        documents: impl IntoIterator<Item = D>,
        observer: &dyn Observer,
    ) -> Result<Changed, Error> {
        self.add(documents, Existing::Replace, observer)
    }

    /// Deletes documents, all in one generation; returns the ids that the index did not have.
    pub fn delete(&self, ids: &[String]) -> Result<(Changed, Vec<String>), Error> {
        self.check_embedded()?;
        let mut live = LiveIndex::open(&self.inner.path)?;
        let deleted = becr_index::delete(&mut live, ids)?;
        if let Err(error) = live.finish() {
            tracing::warn!(%error, "merging the first stage failed");
        }
        tracing::info!(changed = ?deleted.0, "documents deleted");
        Ok(deleted)
    }

    /// Writes the contents anew, without free space and deleted documents. Returns the size in bytes before and after.
    /// Searches go on meanwhile, and then follow.
    pub fn compact(&self, observer: &dyn Observer) -> Result<(u64, u64), Error> {
        self.check_embedded()?;
        let sizes = becr_index::compact(&self.inner.path, observer)?;
        tracing::info!(before = sizes.0, after = sizes.1, "compacted");
        Ok(sizes)
    }

    /// Reads everything and says what is wrong. Every page and checksum is looked at before anything relies on it.
    ///
    /// Opening an index trusts the pages of its store, which are mapped into memory: of a damaged one, whoever searches it
    /// may be ended by a signal, as with any mapped file. The command `becr` reads in a child process for that reason.
    pub fn verify(&self) -> Result<Verification, Error> {
        match self.is_in_cluster()? {
            true => self.verify_cluster(),
            false => Ok(becr_index::verify(&self.inner.path)?),
        }
    }

    /// The store against itself, and what ranking needs beside it. Checksums of the files were looked at when it was opened.
    fn verify_cluster(&self) -> Result<Verification, Error> {
        let opened = self.opened()?;
        let found = match becr_store::verify(&*self.view()?.snapshot()?) {
            Ok(found) => found,
            // A table that cannot be gone through: what is behind the damage was not looked at.
            Err(error @ StoreError::Damaged { .. }) => becr_store::StoreFindings {
                problems: vec![error.to_string()],
                ..Default::default()
            },
            Err(error) => return Err(error.into()),
        };
        let mut problems = found.problems;
        problems.extend(opened.files.head().err().map(|error| error.to_string()));
        problems.extend(
            opened
                .files
                .word_pieces()
                .err()
                .map(|error| error.to_string()),
        );
        Ok(Verification {
            documents: found.documents,
            groups: found.groups,
            problems,
            ..Verification::default()
        })
    }
}
