//! Writing: documents and token groups in, statistics kept exact, whoever keeps them.

use crate::draft::Draft;
use crate::tokenised::Tokenised;
use crate::{NewDocument, StoreError, WriteStore};
use becr_text::groups::TokenGroup;

/// A change of a store, all or nothing: dropped without [`Update::commit`], it never was.
///
/// What goes wrong with one document leaves the change as it was before: it can go on without that document.
///
/// A store behind a network is asked at most three times for a list of documents, and once to commit.
pub struct Update<'s, S: WriteStore> {
    store: &'s S,
    transaction: S::Transaction<'s>,
    draft: Draft,
}

impl<'s, S: WriteStore> Update<'s, S> {
    /// Starts a change of a store.
    pub fn begin(store: &'s S) -> Result<Self, StoreError> {
        let transaction = store.begin()?;
        let draft = Draft::new(&transaction)?;
        Ok(Self {
            store,
            transaction,
            draft,
        })
    }

    /// Stores a document, in the place of one of the same id if there is one. Returns its number.
    pub fn put(&mut self, document: &NewDocument<'_>) -> Result<u64, StoreError> {
        let words = Tokenised::new(document.title, document.text);
        let new: Vec<&str> = words.words.iter().map(String::as_str).collect();
        self.draft.ask(&self.transaction, &[document.id], &new)?;
        self.draft.put(&self.transaction, document, &words)
    }

    /// Stores documents, in the place of those of the same ids. Returns their numbers. After an error, those before the
    /// one that it names are part of the change.
    pub fn put_all(&mut self, documents: &[NewDocument<'_>]) -> Result<Vec<u64>, StoreError> {
        let tokenise = |new: &NewDocument<'_>| Tokenised::new(new.title, new.text);
        let words: Vec<Tokenised> = documents.iter().map(tokenise).collect();
        let ids: Vec<&str> = documents.iter().map(|document| document.id).collect();
        let new = words.iter().flat_map(|document| &document.words);
        let new: Vec<&str> = new.map(String::as_str).collect();
        self.draft.ask(&self.transaction, &ids, &new)?;
        let documents = documents.iter().zip(&words);
        documents
            .map(|(document, words)| self.draft.put(&self.transaction, document, words))
            .collect()
    }

    /// Deletes a document; false if there is none of that id.
    pub fn delete(&mut self, id: &str) -> Result<bool, StoreError> {
        self.draft.ask(&self.transaction, &[id], &[])?;
        self.draft.delete(&self.transaction, id)
    }

    /// Deletes documents; false for ids that there are none of.
    pub fn delete_all(&mut self, ids: &[&str]) -> Result<Vec<bool>, StoreError> {
        self.draft.ask(&self.transaction, ids, &[])?;
        let ids = ids.iter();
        ids.map(|id| self.draft.delete(&self.transaction, id))
            .collect()
    }

    /// Stores a token group: its footprints in the order layer, slot, then its packed vectors, if
    /// footprints are relative. Pairs must come before documents, whose pairs are counted as they come.
    pub fn put_group(&mut self, group: &TokenGroup, footprints: &[u8]) -> Result<(), StoreError> {
        self.draft.put_group(&self.transaction, group, footprints)
    }

    /// Keeps a few bytes of the caller's beside the documents, in the place of those it had: they appear with this
    /// change, as a whole. For an index of another kind that belongs to the same state.
    pub fn set_companion(&mut self, bytes: &[u8]) {
        self.draft.companion = Some(bytes.to_vec());
    }

    /// The state that the change starts from.
    pub fn transaction(&mut self) -> &mut S::Transaction<'s> {
        &mut self.transaction
    }

    /// Makes the change durable and visible, as a whole.
    pub fn commit(self) -> Result<(), StoreError> {
        let batch = self.draft.into_batch();
        self.store.apply(self.transaction, &batch)
    }
}
