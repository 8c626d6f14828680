//! A state of an index, kept.

use crate::opened::{Opened, lock};
use crate::stored::StoreSnapshot;
use crate::{Error, Generation, OpenOptions};
use becr_index::first_stage::{Counts, FirstStage, Hit};
use becr_lmdb::Snapshot;
use becr_rank::{RankWorkspace, Ranker};
use becr_store::{Text, Totals};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// A state of an index, as it was when the view was taken: later changes are not seen, and what was there is kept as
/// long as the view lives (a store cannot use freed space again meanwhile, so let it go when you are done).
///
/// Calls on one view take turns. To search side by side, ask the [`Index`](crate::Index).
#[derive(Clone)]
pub struct View(Arc<State>);

pub(crate) struct State {
    pub(crate) opened: Arc<Opened>,
    pub(crate) options: Arc<OpenOptions>,
    pub(crate) generation: Generation,
    /// None for a lexical index. A read transaction is used by one thread at a time.
    pub(crate) snapshot: Option<Mutex<StoreSnapshot>>,
    pub(crate) candidates: Finder,
}

/// Where the candidates of a state come from.
pub(crate) enum Finder {
    /// The first stage of the index.
    Own(Arc<FirstStage>),
    /// That of another index of the same collection.
    Of(View),
    /// Nowhere: they were not asked for, or the index is in a cluster, and no other was named.
    None,
}

impl View {
    pub(crate) fn new(state: State) -> Self {
        Self(Arc::new(state))
    }

    pub(crate) fn downgrade(&self) -> Weak<State> {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn upgrade(state: &Weak<State>) -> Option<Self> {
        state.upgrade().map(Self)
    }

    /// Which state this is.
    pub fn generation(&self) -> Generation {
        self.0.generation
    }

    /// How many documents there are.
    pub fn documents(&self) -> Result<u64, Error> {
        match &self.0.snapshot {
            Some(snapshot) => Ok(lock(snapshot).totals()?.documents),
            None => match &self.0.candidates {
                Finder::Own(first_stage) => Ok(first_stage.documents()),
                Finder::Of(view) => view.documents(),
                Finder::None => Err(self.no_candidates()),
            },
        }
    }

    /// A document's title and text, if the index has it and keeps texts.
    pub fn text(&self, id: &str) -> Result<Option<Text>, Error> {
        let snapshot = self.snapshot()?;
        match snapshot.number(id)? {
            Some(number) => Ok(snapshot.text(number)?),
            None => Ok(None),
        }
    }

    /// A hash of all documents, statistics and token groups: equal for indexes that hold the same.
    pub fn digest(&self) -> Result<String, Error> {
        Ok(self.snapshot()?.digest()?)
    }

    /// The store's own view, for what this crate has no words for.
    pub fn snapshot(&self) -> Result<MutexGuard<'_, StoreSnapshot>, Error> {
        let lexical = || Error::Lexical(self.0.opened.dir.clone());
        Ok(lock(self.0.snapshot.as_ref().ok_or_else(lexical)?))
    }

    pub(crate) fn state(&self) -> &State {
        &self.0
    }

    pub(crate) fn ranker(&self) -> Result<Arc<Ranker>, Error> {
        self.0.opened.ranker(&self.0.options)
    }

    fn no_candidates(&self) -> Error {
        Error::NoFirstStage(self.0.opened.dir.clone())
    }

    /// Whether there is a first stage to find candidates with.
    pub fn has_first_stage(&self) -> bool {
        !matches!(self.0.candidates, Finder::None)
    }

    /// The title of a document.
    pub(crate) fn title(&self, id: &str) -> Result<String, Error> {
        match &self.0.candidates {
            Finder::Own(first_stage) => Ok(first_stage.title(id)?),
            Finder::Of(view) => view.title(id),
            Finder::None => Err(self.no_candidates()),
        }
    }

    /// The best documents by BM25.
    pub(crate) fn hits(&self, query: &str, k: usize) -> Result<Vec<Hit>, Error> {
        let first_stage = match &self.0.candidates {
            Finder::Own(first_stage) => first_stage,
            Finder::Of(view) => return view.hits(query, k),
            Finder::None => return Err(self.no_candidates()),
        };
        let snapshot = self.0.snapshot.as_ref().map(lock);
        let Some(snapshot) = snapshot.as_ref().and_then(|snapshot| snapshot.embedded()) else {
            return Ok(first_stage.search(query, k)?);
        };
        let counts = StoreCounts {
            totals: snapshot.totals()?,
            snapshot,
        };
        Ok(first_stage.search_counted(query, k, &counts)?)
    }

    /// Lends buffers for a ranking.
    pub(crate) fn with_workspace<T>(&self, work: impl FnOnce(&mut RankWorkspace) -> T) -> T {
        let pool = &self.0.opened.workspaces;
        let mut workspace = lock(pool).pop().unwrap_or_default();
        let result = work(&mut workspace);
        lock(pool).push(workspace);
        result
    }
}

/// The store counts the documents and words that the first stage searches.
struct StoreCounts<'a> {
    snapshot: &'a Snapshot,
    totals: Totals,
}

impl Counts for StoreCounts<'_> {
    fn documents(&self) -> u64 {
        self.totals.documents
    }

    fn words(&self) -> (u64, u64) {
        (self.totals.title_words, self.totals.body_words)
    }

    fn frequency(
        &self,
        stem: &str,
    ) -> Result<(u64, u64), Box<dyn std::error::Error + Send + Sync>> {
        let frequency = self.snapshot.stem(stem)?.frequency;
        Ok((u64::from(frequency.title), u64::from(frequency.body)))
    }
}
