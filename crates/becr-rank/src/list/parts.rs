//! What a list-wise head weighs, candidate by candidate: the numbers that fitting its weights to judgements takes.

use super::Standard;
use crate::lexical::{COUNT, FIRST_STAGE};
use crate::{Candidate, RankError, RankQuery, RankWorkspace, Ranker};
use becr_model::DeepScale;
use becr_store::DocumentStore;

/// The parts of the scores of a list.
#[derive(Debug, Clone)]
pub struct ListParts {
    /// One row for every candidate that has a record, in their order.
    pub rows: Vec<PartsRow>,
    scale: Option<DeepScale>,
}

/// The parts of a candidate's score.
#[derive(Debug, Clone, PartialEq)]
pub struct PartsRow {
    /// Its place in the list of candidates.
    pub place: usize,
    /// What the kernels add to the deep sum, before it is taken relative to the list.
    pub kernels: f64,
    /// What the document vector adds to it; 0 for a document without a token.
    pub vector: f64,
    /// How much it is like the best candidates, as z over the list; 0 where that is unknown.
    pub likeness: f64,
    /// The lexical features in the order of [`LEXICAL_FEATURES`](crate::LEXICAL_FEATURES). Those that look at words are
    /// computed if the head names one of them, with whatever weight.
    pub lexical: [f32; COUNT],
    /// The named features, in the order of the head's `others.features`; `None` where missing.
    pub named: Vec<Option<f32>>,
    /// γ·CLS, 0 if the head has no γ.
    pub cls: f64,
}

impl Ranker {
    /// The parts of the scores of a list. The head must be list-wise
    /// ([`Head::is_list_wise`](becr_model::Head::is_list_wise)): another's scores have no such parts, and the answer is `None`.
    pub fn list_parts<S>(
        &self,
        query: &RankQuery,
        store: &S,
        candidates: &[Candidate<'_>],
        work: &mut RankWorkspace,
    ) -> Result<Option<ListParts>, RankError>
    where
        S: DocumentStore + ?Sized,
    {
        let rules = self.list_rules(query, candidates);
        if !rules.is_list_wise {
            return Ok(None);
        }
        let vector = self.head.deep.document_vector.as_ref();
        let has_cls = self.head.others.cls.is_some();
        let mut rows: Vec<PartsRow> = Vec::with_capacity(candidates.len());
        let list = self.list(
            query,
            store,
            candidates,
            &rules,
            work,
            |turn, buffers, row| {
                let deep = query.deep.as_ref();
                let similarity = row.vector.and_then(|value| Some((vector?, value)));
                rows.push(PartsRow {
                    place: row.place,
                    kernels: deep.map_or(0.0, |deep| deep.score(&buffers.log_sums)),
                    vector: similarity.map_or(0.0, |(feature, value)| {
                        f64::from(feature.contribution(value))
                    }),
                    likeness: 0.0,
                    lexical: buffers.lexical,
                    named: buffers.named.clone(),
                    cls: if has_cls {
                        f64::from(turn.record.cls())
                    } else {
                        0.0
                    },
                });
            },
        )?;
        for (parts, row) in rows.iter_mut().zip(&list.rows) {
            parts.lexical[FIRST_STAGE] = row.first_stage;
            let likeness = row.likeness.map(|value| list.likeness.of(f64::from(value)));
            parts.likeness = likeness.unwrap_or(0.0);
        }
        Ok(Some(ListParts {
            rows,
            scale: rules.scale.copied(),
        }))
    }
}

impl ListParts {
    /// S_deep without feedback, if kernels and document vector had so many times their weights.
    pub fn deep(&self, kernels: f64, vector: f64) -> Vec<f64> {
        let standard = self.standard(kernels, vector);
        self.sums(kernels, vector)
            .map(|sum| standard.of(sum))
            .collect()
    }

    /// What differences of the deep sum are multiplied with, if kernels and document vector had so many times their weights:
    /// the scale's weight over the deviation of the list.
    pub fn deep_factor(&self, kernels: f64, vector: f64) -> f64 {
        self.standard(kernels, vector).factor
    }

    fn standard(&self, kernels: f64, vector: f64) -> Standard {
        match &self.scale {
            Some(scale) => Standard::scaled(self.sums(kernels, vector), scale),
            None => Standard::IDENTITY,
        }
    }

    fn sums(&self, kernels: f64, vector: f64) -> impl Iterator<Item = f64> {
        let rows = self.rows.iter();
        rows.map(move |row| kernels * row.kernels + vector * row.vector)
    }
}
