//! The sizes of an index that exists, for `becr stats` to show and for `becr cost` to go on from.

use becr_groups::cost::predict::{Component, Measured, Scale};
use becr_index::FileSizes;
use becr_lmdb::{Store, TableSize};
use becr_store::{Documents, Totals};
use serde::Serialize;
use std::path::Path;

/// What a store holds and what it takes.
#[derive(Serialize)]
pub(super) struct StoreSizes {
    pub(super) totals: Totals,
    pub(super) layers: u16,
    pub(super) bits: u16,
    /// Whether footprints are relative to their documents' vectors.
    pub(super) relative: bool,
    /// Encoded, or composed from token groups.
    pub(super) documents: Documents,
    pub(super) groups: u64,
    pub(super) pending: usize,
    pub(super) file_bytes: u64,
    pub(super) tables: Vec<TableSize>,
    #[serde(skip)]
    records: RecordSizes,
}

/// Bytes of the parts of all records together.
#[derive(Default)]
struct RecordSizes {
    footprints: usize,
    forward: usize,
    features: usize,
}

/// Bytes of an average document.
#[derive(Serialize)]
pub(super) struct PerDocument {
    pub(super) tokens: f64,
    pub(super) words: f64,
    /// Tokens × layers × bits / 8, and a byte a token where footprints are relative: what they take at least.
    pub(super) footprints_at_least: f64,
    /// Footprints with the padding of the last tile, and lengths.
    pub(super) footprints: f64,
    pub(super) forward_index: f64,
    pub(super) forward_index_per_word: f64,
    pub(super) features: f64,
    /// The pages of the records: all of the above, headers, and the unused end of the last page.
    pub(super) record_pages: f64,
    /// Record pages less forward index and features, over the least the footprints take.
    pub(super) overhead: f64,
}

impl StoreSizes {
    /// Reads every record.
    pub(super) fn measure(store: &Store) -> anyhow::Result<Self> {
        let snapshot = store.snapshot()?;
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

    pub(super) fn per_document(&self) -> PerDocument {
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
        let least = totals.tokens as f64 * (token + length);
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
            overhead: (pages - forward as f64 - features as f64) / least.max(1.0),
        }
    }

    /// The parts of the index in `dir`, each with what its size goes with.
    ///
    /// Vocabularies grow more slowly than the collection that they come from; taking them to grow with the
    /// tokens errs on the safe side.
    pub(super) fn components(&self, dir: &Path) -> Measured {
        let (footprints, forward) = (self.records.footprints as f64, self.records.forward as f64);
        let rest = (self.table("records") - footprints - forward).max(0.0);
        let tables = |names: &[&str]| names.iter().map(|name| self.table(name)).sum();
        let files = FileSizes::measure(dir);
        let in_tables: f64 = self.tables.iter().map(|table| table.bytes as f64).sum();
        let component = |name: &str, scale, bytes| Component {
            name: name.to_owned(),
            bytes,
            scale,
        };
        Measured {
            documents: self.totals.documents,
            tokens: self.totals.tokens,
            groups: self.groups,
            components: vec![
                component("footprints", Scale::Tokens, footprints),
                component("forward indexes", Scale::Tokens, forward),
                component("features, headers, page ends", Scale::Documents, rest),
                component("texts", Scale::Tokens, tables(&["texts"])),
                component(
                    "document ids",
                    Scale::Documents,
                    tables(&["document ids", "document numbers", "pending"]),
                ),
                component(
                    "words and stems",
                    Scale::Tokens,
                    tables(&["words", "spellings", "stems"]),
                ),
                component(
                    "token groups",
                    Scale::Groups,
                    tables(&["token groups", "pair frequencies"]) + files.group_list as f64,
                ),
                component("first-stage index", Scale::Tokens, files.first_stage as f64),
                component(
                    "free pages, model files",
                    Scale::Fixed,
                    (self.file_bytes as f64 - in_tables).max(0.0) + files.model as f64,
                ),
            ],
        }
    }

    /// Bytes of a table's pages.
    fn table(&self, name: &str) -> f64 {
        let table = self.tables.iter().find(|table| table.name == name);
        table.map_or(0.0, |table| table.bytes as f64)
    }
}
