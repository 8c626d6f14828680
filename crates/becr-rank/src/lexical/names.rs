//! Names and order of the lexical features.

/// How many lexical features there are.
pub(crate) const COUNT: usize = 27;

/// The lexical features, in the order in which they are computed and trained on.
pub const LEXICAL_FEATURES: [&str; COUNT] = [
    "title_tfidf_max",
    "title_tfidf_min",
    "title_tfidf_avg",
    "title_tfidf_sum",
    "body_tfidf_max",
    "body_tfidf_min",
    "body_tfidf_avg",
    "body_tfidf_sum",
    "title_bm25_max",
    "title_bm25_min",
    "title_bm25_avg",
    "title_bm25_sum",
    "body_bm25_max",
    "body_bm25_min",
    "body_bm25_avg",
    "body_bm25_sum",
    "sum_tfidf",
    "sum_bm25",
    "title_proximity_max",
    "title_proximity_min",
    "title_proximity_avg",
    "body_proximity_max",
    "body_proximity_min",
    "body_proximity_avg",
    "title_bm25_pairs",
    "body_bm25_pairs",
    "first_stage",
];

/// Where each family begins; the body's block follows the title's.
pub(crate) const TFIDF: usize = 0;
pub(crate) const BM25: usize = 8;
pub(crate) const SUM_TFIDF: usize = 16;
pub(crate) const SUM_BM25: usize = 17;
pub(crate) const PROXIMITY: usize = 18;
pub(crate) const PAIRS: usize = 24;
pub(crate) const FIRST_STAGE: usize = 26;

/// The place of a feature.
pub(crate) fn place(name: &str) -> Option<usize> {
    LEXICAL_FEATURES.iter().position(|known| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_begin_where_they_say() {
        let starts = [
            (TFIDF, "title_tfidf_max"),
            (TFIDF + 4, "body_tfidf_max"),
            (BM25, "title_bm25_max"),
            (BM25 + 4, "body_bm25_max"),
            (SUM_TFIDF, "sum_tfidf"),
            (SUM_BM25, "sum_bm25"),
            (PROXIMITY, "title_proximity_max"),
            (PROXIMITY + 3, "body_proximity_max"),
            (PAIRS, "title_bm25_pairs"),
            (PAIRS + 1, "body_bm25_pairs"),
            (FIRST_STAGE, "first_stage"),
        ];
        for (at, name) in starts {
            assert_eq!(place(name), Some(at));
        }
        assert_eq!(place("bm25"), None);
    }
}
