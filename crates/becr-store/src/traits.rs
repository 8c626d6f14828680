//! What re-ranking and writing ask of a store, whoever keeps it.
//!
//! Every question is put for a whole list at once, so that a store behind a network answers in one round trip. Re-ranking a list
//! takes two: [`DocumentStore::look_up`] for the query and the candidates' ids, [`DocumentStore::fetch`] for the records;
//! [`DocumentStore::texts`] is for what is shown.
//!
//! An embedded implementation lends what lies in its memory map; one that has to fetch puts the bytes into the
//! caller's [`FetchBuffer`] and lends them from there. Callers keep one buffer and use it again for every query.

use crate::column::Near;
use crate::{DocumentFrequency, FetchBuffer, FoundRecord, GroupRecord, Header, Stem, StoreError};
use crate::{Text, Totals};
use becr_text::groups::TokenGroup;
use std::ops::ControlFlow;
use std::path::Path;

/// What re-ranking asks of a store.
pub trait DocumentStore {
    /// What the store was made for.
    fn header(&self) -> &Header;

    /// What errors call the store.
    fn path(&self) -> &Path;

    /// Answers everything that a query and a list of candidates ask of the collection, in one round trip.
    fn look_up<'a>(
        &'a self,
        question: &Question<'_>,
        buffer: &'a mut FetchBuffer,
    ) -> Result<Answer<'a>, StoreError>;

    /// Finds the records of documents and hands them to `visit` in the order of `numbers`, in chunks as they arrive: the
    /// place of the first one, then the records, `None` where there is no document. One request, however many chunks
    /// the answer has.
    ///
    /// They are found, and not yet read: [`FoundRecord::check`] does that when a record's turn comes, and leaves it in the
    /// processor's cache for whoever scores it next. After a `Break` no more are handed out.
    fn fetch(
        &self,
        numbers: &[u64],
        buffer: &mut FetchBuffer,
        visit: &mut VisitRecords<'_>,
    ) -> Result<(), StoreError>;

    /// Titles and texts of documents in the order of `numbers`, where they were kept.
    fn texts(&self, numbers: &[u64]) -> Result<Vec<Option<Text>>, StoreError>;

    /// Whether it can find documents by their vectors.
    fn can_search(&self) -> bool {
        false
    }

    /// The documents whose vectors are nearest to `vector`, the nearest first, ties by number: as many as are `wanted`, and those
    /// that are as near as the last of them. `None` if the store cannot search. See [`column`](crate::column).
    fn nearest(&self, vector: &[f32], wanted: usize) -> Result<Option<Vec<Near>>, StoreError> {
        let _ = (vector, wanted);
        Ok(None)
    }

    /// Whether it can have documents scored where they lie.
    fn can_score(&self) -> bool {
        false
    }

    /// Has documents scored where they lie: `query` is what they have in common, beside each number is what it alone
    /// has. What comes back is for whoever asked, in their order; `None` for a document that is not there. `None`
    /// altogether if it cannot be done just now: then records are to be fetched.
    fn score(
        &self,
        query: &[u8],
        documents: &[(u64, Vec<u8>)],
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, StoreError> {
        let _ = (query, documents);
        Ok(None)
    }

    /// The numbers of documents, in the order of `ids`; `None` for ids that the store does not have.
    fn numbers(&self, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        let question = Question {
            ids,
            ..Question::default()
        };
        Ok(self
            .look_up(&question, &mut FetchBuffer::default())?
            .numbers)
    }
}

/// Takes the records of a list, chunk by chunk.
pub type VisitRecords<'a> = dyn FnMut(usize, &[Option<FoundRecord<'_>>]) -> ControlFlow<()> + 'a;

/// Splits a word into its WordPieces.
pub type SplitWord<'a> = dyn Fn(&str) -> Vec<String> + 'a;

/// What is asked of a store in one round trip.
#[derive(Clone, Copy, Default)]
pub struct Question<'q> {
    /// External ids, whose numbers are wanted.
    pub ids: &'q [&'q str],
    /// Words, whose numbers are wanted.
    pub words: &'q [&'q str],
    /// Stems, of which the document frequency and the words are wanted.
    pub stems: &'q [&'q str],
    /// Pairs, whose document frequencies are wanted.
    pub pairs: &'q [TokenGroup],
    /// Token groups, whose footprints are wanted.
    pub groups: &'q [TokenGroup],
    /// The WordPieces of a word, which are wanted in its place if its uni-gram is among `groups` and not in the store. A store
    /// that fetches asks for the pieces of all words along with them; one that need not wait asks when a word is missing.
    pub pieces: Option<&'q SplitWord<'q>>,
}

/// What a store answers: every list in the order of the question's.
#[derive(Debug, Clone, Default)]
pub struct Answer<'a> {
    /// Sums over all documents.
    pub totals: Totals,
    /// Names of the features that records have, by number.
    pub feature_names: Vec<String>,
    /// Numbers of documents; `None` for ids that the store does not have.
    pub numbers: Vec<Option<u64>>,
    /// The numbers that forward indexes have for words; `None` for words that no document ever had.
    pub words: Vec<Option<u32>>,
    /// What the collection knows of each stem. One that no document has is in none.
    pub stems: Vec<Stem>,
    /// In how many documents each pair occurs: exactly for pairs in the token store, `None` for others.
    pub pairs: Vec<Option<DocumentFrequency>>,
    /// The footprints of token groups, checked; `None` for groups that were not kept.
    pub groups: Vec<Option<GroupRecord<'a>>>,
    /// Uni-grams of WordPieces that the store has: of all words whose uni-gram is missing, and maybe of others.
    pub pieces: Vec<(TokenGroup, GroupRecord<'a>)>,
}
