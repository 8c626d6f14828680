//! The paper's storage tables.
//!
//! | | documents | token groups |
//! |---|---|---|
//! | raw | 4·(m·L + 1)·p·D | 4·L·(V + 2H)·p |
//! | compressed | (m·L'·b/8 + 4·p)·D | L'·(V + 2H)·b/8 |
//! | our records | (m·L'·b/8 + 4 + b/8)·D | the same |
//!
//! D documents of m tokens; V words and H pairs, a pair with two vectors; p numbers of 4 bytes in a
//! vector; L layers, of which L' are stored; footprints of b bits. The paper keeps the document's CLS
//! vector; a score uses only γ·CLS, one number once the model is fixed, so our records hold that. They
//! add one footprint, that of the document's mean vector.

use serde::Serialize;

/// A collection and its token groups. The default is the paper's example, ClueWeb09-Cat-B with the
/// groups that are met more than once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Collection {
    /// D, documents.
    pub documents: u64,
    /// m, tokens per document.
    pub tokens: f64,
    /// V, words in the token store.
    pub words: u64,
    /// H, pairs in the token store.
    pub pairs: u64,
}

impl Default for Collection {
    fn default() -> Self {
        Self {
            documents: 50_000_000,
            tokens: 857.0,
            words: 14_500_000,
            pairs: 467_000_000,
        }
    }
}

impl Collection {
    /// The paper's example with every word and pair kept, those met only once too.
    pub fn with_all_groups() -> Self {
        Self {
            words: 32_400_000,
            pairs: 940_300_000,
            ..Self::default()
        }
    }
}

/// How vectors are stored. The default is the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Encoding {
    /// p, numbers in a vector.
    pub dim: u64,
    /// L, layers of the model, that of the embeddings included.
    pub layers: u64,
    /// L', layers that are stored as footprints.
    pub stored_layers: u64,
    /// b, bits of a footprint.
    pub bits: u64,
}

impl Default for Encoding {
    fn default() -> Self {
        Self {
            dim: 768,
            layers: 13,
            stored_layers: 5,
            bits: 256,
        }
    }
}

/// Bytes that an index takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Storage {
    /// One document.
    pub per_document: Documents,
    /// All documents.
    pub documents: Documents,
    /// All token groups.
    pub groups: Groups,
}

/// Bytes for documents.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Documents {
    /// Vectors of all layers and the CLS vector, 4 bytes a number.
    pub raw: f64,
    /// Footprints of the stored layers and the CLS vector: the paper's record.
    pub compressed: f64,
    /// Footprints, the CLS number and the footprint of the mean vector: our record, without what the
    /// paper keeps elsewhere (words, positions, features).
    pub ours: f64,
    /// What the CLS number saves on the CLS vector.
    pub saved_by_cls: f64,
}

/// Bytes for token groups.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Groups {
    /// Vectors of all layers.
    pub raw: f64,
    /// Footprints of the stored layers, in the paper as here.
    pub compressed: f64,
}

const NUMBER: f64 = 4.0;

impl Storage {
    /// What `collection` takes, encoded so.
    pub fn new(collection: &Collection, encoding: &Encoding) -> Self {
        let vector = NUMBER * encoding.dim as f64;
        let footprint = encoding.bits as f64 / 8.0;
        let (layers, stored) = (encoding.layers as f64, encoding.stored_layers as f64);
        let footprints = collection.tokens * stored * footprint;
        let per_document = Documents {
            raw: (collection.tokens * layers + 1.0) * vector,
            compressed: footprints + vector,
            ours: footprints + NUMBER + footprint,
            saved_by_cls: vector - NUMBER,
        };
        let vectors = collection.words as f64 + 2.0 * collection.pairs as f64;
        Self {
            per_document,
            documents: per_document.times(collection.documents as f64),
            groups: Groups {
                raw: layers * vectors * vector,
                compressed: stored * vectors * footprint,
            },
        }
    }
}

impl Documents {
    fn times(&self, documents: f64) -> Self {
        Self {
            raw: self.raw * documents,
            compressed: self.compressed * documents,
            ours: self.ours * documents,
            saved_by_cls: self.saved_by_cls * documents,
        }
    }
}

/// A row of the paper's table of storage against relevance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TradeOff {
    /// b, or `None` for raw vectors.
    pub bits: Option<u64>,
    /// L, the layers that are stored.
    pub layers: u64,
    /// Bytes for documents, CLS vector included.
    pub documents: f64,
    /// Bytes for token groups.
    pub groups: f64,
}

/// The paper's choices of bits and layers, in the order of its table.
pub const TRADE_OFFS: [(Option<u64>, u64); 10] = [
    (None, 13),
    (Some(512), 13),
    (Some(256), 13),
    (Some(128), 13),
    (Some(64), 13),
    (Some(32), 13),
    (None, 5),
    (Some(256), 5),
    (None, 1),
    (Some(256), 1),
];

/// The paper's table of storage against relevance (its storage columns) for another collection.
pub fn trade_offs(collection: &Collection, dim: u64) -> Vec<TradeOff> {
    let row = |(bits, layers): (Option<u64>, u64)| {
        let encoding = Encoding {
            dim,
            layers,
            stored_layers: layers,
            bits: bits.unwrap_or(0),
        };
        let storage = Storage::new(collection, &encoding);
        let (documents, groups) = match bits {
            Some(_) => (storage.documents.compressed, storage.groups.compressed),
            None => (storage.documents.raw, storage.groups.raw),
        };
        TradeOff {
            bits,
            layers,
            documents,
            groups,
        }
    };
    TRADE_OFFS.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if `bytes` reads as `printed` when written in `unit` with as many digits.
    fn reads(bytes: f64, unit: f64, printed: f64, decimals: i32) -> bool {
        let scale = 10f64.powi(decimals);
        ((bytes / unit * scale).round() - printed * scale).abs() < 1e-6
    }

    #[test]
    fn the_papers_example() {
        let storage = Storage::new(&Collection::default(), &Encoding::default());
        assert!(reads(storage.documents.raw, 1e12, 1711.0, 0));
        assert!(reads(storage.per_document.raw, 1e6, 34.2, 1));
        assert!(reads(storage.documents.compressed, 1e12, 7.0, 1));
        assert!(reads(storage.groups.raw, 1e12, 37.9, 1));
        assert!(reads(storage.groups.compressed, 1e9, 152.0, 0));
        // 857 × 5 × 256/8 + 4 × 768, where the paper's text has a slip: it says 138.7 KB.
        assert_eq!(storage.per_document.compressed, 140_192.0);
    }

    #[test]
    fn all_groups() {
        let storage = Storage::new(&Collection::with_all_groups(), &Encoding::default());
        // Printed as 305.5 GB in the paper; its formula with its V and H gives 306.1.
        assert!(reads(storage.groups.compressed, 1e9, 306.1, 1));
        assert!((storage.groups.compressed / 305.5e9 - 1.0).abs() < 0.003);
    }

    #[test]
    fn our_records() {
        let storage = Storage::new(&Collection::default(), &Encoding::default());
        assert_eq!(storage.per_document.saved_by_cls, 3068.0);
        assert_eq!(storage.per_document.ours, 137_120.0 + 4.0 + 32.0);
        assert!(reads(storage.documents.saved_by_cls, 1e9, 153.4, 1));
        assert!(reads(storage.documents.ours, 1e12, 6.858, 3));
    }

    #[test]
    fn the_papers_table_of_trade_offs() {
        let rows = trade_offs(&Collection::default(), 768);
        // (TB for documents, TB for groups, decimals), as printed; 17 is 17.98 cut off, and 658.1 leaves
        // the CLS vector out. Its raw row for one layer (76.9 and 1.36) follows from no formula of it.
        let printed = [
            (1711.0, 0, 37.9, 1),
            (35.8, 1, 0.79, 2),
            (18.0, 0, 0.39, 2),
            (9.1, 1, 0.20, 2),
            (4.6, 1, 0.10, 2),
            (2.4, 1, 0.05, 2),
            (658.3, 1, 14.6, 1),
            (7.0, 1, 0.15, 2),
            (131.8, 1, 2.91, 2),
            (1.5, 1, 0.03, 2),
        ];
        for (row, (documents, d, groups, g)) in rows.iter().zip(printed) {
            assert!(reads(row.documents, 1e12, documents, d), "{row:?}");
            assert!(reads(row.groups, 1e12, groups, g), "{row:?}");
        }
    }
}
