//! BM25 statistics over the documents that are there, and no others.

use super::schema::{self, Fields};
use std::collections::HashMap;
use std::sync::OnceLock;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption, Term};
use tantivy::{Searcher, SegmentReader, TantivyError};

/// Somebody who counts the same documents, and words, exactly: a document store. The engine itself would have to
/// read all postings of a term as soon as a document has been deleted.
pub trait Counts {
    /// The documents.
    fn documents(&self) -> u64;
    /// Words of all titles, words of all bodies.
    fn words(&self) -> (u64, u64);
    /// In how many titles and in how many bodies a stem occurs.
    fn frequency(&self, stem: &str)
    -> Result<(u64, u64), Box<dyn std::error::Error + Send + Sync>>;
}

/// What BM25 asks of the collection for one query.
pub(super) struct QueryStatistics {
    fields: Fields,
    documents: u64,
    /// Of titles, of bodies.
    words: (u64, u64),
    frequencies: HashMap<Term, u64>,
}

impl QueryStatistics {
    /// For the terms of a query: two fields, the same stems in each.
    pub(super) fn counted(
        counts: &dyn Counts,
        fields: Fields,
        stems: &[String],
    ) -> tantivy::Result<Self> {
        let mut frequencies = HashMap::with_capacity(2 * stems.len());
        for stem in stems {
            let frequency = counts.frequency(stem);
            let (title, body) =
                frequency.map_err(|e| TantivyError::InternalError(e.to_string()))?;
            frequencies.insert(Term::from_field_text(fields.title, stem), title);
            frequencies.insert(Term::from_field_text(fields.body, stem), body);
        }
        Ok(Self {
            fields,
            documents: counts.documents(),
            words: counts.words(),
            frequencies,
        })
    }
}

impl Bm25StatisticsProvider for QueryStatistics {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(match field == self.fields.title {
            true => self.words.0,
            false => self.words.1,
        })
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.frequencies.get(term).copied().unwrap_or(0))
    }
}

/// The engine's own counts, without deleted documents, though it still has them on disk: for an index that has no
/// store.
pub(super) struct EngineCounts {
    searcher: Searcher,
    fields: Fields,
    /// Summed up when first asked for.
    words: OnceLock<(u64, u64)>,
}

impl EngineCounts {
    pub(super) fn new(searcher: Searcher, fields: Fields) -> Self {
        Self {
            searcher,
            fields,
            words: OnceLock::new(),
        }
    }

    /// Reads the columns of lengths, once.
    pub(super) fn sum_up(&self) -> tantivy::Result<()> {
        if self.words.get().is_none() {
            let total = |column| {
                let segments = self.searcher.segment_readers().iter();
                segments
                    .map(|segment| sum_of_alive(segment, column))
                    .sum::<tantivy::Result<u64>>()
            };
            let sums = (total(schema::TITLE_WORDS)?, total(schema::BODY_WORDS)?);
            let _ = self.words.set(sums);
        }
        Ok(())
    }
}

impl Counts for EngineCounts {
    fn documents(&self) -> u64 {
        self.searcher.num_docs()
    }

    fn words(&self) -> (u64, u64) {
        self.words.get().copied().unwrap_or_default()
    }

    fn frequency(
        &self,
        stem: &str,
    ) -> Result<(u64, u64), Box<dyn std::error::Error + Send + Sync>> {
        let in_field = |field| {
            let term = Term::from_field_text(field, stem);
            let segments = self.searcher.segment_readers().iter();
            segments
                .map(|segment| alive_doc_freq(segment, &term))
                .sum::<tantivy::Result<u64>>()
        };
        Ok((in_field(self.fields.title)?, in_field(self.fields.body)?))
    }
}

fn sum_of_alive(segment: &SegmentReader, column: &str) -> tantivy::Result<u64> {
    let values = segment.fast_fields().u64(column)?;
    Ok(segment
        .doc_ids_alive()
        .filter_map(|doc| values.first(doc))
        .sum())
}

/// Without deletions the term dictionary knows; with them, the postings are counted.
fn alive_doc_freq(segment: &SegmentReader, term: &Term) -> tantivy::Result<u64> {
    let index = segment.inverted_index(term.field())?;
    let Some(info) = index.get_term_info(term)? else {
        return Ok(0);
    };
    let Some(alive) = segment.alive_bitset() else {
        return Ok(u64::from(info.doc_freq));
    };
    let postings = index.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
    Ok(u64::from(postings.doc_freq_given_deletes(alive)))
}
