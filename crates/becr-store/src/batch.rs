//! A change of a store as plain data: bytes to keep and counts to add.

use crate::{FrequencyChange, StoreContents, StoreError, Totals, Update};
use becr_text::groups::TokenGroup;

/// A store that can be written.
///
/// Tokenising, stemming and counting are done by [`Update`], for every store alike: a store keeps bytes and adds counts.
pub trait WriteStore {
    /// The store as it was at some time.
    type Snapshot: StoreContents;
    /// The state that a change starts from.
    type Transaction<'s>: StoreContents
    where
        Self: 's;

    /// A view of the store as it is now, which later writes do not change.
    fn snapshot(&self) -> Result<Self::Snapshot, StoreError>;

    /// Begins a change. A store with one writer at a time waits for another's end; others may begin from a state that
    /// [`WriteStore::apply`] then finds to be outdated.
    fn begin(&self) -> Result<Self::Transaction<'_>, StoreError>;

    /// Applies a change, durably, as a whole or not at all. Refuses one that was made from another generation than
    /// the store now has: [`StoreError::Conflict`].
    fn apply(&self, transaction: Self::Transaction<'_>, batch: &Batch) -> Result<(), StoreError>;

    /// Starts a change, which appears as a whole when it is committed.
    fn update(&self) -> Result<Update<'_, Self>, StoreError>
    where
        Self: Sized,
    {
        Update::begin(self)
    }
}

/// A change. Deletions come before what is put: a document that is replaced is deleted by its old number and put by
/// a new one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The generation it was made from. Applied, the store has the next one.
    pub base: u64,
    /// Documents that are no more.
    pub deleted: Vec<DeletedDocument>,
    /// New documents, by number.
    pub documents: Vec<StoredDocument>,
    /// New words, by number.
    pub words: Vec<NewWord>,
    /// Changes of stems, by the order of their keys.
    pub stems: Vec<StemChange>,
    /// Changes of pairs, by the order of their keys. Pairs that the store does not count are passed over.
    pub pairs: Vec<PairChange>,
    /// Token groups, in the place of those of the same words. A new pair is counted from now on, from nothing.
    pub groups: Vec<StoredGroup>,
    /// Sums over all documents, as they will be.
    pub totals: Totals,
    /// Names of features, as they will be.
    pub feature_names: Vec<String>,
    /// The caller's bytes, if they change.
    pub companion: Option<Vec<u8>>,
}

/// A document to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedDocument {
    /// Its number.
    pub number: u64,
    /// Its external id.
    pub id: String,
}

/// A document to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// Its number, which no document had before.
    pub number: u64,
    /// Its external id.
    pub id: String,
    /// Its [`Record`](crate::Record).
    pub record: Vec<u8>,
    /// Its [`Text`](crate::Text), if that is kept.
    pub text: Option<Vec<u8>>,
}

/// A word that no document had before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWord {
    /// Its number.
    pub number: u32,
    /// The word.
    pub word: String,
}

/// What changes of a stem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StemChange {
    /// The stem.
    pub stem: String,
    /// Added to its document frequency.
    pub change: FrequencyChange,
    /// Numbers of new words that have it, appended to those it has.
    pub words: Vec<u32>,
}

/// What changes of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairChange {
    /// The pair's words, with a space between them, as [`TokenGroup::key`] has it.
    pub pair: String,
    /// Added to its document frequency.
    pub change: FrequencyChange,
}

/// A token group to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredGroup {
    /// Its words.
    pub group: TokenGroup,
    /// Its [`GroupRecord`](crate::GroupRecord).
    pub value: Vec<u8>,
}
