//! What the paper prints for its own example, to be set beside what its formulas give.

/// Bytes in its table of storage cost.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct PrintedStorage {
    /// Documents, raw.
    pub documents_raw: f64,
    /// Documents, compressed.
    pub documents_compressed: f64,
    /// Token groups, raw.
    pub groups_raw: f64,
    /// Token groups, compressed.
    pub groups_compressed: f64,
    /// Token groups, compressed, when all of them are kept. Its formula gives 306.1 GB.
    pub all_groups_compressed: f64,
}

/// Its table of storage cost.
pub const STORAGE: PrintedStorage = PrintedStorage {
    documents_raw: 1711e12,
    documents_compressed: 7.0e12,
    groups_raw: 37.9e12,
    groups_compressed: 152e9,
    all_groups_compressed: 305.5e9,
};

/// Bytes for documents and for token groups in its table of storage against relevance, in the order of
/// [`super::storage::TRADE_OFFS`]. 17 TB is 17.98 cut off, 658.1 TB leaves the CLS vector out, and the
/// raw row for one layer, the last but one, follows from none of its formulas.
pub const TRADE_OFFS: [(f64, f64); 10] = [
    (1711e12, 37.9e12),
    (35.8e12, 0.79e12),
    (17e12, 0.39e12),
    (9.1e12, 0.20e12),
    (4.6e12, 0.10e12),
    (2.4e12, 0.05e12),
    (658.1e12, 14.6e12),
    (7.0e12, 0.15e12),
    (76.9e12, 1.36e12),
    (1.5e12, 0.03e12),
];
