//! What an explanation is.

use crate::QueryTerm;
use becr_model::Feature;
use serde::Serialize;

/// Why a document has its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The document's number.
    pub number: u64,
    /// S: the sum of the three parts.
    pub score: f64,
    /// S_deep: the sum of the terms, the document vector and what it counts to be like the best candidates.
    pub deep: f64,
    /// S_lexi: the sum of the lexical features.
    pub lexi: f64,
    /// S_others: CLS and the other features.
    pub others: f64,
    /// The deep part by query term. Empty if that part is switched off.
    pub terms: Vec<TermPart>,
    /// The document-vector similarity, if the head uses it.
    pub document_vector: Option<FeaturePart>,
    /// What it counts to be like the best candidates, if the head has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<FeaturePart>,
    /// Lexical features, in the head's order.
    pub lexical: Vec<FeaturePart>,
    /// S_deep and S_lexi by word of the query, as far as they are made of words.
    pub words: Vec<WordPart>,
    /// γ·CLS, if the head uses it.
    pub cls: Option<f64>,
    /// Other features, in the head's order.
    pub features: Vec<FeaturePart>,
}

/// What a query term contributes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TermPart {
    /// The term, with what it is composed of.
    pub term: QueryTerm,
    /// Its contribution: the sum over layers and kernels.
    pub contribution: f64,
    /// `[layer][kernel]`.
    pub cells: Vec<Vec<Cell>>,
}

/// What a word of the query contributes: by words close to it, and by itself.
///
/// S_deep has the document vector beside its terms, S_lexi the first stage's score and what standardising subtracts, which is the
/// same for every document: of two documents, the difference of S_lexi is that of its words and of the first stage's score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WordPart {
    /// The word.
    pub word: String,
    /// Of S_deep: its terms.
    pub deep: f64,
    /// Of S_lexi: its share in every lexical feature, divided by the feature's deviation, times the feature's weight.
    pub lexi: f64,
}

/// What a kernel at a layer contributes for a term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cell {
    /// ln(ε + Σ kernel).
    pub log_sum: f32,
    /// The mean over the list where S_deep is relative to it, else 0.
    pub average: f64,
    /// ω·α, and what S_deep is multiplied with where it is relative to the list.
    pub weight: f64,
    /// `weight · (log_sum − average)`.
    pub contribution: f64,
}

/// What a feature contributes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeaturePart {
    /// Its name.
    pub name: String,
    /// Its value; `None` if it is missing.
    pub value: Option<f32>,
    /// `(value − mean) / deviation`; 0 if it is missing. Of the document vector, where S_deep is relative to the list, less
    /// the mean over the list.
    pub standardised: f32,
    /// Its weight.
    pub weight: f32,
    /// Their product.
    pub contribution: f64,
}

impl FeaturePart {
    pub(super) fn new(feature: &Feature, value: Option<f32>) -> Self {
        Self {
            name: feature.name.clone(),
            value,
            standardised: value.map_or(0.0, |value| feature.standardised(value)),
            weight: feature.weight,
            contribution: value.map_or(0.0, |value| f64::from(feature.contribution(value))),
        }
    }
}
