//! The lexical features: a descriptor each. Value, share by query word and explanation follow from it.

use Field::{Body, Both, Title};
use Measure::{Bm25, PairBm25, Proximity, TfIdf};
use Pool::{Avg, Max, Min, Sum};

/// A lexical feature. Nothing of it can be left out: heads go by its name, scoring and explanations by its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LexicalFeature {
    /// Its name in heads and explanations.
    pub name: &'static str,
    /// What it is.
    pub value: LexicalValue,
    /// What it means, for people who have not read the paper.
    pub plain: &'static str,
}

/// What a lexical feature is; what each word of the query has of it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LexicalValue {
    /// A measure of the query's words, or pairs of them, pooled. A word has its part of a sum or a mean, and all of a
    /// maximum or minimum if it attains it.
    Words {
        /// Where they are looked for.
        field: Field,
        /// What is measured of each.
        measure: Measure,
        /// How that becomes one number.
        pool: Pool,
    },
    /// The first stage's score, min–max within the list of candidates: no word has a share in it.
    FirstStage,
}

/// A field of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The title.
    Title,
    /// The text.
    Body,
    /// What the title has and what the text has, added.
    Both,
}

/// What is measured of a part of the query in a field: of each stem, or of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// (1 + ln tf)·idf of each stem.
    TfIdf,
    /// BM25 of each stem.
    Bm25,
    /// 1/d² of each two stems that form a pair, d their least distance.
    Proximity,
    /// BM25 of each pair of words.
    PairBm25,
}

/// How the measures of a query's parts become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The mean.
    Avg,
    /// The sum.
    Sum,
}

impl Measure {
    /// All of them, in the order of their declaration.
    pub(super) const ALL: [Self; 4] = [TfIdf, Bm25, Proximity, PairBm25];
}

/// The lexical features, in the order in which they are computed and trained on. New ones come last.
#[rustfmt::skip]
pub const FEATURES: &[LexicalFeature] = &[
    words("title_tfidf_max", Title, TfIdf, Max, "query words in the title (tf-idf, the best)"),
    words("title_tfidf_min", Title, TfIdf, Min, "query words in the title (tf-idf, the weakest)"),
    words("title_tfidf_avg", Title, TfIdf, Avg, "query words in the title (tf-idf, on average)"),
    words("title_tfidf_sum", Title, TfIdf, Sum, "query words in the title (tf-idf, all together)"),
    words("body_tfidf_max", Body, TfIdf, Max, "query words in the text (tf-idf, the best)"),
    words("body_tfidf_min", Body, TfIdf, Min, "query words in the text (tf-idf, the weakest)"),
    words("body_tfidf_avg", Body, TfIdf, Avg, "query words in the text (tf-idf, on average)"),
    words("body_tfidf_sum", Body, TfIdf, Sum, "query words in the text (tf-idf, all together)"),
    words("title_bm25_max", Title, Bm25, Max, "query words in the title (BM25, the best)"),
    words("title_bm25_min", Title, Bm25, Min, "query words in the title (BM25, the weakest)"),
    words("title_bm25_avg", Title, Bm25, Avg, "query words in the title (BM25, on average)"),
    words("title_bm25_sum", Title, Bm25, Sum, "query words in the title (BM25, all together)"),
    words("body_bm25_max", Body, Bm25, Max, "query words in the text (BM25, the best)"),
    words("body_bm25_min", Body, Bm25, Min, "query words in the text (BM25, the weakest)"),
    words("body_bm25_avg", Body, Bm25, Avg, "query words in the text (BM25, on average)"),
    words("body_bm25_sum", Body, Bm25, Sum, "query words in the text (BM25, all together)"),
    words("sum_tfidf", Both, TfIdf, Sum, "query words in title and text (tf-idf)"),
    words("sum_bm25", Both, Bm25, Sum, "query words in title and text (BM25)"),
    words("title_proximity_max", Title, Proximity, Max, "query words close together in the title (the best)"),
    words("title_proximity_min", Title, Proximity, Min, "query words close together in the title (the weakest)"),
    words("title_proximity_avg", Title, Proximity, Avg, "query words close together in the title (on average)"),
    words("body_proximity_max", Body, Proximity, Max, "query words close together in the text (the best)"),
    words("body_proximity_min", Body, Proximity, Min, "query words close together in the text (the weakest)"),
    words("body_proximity_avg", Body, Proximity, Avg, "query words close together in the text (on average)"),
    words("title_bm25_pairs", Title, PairBm25, Sum, "pairs of query words in the title"),
    words("body_bm25_pairs", Body, PairBm25, Sum, "pairs of query words in the text"),
    LexicalFeature {
        name: "first_stage",
        value: LexicalValue::FirstStage,
        plain: "its score by keywords (BM25)",
    },
];

const fn words(
    name: &'static str,
    field: Field,
    measure: Measure,
    pool: Pool,
    plain: &'static str,
) -> LexicalFeature {
    // A measure that is missing in `Measure::ALL` would not be computed: refused when this is compiled.
    assert!(Measure::ALL[measure as usize] as usize == measure as usize);
    let value = LexicalValue::Words {
        field,
        measure,
        pool,
    };
    LexicalFeature { name, value, plain }
}

/// How many lexical features there are.
pub(crate) const COUNT: usize = FEATURES.len();
/// The place of the first stage's feature.
pub(crate) const FIRST_STAGE: usize = place_of("first_stage");
/// The place of what stands in for it where there is no first stage.
pub(crate) const SUM_BM25: usize = place_of("sum_bm25");

/// The names of the lexical features, in the order in which they are computed and trained on.
pub const LEXICAL_FEATURES: [&str; COUNT] = {
    let mut names = [""; COUNT];
    let mut at = 0;
    while at < COUNT {
        names[at] = FEATURES[at].name;
        at += 1;
    }
    names
};

/// The lexical feature of a name.
pub fn lexical_feature(name: &str) -> Option<&'static LexicalFeature> {
    FEATURES.iter().find(|feature| feature.name == name)
}

/// The place of a feature.
pub(crate) fn place(name: &str) -> Option<usize> {
    FEATURES.iter().position(|feature| feature.name == name)
}

/// The same of a name that is known when this is compiled.
const fn place_of(name: &str) -> usize {
    let mut at = 0;
    while at < COUNT {
        if is_same(FEATURES[at].name.as_bytes(), name.as_bytes()) {
            return at;
        }
        at += 1;
    }
    panic!("no such lexical feature")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    a.len() == b.len() && at == a.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_plain_words_are_each_of_one_feature() {
        let names: HashSet<&str> = LEXICAL_FEATURES.into_iter().collect();
        let plain: HashSet<&str> = FEATURES.iter().map(|feature| feature.plain).collect();
        assert_eq!((names.len(), plain.len()), (COUNT, COUNT));
        for (at, feature) in FEATURES.iter().enumerate() {
            assert_eq!(place(feature.name), Some(at));
            assert_eq!(lexical_feature(feature.name), Some(feature));
            let words = feature.plain;
            assert!(!words.contains('_') && words.contains(' '), "{words}");
        }
        assert_eq!(LEXICAL_FEATURES[FIRST_STAGE], "first_stage");
        assert_eq!(LEXICAL_FEATURES[SUM_BM25], "sum_bm25");
        assert_eq!(place("bm25"), None);
    }
}
