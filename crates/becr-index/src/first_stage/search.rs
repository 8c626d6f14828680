//! Top-k search.

use super::medium::Medium;
use super::schema::{self, Fields};
use super::statistics::{Counts, EngineCounts, QueryStatistics};
use crate::IndexError;
use crate::manifest::Manifest;
use becr_text::lexical::Analyzer;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, BoostQuery, EnableScoring, Query, TermQuery, Weight};
use tantivy::schema::{IndexRecordOption, Term, Value};
use tantivy::{
    DocAddress, DocSet, ReloadPolicy, Searcher, TERMINATED, TantivyDocument, TantivyError,
};

/// Candidates fetched beyond k, so that documents that tie at the cut are all looked at.
const SLACK: usize = 32;
/// How often a commit is looked for again that vanished while it was being opened.
const ATTEMPTS: u64 = 10;
/// Two sums of the same BM25 parts in another order differ by less than this part of the score.
const ROUNDING: f32 = 1e-5;

/// A first-stage index open for searching. Searches see the index as it was when it was opened.
pub struct FirstStage {
    searcher: Searcher,
    counts: EngineCounts,
    fields: Fields,
    analyzer: Analyzer,
    folder: PathBuf,
}

/// A document found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// External id.
    pub id: String,
    /// BM25 of title and body.
    pub score: f32,
}

impl FirstStage {
    /// Opens the newest commit of the index in `dir`.
    pub fn open(dir: &Path) -> Result<Self, IndexError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match Self::open_newest(dir) {
                // Files of a commit that a writer has just replaced may be gone: look again.
                Err(error) if attempt < ATTEMPTS && error.is_of_first_stage() => {
                    std::thread::sleep(Duration::from_millis(attempt));
                }
                result => return result,
            }
        }
    }

    fn open_newest(dir: &Path) -> Result<Self, IndexError> {
        let manifest = Manifest::read(dir)?;
        let folder = manifest.first_stage(dir);
        if !folder.is_dir() {
            return Err(IndexError::NotAnIndex {
                path: dir.to_owned(),
                reason: format!("no folder {}", folder.display()),
            });
        }
        if manifest.model.is_some() {
            let store = becr_lmdb::Store::open(&manifest.store(dir))?;
            return Self::of_snapshot(&folder, &store.snapshot()?);
        }
        Self::at(&folder, None)
    }

    /// Opens the commit that belongs to a snapshot of the index's store.
    pub fn of_snapshot(folder: &Path, snapshot: &becr_lmdb::Snapshot) -> Result<Self, IndexError> {
        Self::at(folder, snapshot.companion()?)
    }

    /// Opens the commit whose list of segments is `meta`; without one, the commit in the engine's own file.
    pub(super) fn at(folder: &Path, meta: Option<&[u8]>) -> Result<Self, IndexError> {
        let open = || {
            let medium = match meta {
                Some(meta) => Medium::held(folder, Some(meta))?,
                None => Medium::open(folder)?,
            };
            let (index, fields) = schema::open(medium)?;
            let reader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .num_warming_threads(0)
                .try_into()?;
            let searcher = reader.searcher();
            // The engine takes a segment whose positions are gone for one without positions, and fails when they are
            // asked for: too late for whoever could have looked for a newer commit.
            for segment in searcher.segment_readers() {
                for field in [fields.title, fields.body] {
                    segment.inverted_index(field)?;
                }
            }
            Ok::<_, TantivyError>((searcher, fields))
        };
        let (searcher, fields) = match meta {
            Some(_) => open().map_err(IndexError::engine_beside_store(folder))?,
            None => open().map_err(IndexError::engine(folder))?,
        };
        Ok(Self {
            counts: EngineCounts::new(searcher.clone(), fields),
            searcher,
            fields,
            analyzer: Analyzer::default(),
            folder: folder.to_owned(),
        })
    }

    /// How many documents there are.
    pub fn documents(&self) -> u64 {
        self.counts.documents()
    }

    /// The `k` best documents, best first, ties by document id. A query without a word finds nothing.
    pub fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>, IndexError> {
        self.counts
            .sum_up()
            .map_err(IndexError::engine(&self.folder))?;
        self.search_counted(query, k, &self.counts)
    }

    /// The same with the statistics of somebody who counts the same documents.
    pub fn search_counted(
        &self,
        query: &str,
        k: usize,
        counts: &dyn Counts,
    ) -> Result<Vec<Hit>, IndexError> {
        let stems = self.stems(query);
        let names: Vec<String> = stems.keys().cloned().collect();
        let found = QueryStatistics::counted(counts, self.fields, &names)
            .and_then(|statistics| self.top(&self.terms(&stems), k, &statistics));
        found.map_err(IndexError::engine(&self.folder))
    }

    /// The title of a document, for display; empty if there is no such document.
    pub fn title(&self, id: &str) -> Result<String, IndexError> {
        let title = || {
            let Some(address) = self.address(id)? else {
                return Ok(String::new());
            };
            let row: TantivyDocument = self.searcher.doc(address)?;
            let title = row.get_first(self.fields.title);
            Ok::<_, TantivyError>(
                title
                    .and_then(|title| title.as_str())
                    .unwrap_or_default()
                    .to_owned(),
            )
        };
        title().map_err(IndexError::engine(&self.folder))
    }

    /// Where a document is.
    fn address(&self, id: &str) -> tantivy::Result<Option<DocAddress>> {
        let term = Term::from_field_text(self.fields.id, id);
        for (segment_ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            let index = segment.inverted_index(self.fields.id)?;
            let Some(mut found) = index.read_postings(&term, IndexRecordOption::Basic)? else {
                continue;
            };
            // What was deleted is still there, until segments are merged.
            let is_alive = |doc| {
                segment
                    .alive_bitset()
                    .is_none_or(|alive| alive.is_alive(doc))
            };
            let mut doc_id = found.doc();
            while doc_id != TERMINATED {
                if is_alive(doc_id) {
                    let segment_ord = segment_ord as u32;
                    return Ok(Some(DocAddress {
                        segment_ord,
                        doc_id,
                    }));
                }
                doc_id = found.advance();
            }
        }
        Ok(None)
    }

    /// The ids of all documents.
    pub fn ids(&self) -> Result<std::collections::HashSet<String>, IndexError> {
        let mut ids = std::collections::HashSet::new();
        for (segment_ord, segment) in self.searcher.segment_readers().iter().enumerate() {
            for doc_id in segment.doc_ids_alive() {
                let address = DocAddress {
                    segment_ord: segment_ord as u32,
                    doc_id,
                };
                ids.insert(self.id(address).map_err(IndexError::engine(&self.folder))?);
            }
        }
        Ok(ids)
    }

    /// The query's stems with how often they occur.
    fn stems(&self, query: &str) -> BTreeMap<String, f32> {
        let mut stems = BTreeMap::new();
        for stem in self.analyzer.query_stems(query) {
            *stems.entry(stem.text).or_insert(0.0) += 1.0;
        }
        stems
    }

    /// The query's terms in both fields with how often they occur, in a fixed order.
    fn terms(&self, stems: &BTreeMap<String, f32>) -> Vec<(Term, f32)> {
        let in_field = |field| {
            stems
                .iter()
                .map(move |(stem, &count)| (Term::from_field_text(field, stem), count))
        };
        in_field(self.fields.title)
            .chain(in_field(self.fields.body))
            .collect()
    }

    fn top(
        &self,
        terms: &[(Term, f32)],
        k: usize,
        statistics: &QueryStatistics,
    ) -> tantivy::Result<Vec<Hit>> {
        // More than there are documents is as good as all of them.
        let documents = self.documents() as usize;
        let k = k.min(documents);
        if terms.is_empty() || k == 0 {
            return Ok(Vec::new());
        }
        let parts: Vec<Box<dyn Query>> = terms.iter().map(term_query).collect();
        let query = BooleanQuery::union(parts);
        let mut limit = k + SLACK;
        loop {
            let collector = TopDocs::with_limit(limit.min(documents)).order_by_score();
            let rough = self
                .searcher
                .search_with_statistics_provider(&query, &collector, statistics)?;
            // All is well if what was cut off could not have been among the first k.
            let complete = rough.len() < limit
                || rough
                    .last()
                    .is_some_and(|last| last.0 < rough[k - 1].0 * (1.0 - ROUNDING));
            if complete || limit >= documents {
                return self.ranked(terms, rough, k, statistics);
            }
            limit *= 2;
        }
    }

    /// Scores candidates anew, in an order that does not depend on the index's layout, and ranks them.
    fn ranked(
        &self,
        terms: &[(Term, f32)],
        candidates: Vec<(f32, DocAddress)>,
        k: usize,
        statistics: &QueryStatistics,
    ) -> tantivy::Result<Vec<Hit>> {
        let mut addresses: Vec<DocAddress> = candidates.into_iter().map(|(_, at)| at).collect();
        addresses.sort_unstable();
        let scores = self.exact_scores(terms, &addresses, statistics)?;
        let mut hits = Vec::with_capacity(addresses.len());
        for (address, score) in addresses.into_iter().zip(scores) {
            hits.push(Hit {
                id: self.id(address)?,
                score: score as f32,
            });
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        hits.truncate(k);
        Ok(hits)
    }

    /// The sum of the terms' BM25 in the order of `terms`, for documents in order of address.
    fn exact_scores(
        &self,
        terms: &[(Term, f32)],
        addresses: &[DocAddress],
        statistics: &QueryStatistics,
    ) -> tantivy::Result<Vec<f64>> {
        let mut scores = vec![0.0; addresses.len()];
        for part in terms {
            let scoring =
                EnableScoring::enabled_from_statistics_provider(statistics, &self.searcher);
            let weight = term_query(part).weight(scoring)?;
            let mut rest = scores.as_mut_slice();
            for group in addresses.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
                let (head, tail) = rest.split_at_mut(group.len());
                self.add_scores(weight.as_ref(), group, head)?;
                rest = tail;
            }
        }
        Ok(scores)
    }

    /// Adds one term's part to the scores of documents of one segment.
    fn add_scores(
        &self,
        weight: &dyn Weight,
        addresses: &[DocAddress],
        scores: &mut [f64],
    ) -> tantivy::Result<()> {
        let segment = self.searcher.segment_reader(addresses[0].segment_ord);
        let mut scorer = weight.scorer(segment, 1.0)?;
        for (address, score) in addresses.iter().zip(scores) {
            if scorer.doc() < address.doc_id {
                scorer.seek(address.doc_id);
            }
            if scorer.doc() == address.doc_id {
                *score += f64::from(scorer.score());
            }
        }
        Ok(())
    }

    fn id(&self, address: DocAddress) -> tantivy::Result<String> {
        let segment = self.searcher.segment_reader(address.segment_ord);
        let missing = || TantivyError::InternalError("a document without an id".into());
        let column = segment.fast_fields().str(schema::ID)?.ok_or_else(missing)?;
        let ordinal = column
            .term_ords(address.doc_id)
            .next()
            .ok_or_else(missing)?;
        let mut id = String::new();
        column.ord_to_str(ordinal, &mut id)?;
        Ok(id)
    }
}

/// One term, as often as the query has it.
fn term_query((term, count): &(Term, f32)) -> Box<dyn Query> {
    let query = TermQuery::new(term.clone(), IndexRecordOption::WithFreqs);
    match *count == 1.0 {
        true => Box::new(query),
        false => Box::new(BoostQuery::new(Box::new(query), *count)),
    }
}
