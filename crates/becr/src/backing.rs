//! Where an index's documents are: in its own directory, or in a cluster.

use crate::Error;
use becr_store::{
    Answer, DocumentStore, FetchBuffer, Header, Question, Stem, StoreContents, StoreError, Table,
    Text, Totals, VisitRecords, VisitRows,
};
use becr_text::groups::TokenGroup;
use std::path::Path;

/// The store of an index.
pub(crate) enum Backing {
    /// In the index's directory.
    Embedded(becr_lmdb::Store),
    /// In a cluster.
    #[cfg(feature = "redis")]
    Cluster(becr_redis::Store),
}

impl Backing {
    pub(crate) fn header(&self) -> &Header {
        match self {
            Self::Embedded(store) => store.header(),
            #[cfg(feature = "redis")]
            Self::Cluster(store) => store.header(),
        }
    }

    pub(crate) fn check_encoder(&self, encoder_id: &str) -> Result<(), StoreError> {
        match self {
            Self::Embedded(store) => store.check_encoder(encoder_id),
            #[cfg(feature = "redis")]
            Self::Cluster(store) => store.check_encoder(encoder_id),
        }
    }

    pub(crate) fn snapshot(&self) -> Result<Snapshot, StoreError> {
        Ok(match self {
            Self::Embedded(store) => Snapshot::Embedded(store.snapshot()?),
            #[cfg(feature = "redis")]
            Self::Cluster(store) => Snapshot::Cluster(store.snapshot()?),
        })
    }

    /// The store in the index's directory; an error for one in a cluster, where `path` is.
    pub(crate) fn embedded(&self, path: &Path) -> Result<&becr_lmdb::Store, Error> {
        match self {
            Self::Embedded(store) => Ok(store),
            #[cfg(feature = "redis")]
            Self::Cluster(_) => Err(Error::InCluster(path.to_owned())),
        }
    }
}

/// A store as it was at some time, wherever it is: [`DocumentStore`] and [`StoreContents`] are what can be asked.
pub enum Snapshot {
    /// In the index's directory.
    Embedded(becr_lmdb::Snapshot),
    /// In a cluster.
    #[cfg(feature = "redis")]
    Cluster(becr_redis::Snapshot),
}

/// Asks whichever it is.
macro_rules! ask {
    ($snapshot:expr, $store:ident => $answer:expr) => {
        match $snapshot {
            Snapshot::Embedded($store) => $answer,
            #[cfg(feature = "redis")]
            Snapshot::Cluster($store) => $answer,
        }
    };
}

impl Snapshot {
    /// The one of the index's directory; an error for one in a cluster.
    pub fn embedded(&self) -> Result<&becr_lmdb::Snapshot, Error> {
        match self {
            Self::Embedded(snapshot) => Ok(snapshot),
            #[cfg(feature = "redis")]
            Self::Cluster(snapshot) => Err(Error::InCluster(snapshot.path().to_owned())),
        }
    }

    fn state<T>(
        &self,
        question: &Question<'_>,
        take: impl FnOnce(Answer<'_>) -> T,
    ) -> Result<T, StoreError> {
        let mut buffer = FetchBuffer::default();
        Ok(take(self.look_up(question, &mut buffer)?))
    }

    /// Sums over all documents.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        self.state(&Question::default(), |answer| answer.totals)
    }

    /// Names of the features that records have, by number.
    pub fn feature_names(&self) -> Result<Vec<String>, StoreError> {
        self.state(&Question::default(), |answer| answer.feature_names)
    }

    /// The number of a document.
    pub fn number(&self, id: &str) -> Result<Option<u64>, StoreError> {
        Ok(self.numbers(&[id])?.pop().flatten())
    }

    /// A document's title and text, if they were kept.
    pub fn text(&self, number: u64) -> Result<Option<Text>, StoreError> {
        Ok(self.texts(&[number])?.pop().flatten())
    }

    /// What the collection knows of a stem.
    pub fn stem(&self, stem: &str) -> Result<Stem, StoreError> {
        let question = Question {
            stems: &[stem],
            ..Question::default()
        };
        self.state(&question, |mut answer| {
            answer.stems.pop().unwrap_or_default()
        })
    }

    /// Whether there is such a token group.
    pub fn has_group(&self, group: &TokenGroup) -> Result<bool, StoreError> {
        let question = Question {
            groups: std::slice::from_ref(group),
            ..Question::default()
        };
        self.state(&question, |answer| {
            answer.groups.iter().any(Option::is_some)
        })
    }
}

impl DocumentStore for Snapshot {
    fn header(&self) -> &Header {
        ask!(self, store => store.header())
    }

    fn path(&self) -> &Path {
        ask!(self, store => store.path())
    }

    fn look_up<'a>(
        &'a self,
        question: &Question<'_>,
        buffer: &'a mut FetchBuffer,
    ) -> Result<Answer<'a>, StoreError> {
        ask!(self, store => store.look_up(question, buffer))
    }

    fn fetch(
        &self,
        numbers: &[u64],
        buffer: &mut FetchBuffer,
        visit: &mut VisitRecords<'_>,
    ) -> Result<(), StoreError> {
        ask!(self, store => store.fetch(numbers, buffer, visit))
    }

    fn texts(&self, numbers: &[u64]) -> Result<Vec<Option<Text>>, StoreError> {
        ask!(self, store => store.texts(numbers))
    }

    fn can_score(&self) -> bool {
        ask!(self, store => store.can_score())
    }

    fn score(
        &self,
        query: &[u8],
        documents: &[(u64, Vec<u8>)],
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, StoreError> {
        ask!(self, store => store.score(query, documents))
    }
}

impl StoreContents for Snapshot {
    fn generation(&self) -> Result<u64, StoreError> {
        ask!(self, store => StoreContents::generation(store))
    }

    fn companion(&self) -> Result<Option<&[u8]>, StoreError> {
        ask!(self, store => StoreContents::companion(store))
    }

    fn ids(&self, numbers: &[u64]) -> Result<Vec<Option<String>>, StoreError> {
        ask!(self, store => store.ids(numbers))
    }

    fn spellings(&self, words: &[u32]) -> Result<Vec<Option<String>>, StoreError> {
        ask!(self, store => store.spellings(words))
    }

    fn rows(&self, table: Table) -> Result<u64, StoreError> {
        ask!(self, store => store.rows(table))
    }

    fn scan(&self, table: Table, visit: &mut VisitRows<'_>) -> Result<(), StoreError> {
        ask!(self, store => store.scan(table, visit))
    }
}
