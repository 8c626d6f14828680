//! What the loop learns from: queries, and documents of an index by their numbers.

use becr_eval::Qrels;

/// A document to be told from others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The document's number in the index.
    pub number: u64,
    /// The first stage's score, scaled to 0 … 1 by the least and the greatest score of the query's whole candidate
    /// list (the top 100, say). `None` for a document that is not in the list.
    pub first_stage: Option<f32>,
}

/// A query to learn from.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// Names the query in errors and logs.
    pub id: String,
    /// Its text.
    pub query: String,
    /// Relevant documents; each epoch picks one.
    pub positives: Vec<Candidate>,
    /// Irrelevant documents; each epoch picks some of them.
    pub negatives: Vec<Candidate>,
}

/// A query whose candidates are re-ranked for validation.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidationQuery {
    /// Its id in the judgements.
    pub id: String,
    /// Its text.
    pub query: String,
    /// The candidates of the first stage with their ids in the judgements.
    pub candidates: Vec<(String, Candidate)>,
}

/// A real re-ranking, by which training is stopped and the best weights are chosen.
#[derive(Debug, Clone, Default)]
pub struct Validation {
    /// The queries.
    pub queries: Vec<ValidationQuery>,
    /// Their judgements.
    pub qrels: Qrels,
}
