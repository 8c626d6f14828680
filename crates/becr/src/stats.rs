//! What an index holds and what it takes.

use crate::stored::StoreSnapshot;
use crate::{Error, Generation, Index, Precision, View};
use becr_lmdb::{Snapshot, Store, TableSize};
use becr_model::QueryMode;
use becr_store::{DocumentStore, Documents, StoreContents, StoreError, Table, Totals};
use becr_text::groups::{Decomposition, Query};
use serde::Serialize;

/// What an index holds.
#[derive(Debug, Clone, Serialize)]
pub struct IndexStats {
    /// The program that built it.
    pub written_by: String,
    /// Identity of encoder, tokenizer, layers, bits and hyperplanes; `None` for a lexical index.
    pub encoder_id: Option<String>,
    /// What the encoder computed in, and computes in for what is added; `None` for a lexical index.
    pub precision: Option<Precision>,
    /// Which queries it was built for: composed ones, and encoded ones anyway; or encoded ones alone, without token
    /// groups. `None` for a lexical index.
    pub mode: Option<QueryMode>,
    /// Documents.
    pub documents: u64,
    /// The embedded document store; `None` for a lexical index and one in a cluster.
    pub store: Option<StoreSizes>,
    /// The store in a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterContents>,
}

/// What a store in a cluster holds, as it says itself: nothing is counted for this, and bytes are the nodes' affair.
#[derive(Debug, Clone, Serialize)]
pub struct ClusterContents {
    /// Sums over all documents.
    pub totals: Totals,
    /// Kept layers.
    pub layers: u16,
    /// Bits of a footprint.
    pub bits: u16,
    /// Whether footprints are relative to their documents' vectors.
    pub relative: bool,
    /// Encoded, or composed from token groups.
    pub documents: Documents,
    /// Token groups.
    pub groups: u64,
    /// Which edition and generation it is.
    pub generation: String,
}

/// What a store holds and what it takes.
#[derive(Debug, Clone, Serialize)]
pub struct StoreSizes {
    /// Sums over all documents.
    pub totals: Totals,
    /// Kept layers.
    pub layers: u16,
    /// Bits of a footprint.
    pub bits: u16,
    /// Whether footprints are relative to their documents' vectors.
    pub relative: bool,
    /// Encoded, or composed from token groups.
    pub documents: Documents,
    /// Token groups.
    pub groups: u64,
    /// Documents whose change an earlier version of the program left to its next writer.
    pub pending: usize,
    /// Size of the store's file.
    pub file_bytes: u64,
    /// Its tables.
    pub tables: Vec<TableSize>,
    /// The parts of records.
    #[serde(skip)]
    pub records: RecordSizes,
}

/// Bytes of the parts of all records together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordSizes {
    /// Footprints with the padding of the last tile, and lengths.
    pub footprints: usize,
    /// Forward indexes.
    pub forward: usize,
    /// Named features.
    pub features: usize,
}

/// Bytes of an average document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PerDocument {
    /// Footprints.
    pub tokens: f64,
    /// Words.
    pub words: f64,
    /// Tokens × layers × bits / 8, and a byte a token where footprints are relative: what they take at least.
    pub footprints_at_least: f64,
    /// Footprints with the padding of the last tile, and lengths.
    pub footprints: f64,
    /// The forward index.
    pub forward_index: f64,
    /// The same by word.
    pub forward_index_per_word: f64,
    /// Named features.
    pub features: f64,
    /// The pages of the records: all of the above, headers, and the unused end of the last page.
    pub record_pages: f64,
    /// Record pages less forward index and features, over the least the footprints take.
    pub overhead: f64,
}

/// Words and pairs of queries, each query on its own, and how many of them are token groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct QueryCoverage {
    /// Queries.
    pub queries: usize,
    /// Their words.
    pub words: Share,
    /// Their pairs.
    pub pairs: Share,
}

/// How much of what was asked for is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Share {
    /// Asked for.
    pub asked: usize,
    /// Found.
    pub found: usize,
    /// Found over asked.
    pub share: f64,
}

impl Share {
    fn add(&mut self, asked: usize, found: usize) {
        self.asked += asked;
        self.found += found;
        self.share = self.found as f64 / self.asked.max(1) as f64;
    }
}

impl Index {
    /// What the index holds and takes. Reads every record.
    pub fn stats(&self) -> Result<IndexStats, Error> {
        let view = self.view()?;
        let opened = &view.state().opened;
        let (mut store, mut cluster) = (None, None);
        if let Some(kept) = &opened.store {
            let snapshot = view.snapshot()?;
            match kept.embedded().zip(snapshot.embedded()) {
                Some((kept, snapshot)) => store = Some(StoreSizes::measure(kept, snapshot)?),
                None => cluster = Some(ClusterContents::of(&snapshot, view.generation())?),
            }
        }
        Ok(IndexStats {
            written_by: opened.manifest.written_by.clone(),
            encoder_id: opened
                .manifest
                .model
                .as_ref()
                .map(|model| model.encoder_id.clone()),
            precision: opened.manifest.model.as_ref().map(|model| model.precision),
            mode: opened.store.as_ref().map(|_| opened.manifest.mode),
            documents: view.documents()?,
            store,
            cluster,
        })
    }
}

impl ClusterContents {
    fn of(snapshot: &StoreSnapshot, generation: Generation) -> Result<Self, StoreError> {
        let header = snapshot.header();
        Ok(Self {
            totals: snapshot.totals()?,
            layers: header.shape.layers,
            bits: header.shape.bits,
            relative: header.shape.is_relative(),
            documents: header.documents,
            groups: snapshot.rows(Table::Groups)?,
            generation: generation.to_string(),
        })
    }
}

impl StoreSizes {
    fn measure(store: &Store, snapshot: &Snapshot) -> Result<Self, StoreError> {
        let mut records = RecordSizes::default();
        for row in snapshot.documents()? {
            if let Some(record) = snapshot.record(row?.0)? {
                records.footprints += record.footprints().len() + record.lengths().len();
                records.forward += record.forward().bytes();
                records.features += record.features().count() * 8;
            }
        }
        let header = store.header();
        Ok(Self {
            totals: snapshot.totals()?,
            layers: header.shape.layers,
            bits: header.shape.bits,
            relative: header.shape.is_relative(),
            documents: header.documents,
            groups: snapshot.group_count()?,
            pending: snapshot.pending()?.len(),
            file_bytes: store.bytes()?,
            tables: snapshot.sizes()?,
            records,
        })
    }

    /// Means over the documents.
    pub fn per_document(&self) -> PerDocument {
        let RecordSizes {
            footprints,
            forward,
            features,
        } = self.records;
        let totals = &self.totals;
        let documents = totals.documents.max(1) as f64;
        let words = (totals.title_words + totals.body_words) as f64;
        let token = f64::from(self.layers) * f64::from(self.bits) / 8.0;
        let length = if self.relative { 1.0 } else { 0.0 };
        let least = match self.documents {
            Documents::Vectors => 0.0,
            Documents::Encoded | Documents::Composed => totals.tokens as f64 * (token + length),
        };
        let pages = self.table("records");
        PerDocument {
            tokens: totals.tokens as f64 / documents,
            words: words / documents,
            footprints_at_least: least / documents,
            footprints: footprints as f64 / documents,
            forward_index: forward as f64 / documents,
            forward_index_per_word: forward as f64 / words.max(1.0),
            features: features as f64 / documents,
            record_pages: pages / documents,
            overhead: match least > 0.0 {
                true => (pages - forward as f64 - features as f64) / least,
                false => 0.0,
            },
        }
    }

    /// Bytes of a table's pages.
    pub fn table(&self, name: &str) -> f64 {
        let table = self.tables.iter().find(|table| table.name == name);
        table.map_or(0.0, |table| table.bytes as f64)
    }
}

impl View {
    /// How much of some queries the token groups cover.
    pub fn coverage<'q>(
        &self,
        queries: impl IntoIterator<Item = &'q str>,
    ) -> Result<QueryCoverage, Error> {
        let options = Decomposition {
            window: self.state().opened.store()?.header().window,
            ..Decomposition::default()
        };
        let snapshot = self.snapshot()?;
        let mut coverage = QueryCoverage::default();
        for query in queries {
            let query = Query::new(query, &options);
            let has = snapshot.has_groups(&query.groups)?;
            let found = |group: &_| {
                let mut known = query.groups.iter().zip(&has);
                known.any(|(known, has)| known == group && *has)
            };
            // What stands in for a missing word does not matter here.
            let composed = query.compose(found, |_| Vec::new());
            let one = composed.coverage;
            coverage.queries += 1;
            coverage.words.add(one.unigrams, one.unigrams_found);
            coverage.pairs.add(one.pairs, one.pairs_found);
        }
        Ok(coverage)
    }
}
