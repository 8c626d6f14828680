//! BM25 statistics over the documents that are there, and no others.

use super::schema::{self, Fields};
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption, Term};
use tantivy::{Searcher, SegmentReader};

/// Counts that exclude deleted documents, though the engine still has them on disk.
pub(super) struct Statistics {
    searcher: Searcher,
    fields: Fields,
    documents: u64,
    title_words: u64,
    body_words: u64,
}

impl Statistics {
    /// Sums up the lengths once; document frequencies are read per query.
    pub(super) fn new(searcher: Searcher, fields: Fields) -> tantivy::Result<Self> {
        let total = |column| {
            let segments = searcher.segment_readers().iter();
            segments
                .map(|segment| sum_of_alive(segment, column))
                .sum::<tantivy::Result<u64>>()
        };
        Ok(Self {
            documents: searcher.num_docs(),
            title_words: total(schema::TITLE_WORDS)?,
            body_words: total(schema::BODY_WORDS)?,
            searcher,
            fields,
        })
    }

    pub(super) fn documents(&self) -> u64 {
        self.documents
    }
}

impl Bm25StatisticsProvider for Statistics {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(if field == self.fields.title {
            self.title_words
        } else {
            self.body_words
        })
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let segments = self.searcher.segment_readers().iter();
        segments.map(|segment| alive_doc_freq(segment, term)).sum()
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
