//! The store of an index: embedded, or in a cluster.

use becr_store::column::Near;
use becr_store::{
    Answer, DocumentStore, Documents, FetchBuffer, Header, Question, StoreContents, StoreError,
    Table, Text, Totals, VisitRecords, VisitRows,
};
use becr_text::groups::TokenGroup;
use std::path::Path;

/// The store of an index.
pub(crate) enum IndexStore {
    Embedded(becr_lmdb::Store),
    #[cfg(feature = "redis")]
    Cluster(becr_redis::Store),
}

/// The state of an index's store, as a [`View`](crate::View) keeps it.
#[non_exhaustive]
pub enum StoreSnapshot {
    /// A read transaction of the embedded store.
    Embedded(becr_lmdb::Snapshot),
    /// A generation of an index in a cluster.
    #[cfg(feature = "redis")]
    Cluster(Box<becr_redis::Snapshot>),
}

/// The same for both kinds.
macro_rules! either {
    ($value:expr, $kind:ident, $inner:ident => $answer:expr) => {
        match $value {
            $kind::Embedded($inner) => $answer,
            #[cfg(feature = "redis")]
            $kind::Cluster($inner) => $answer,
        }
    };
}

impl IndexStore {
    pub(crate) fn header(&self) -> &Header {
        either!(self, IndexStore, store => store.header())
    }

    pub(crate) fn check_encoder(&self, encoder_id: &str) -> Result<(), StoreError> {
        either!(self, IndexStore, store => store.check_encoder(encoder_id))
    }

    pub(crate) fn snapshot(&self) -> Result<StoreSnapshot, StoreError> {
        Ok(match self {
            Self::Embedded(store) => StoreSnapshot::Embedded(store.snapshot()?),
            #[cfg(feature = "redis")]
            Self::Cluster(store) => StoreSnapshot::Cluster(Box::new(store.snapshot()?)),
        })
    }

    /// The embedded store, if it is one.
    pub(crate) fn embedded(&self) -> Option<&becr_lmdb::Store> {
        match self {
            Self::Embedded(store) => Some(store),
            #[cfg(feature = "redis")]
            Self::Cluster(_) => None,
        }
    }

    pub(crate) fn documents(&self) -> Documents {
        self.header().documents
    }
}

impl StoreSnapshot {
    /// The embedded store's own snapshot, if the index is embedded.
    pub fn embedded(&self) -> Option<&becr_lmdb::Snapshot> {
        match self {
            Self::Embedded(snapshot) => Some(snapshot),
            #[cfg(feature = "redis")]
            Self::Cluster(_) => None,
        }
    }

    /// Sums over all documents.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        Ok(self.state()?.0)
    }

    /// Names of the features that records have, by number.
    pub fn feature_names(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.state()?.1)
    }

    fn state(&self) -> Result<(Totals, Vec<String>), StoreError> {
        let mut buffer = FetchBuffer::default();
        // Of a cluster, this is known since the snapshot was taken.
        let answer = self.look_up(&Question::default(), &mut buffer)?;
        Ok((answer.totals, answer.feature_names))
    }

    /// The number of a document.
    pub fn number(&self, id: &str) -> Result<Option<u64>, StoreError> {
        Ok(self.numbers(&[id])?.pop().flatten())
    }

    /// Title and text of a document, if they were kept.
    pub fn text(&self, number: u64) -> Result<Option<Text>, StoreError> {
        Ok(self.texts(&[number])?.pop().flatten())
    }

    /// Which of these token groups the store has.
    pub fn has_groups(&self, groups: &[TokenGroup]) -> Result<Vec<bool>, StoreError> {
        let question = Question {
            groups,
            ..Question::default()
        };
        let mut buffer = FetchBuffer::default();
        let answer = self.look_up(&question, &mut buffer)?;
        Ok(answer.groups.iter().map(Option::is_some).collect())
    }

    /// A hash of all documents, statistics and token groups: equal for stores that hold the same.
    pub fn digest(&self) -> Result<String, StoreError> {
        becr_store::digest(self)
    }
}

impl DocumentStore for StoreSnapshot {
    fn header(&self) -> &Header {
        either!(self, StoreSnapshot, store => store.header())
    }

    fn path(&self) -> &Path {
        either!(self, StoreSnapshot, store => store.path())
    }

    fn look_up<'a>(
        &'a self,
        question: &Question<'_>,
        buffer: &'a mut FetchBuffer,
    ) -> Result<Answer<'a>, StoreError> {
        either!(self, StoreSnapshot, store => store.look_up(question, buffer))
    }

    fn fetch(
        &self,
        numbers: &[u64],
        buffer: &mut FetchBuffer,
        visit: &mut VisitRecords<'_>,
    ) -> Result<(), StoreError> {
        either!(self, StoreSnapshot, store => store.fetch(numbers, buffer, visit))
    }

    fn texts(&self, numbers: &[u64]) -> Result<Vec<Option<Text>>, StoreError> {
        either!(self, StoreSnapshot, store => store.texts(numbers))
    }

    fn can_search(&self) -> bool {
        either!(self, StoreSnapshot, store => store.can_search())
    }

    fn nearest(&self, vector: &[f32], wanted: usize) -> Result<Option<Vec<Near>>, StoreError> {
        either!(self, StoreSnapshot, store => store.nearest(vector, wanted))
    }

    fn can_score(&self) -> bool {
        either!(self, StoreSnapshot, store => store.can_score())
    }

    fn score(
        &self,
        query: &[u8],
        documents: &[(u64, Vec<u8>)],
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, StoreError> {
        either!(self, StoreSnapshot, store => store.score(query, documents))
    }

    fn numbers(&self, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        either!(self, StoreSnapshot, store => store.numbers(ids))
    }
}

impl StoreContents for StoreSnapshot {
    fn generation(&self) -> Result<u64, StoreError> {
        either!(self, StoreSnapshot, store => store.generation())
    }

    fn companion(&self) -> Result<Option<&[u8]>, StoreError> {
        either!(self, StoreSnapshot, store => store.companion())
    }

    fn ids(&self, numbers: &[u64]) -> Result<Vec<Option<String>>, StoreError> {
        either!(self, StoreSnapshot, store => store.ids(numbers))
    }

    fn spellings(&self, words: &[u32]) -> Result<Vec<Option<String>>, StoreError> {
        either!(self, StoreSnapshot, store => store.spellings(words))
    }

    fn rows(&self, table: Table) -> Result<u64, StoreError> {
        either!(self, StoreSnapshot, store => store.rows(table))
    }

    fn scan(&self, table: Table, visit: &mut VisitRows<'_>) -> Result<(), StoreError> {
        either!(self, StoreSnapshot, store => store.scan(table, visit))
    }
}
