//! Scores that are relative to the list of candidates: every candidate is looked at, then the list as a whole.
//!
//! ```text
//! S_deep = weight · (x − mean of the list) / deviation of the list  +  weight · z(like the best candidates)
//! ```
//!
//! x being the sum of kernels and document vector. Nothing of it is computed for heads that do not ask for it.

mod feedback;
mod parts;
mod standard;

pub use parts::{ListParts, PartsRow};
pub(crate) use standard::Standard;

use crate::lexical::{FIRST_STAGE, FirstStageScale};
use crate::score::{Buffers, Sums, Turn};
use crate::vector::Means;
use crate::{Candidate, RankError, RankQuery, RankWorkspace, Ranker, Scorer};
use becr_model::{DeepScale, Feedback};
use becr_store::DocumentStore;
use feedback::{Voter, feedback};
use std::time::Instant;

/// Which parts of a list's scores are relative to it, beside the first stage's feature. With none of them, every
/// candidate is scored by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListRules<'h> {
    /// Brings the first stage's scores to 0 … 1.
    pub(crate) first_stage: FirstStageScale,
    /// Whether the score of a candidate depends on what the others are, beside that.
    pub(crate) is_list_wise: bool,
    pub(crate) scale: Option<&'h DeepScale>,
    pub(crate) feedback: Option<&'h Feedback>,
    /// No candidate has a score of the first stage: our own BM25 takes its place.
    pub(crate) own_bm25: bool,
}

/// A candidate that has been looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) place: usize,
    pub(crate) number: u64,
    /// Deep as it is before the list is known. Once it is, all of the score.
    pub(crate) sums: Sums,
    /// The similarity of query and document vector.
    pub(crate) vector: Option<f32>,
    /// The first stage's feature.
    pub(crate) first_stage: f32,
    /// Our own BM25, if it was asked for.
    pub(crate) bm25: f32,
    /// What it is like the best candidates, if that counts.
    pub(crate) likeness: Option<f32>,
}

/// A list whose scores are complete.
pub(crate) struct List {
    pub(crate) rows: Vec<Row>,
    /// What was done to the deep sums.
    pub(crate) deep: Standard,
    /// To the similarities of the one-vector score.
    pub(crate) vector: Standard,
    /// To the likenesses.
    pub(crate) likeness: Standard,
}

impl Ranker {
    /// The rules for a list: those of the head or of the one-vector score.
    pub(crate) fn list_rules(
        &self,
        query: &RankQuery,
        candidates: &[Candidate<'_>],
    ) -> ListRules<'_> {
        let plan = &query.plan;
        let is_list_wise = plan.scorer == Scorer::OneVector || self.head.is_list_wise();
        let scored = |candidate: &Candidate<'_>| candidate.first_stage.is_some_and(f32::is_finite);
        // Without deep terms there is no query to be near to.
        let has_deep =
            query.deep.is_some() && !plan.without.deep && plan.scorer == Scorer::Composite;
        ListRules {
            first_stage: FirstStageScale::new(candidates),
            is_list_wise,
            scale: self.head.deep.scale.as_ref().filter(|_| has_deep),
            feedback: self.head.feedback.as_ref().filter(|_| has_deep),
            own_bm25: is_list_wise && !candidates.iter().any(scored),
        }
    }

    /// Scores a list. `look` is shown every candidate while what its score is made of is in the buffers. If the rules are not
    /// list-wise, `candidates` may be some of the list that the rules are for.
    pub(crate) fn list<S>(
        &self,
        query: &RankQuery,
        store: &S,
        candidates: &[Candidate<'_>],
        rules: &ListRules<'_>,
        work: &mut RankWorkspace,
        mut look: impl FnMut(&Turn<'_>, &Buffers, &Row),
    ) -> Result<List, RankError>
    where
        S: DocumentStore + ?Sized,
    {
        let mut rows = Vec::with_capacity(candidates.len());
        let mut means = Means::default();
        self.each(
            store,
            candidates,
            &rules.first_stage,
            work,
            |turn, buffers| {
                let row = self.row(query, rules, &turn, &candidates[turn.place], buffers)?;
                if let (Some(_), Some(deep)) = (rules.feedback, &query.deep) {
                    deep.vector
                        .keep_mean(&turn.record, &buffers.related, &mut means);
                }
                look(&turn, buffers, &row);
                rows.push(row);
                Ok::<(), RankError>(())
            },
        )?;
        let begun = Instant::now();
        let list = self.finish(query, rules, rows, &means);
        work.buffers.timing.deep += begun.elapsed();
        Ok(list)
    }

    /// Brings in what is relative to the list.
    pub(crate) fn finish(
        &self,
        query: &RankQuery,
        rules: &ListRules<'_>,
        mut rows: Vec<Row>,
        means: &Means,
    ) -> List {
        if rules.own_bm25 {
            let scale = FirstStageScale::of(rows.iter().map(|row| row.bm25));
            for row in &mut rows {
                row.first_stage = scale.value(Some(row.bm25));
            }
        }
        let mut list = List {
            deep: Standard::IDENTITY,
            vector: Standard::IDENTITY,
            likeness: Standard::IDENTITY,
            rows,
        };
        match query.plan.scorer {
            Scorer::OneVector => list.one_vector(query),
            Scorer::Composite => {
                if rules.own_bm25 && !query.plan.without.lexi {
                    self.add_own_bm25(&mut list.rows);
                }
                list.scale(rules.scale);
                list.add_feedback(rules.feedback, means);
            }
        }
        list
    }

    /// Our own BM25 in the place of the first stage's score.
    fn add_own_bm25(&self, rows: &mut [Row]) {
        let features = self.head.lexical.iter().zip(&self.lexical);
        let feature = features.filter(|(_, place)| **place == FIRST_STAGE);
        for (feature, _) in feature {
            for row in &mut *rows {
                row.sums.lexi += f64::from(feature.contribution(row.first_stage));
            }
        }
    }
}

impl Row {
    /// A row of which the parts are known.
    pub(crate) fn of_sums(sums: Sums) -> Self {
        Self {
            place: 0,
            number: 0,
            sums,
            vector: None,
            first_stage: 0.0,
            bm25: 0.0,
            likeness: None,
        }
    }
}

impl List {
    fn one_vector(&mut self, query: &RankQuery) {
        let weight = f64::from(query.plan.weight);
        let vectors = self.rows.iter().filter_map(|row| row.vector);
        self.vector = Standard::over(vectors.map(f64::from));
        for row in &mut self.rows {
            let vector = row.vector.map(|vector| self.vector.of(f64::from(vector)));
            row.sums.deep = weight * vector.unwrap_or(0.0);
            if !query.plan.without.lexi {
                row.sums.lexi = f64::from(row.first_stage);
            }
        }
    }

    fn scale(&mut self, scale: Option<&DeepScale>) {
        if let Some(scale) = scale {
            self.deep = Standard::scaled(self.rows.iter().map(|row| row.sums.deep), scale);
            for row in &mut self.rows {
                row.sums.deep = self.deep.of(row.sums.deep);
            }
        }
    }

    fn add_feedback(&mut self, rules: Option<&Feedback>, means: &Means) {
        let Some(rules) = rules else { return };
        let voter = |row: &Row| Voter {
            number: row.number,
            first_stage: row.first_stage,
            vector: row.vector,
        };
        let voters: Vec<Voter> = self.rows.iter().map(voter).collect();
        let likenesses = feedback(rules, &voters, means);
        self.likeness = Standard::over(likenesses.iter().flatten().map(|&x| f64::from(x)));
        for (row, likeness) in self.rows.iter_mut().zip(likenesses) {
            row.likeness = likeness;
            if let Some(likeness) = likeness {
                let z = self.likeness.of(f64::from(likeness));
                row.sums.deep += f64::from(rules.weight) * z;
            }
        }
    }
}
