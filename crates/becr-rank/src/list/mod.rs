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

use crate::lexical::{FIRST_STAGE, FirstStageScale, SUM_BM25};
use crate::options::ANCHOR_WEIGHT;
use crate::score::{Buffers, Sums, Turn};
use crate::vector::Means;
use crate::{Candidate, RankError, RankQuery, RankWorkspace, Ranker, Variant};
use becr_model::{DeepScale, Feedback};
use becr_store::DocumentStore;
use feedback::{Voter, feedback};
use std::time::Instant;

/// What of a list's scores is relative to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListRules<'h> {
    pub(crate) scale: Option<&'h DeepScale>,
    pub(crate) feedback: Option<&'h Feedback>,
    /// The weight of the one-vector score, which takes the place of everything else.
    pub(crate) one_vector: Option<f32>,
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
    /// What of the scores of a list is relative to it beside the first stage's; `None` if nothing is.
    pub(crate) fn list_rules(
        &self,
        query: &RankQuery,
        candidates: &[Candidate<'_>],
    ) -> Option<ListRules<'_>> {
        let options = query.options;
        let is_one_vector = options.variant == Variant::OneVector;
        if !is_one_vector && !self.head.is_list_wise() {
            return None;
        }
        let scored = |candidate: &Candidate<'_>| candidate.first_stage.is_some_and(f32::is_finite);
        let weight = options.anchor_weight.or(self.head.anchor_weight);
        // Without deep terms there is no query to be near to.
        let has_deep = query.deep.is_some() && !options.without.deep && !is_one_vector;
        Some(ListRules {
            scale: self.head.deep.scale.as_ref().filter(|_| has_deep),
            feedback: self.head.feedback.as_ref().filter(|_| has_deep),
            one_vector: is_one_vector.then(|| weight.unwrap_or(ANCHOR_WEIGHT)),
            own_bm25: !candidates.iter().any(scored),
        })
    }

    /// Scores a list. `look` is shown every candidate while what its score is made of is in the buffers.
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
        self.each(store, candidates, work, |turn, buffers| {
            let row = self.row(query, rules, &turn, &candidates[turn.place], buffers)?;
            if let (Some(_), Some(deep)) = (rules.feedback, &query.deep) {
                deep.vector
                    .keep_mean(&turn.record, &buffers.related, &mut means);
            }
            look(&turn, buffers, &row);
            rows.push(row);
            Ok::<(), RankError>(())
        })?;
        let begun = Instant::now();
        let list = self.finish(query, rules, rows, &means);
        work.buffers.timing.deep += begun.elapsed();
        Ok(list)
    }

    /// What can be said of a candidate before the list is known.
    pub(crate) fn row(
        &self,
        query: &RankQuery,
        rules: &ListRules<'_>,
        turn: &Turn<'_>,
        candidate: &Candidate<'_>,
        buffers: &mut Buffers,
    ) -> Result<Row, RankError> {
        let without = query.options.without;
        let mut sums = Sums::default();
        let begun = Instant::now();
        let is_one_vector = rules.one_vector.is_some();
        let has_features = !is_one_vector && !without.lexi;
        if rules.own_bm25 || has_features && self.reads_words {
            let Buffers { scan, lexical, .. } = buffers;
            scan.features(&query.lexical, turn.record.forward(), lexical);
        }
        if has_features {
            sums.lexi = match rules.own_bm25 {
                true => self.lexi_but_first_stage(&buffers.lexical),
                false => self.lexi(&buffers.lexical),
            };
        }
        let lexical_done = Instant::now();
        buffers.timing.lexical += lexical_done - begun;
        let mut vector = None;
        if let Some(deep) = query.deep.as_ref().filter(|_| !without.deep) {
            match is_one_vector {
                true => deep.vector.relate(&turn.record, &mut buffers.related),
                false => sums.deep = self.deep(query, turn, buffers)?,
            }
            vector = deep.vector.similarity(&turn.record, &buffers.related);
        }
        buffers.timing.deep += lexical_done.elapsed();
        if !without.others && !is_one_vector {
            self.named_features(query, &turn.record, candidate, &mut buffers.named);
            sums.others = self.others(&turn.record, &buffers.named);
        }
        Ok(Row {
            place: turn.place,
            number: candidate.number,
            sums,
            vector: vector.filter(|vector| vector.is_finite()),
            first_stage: buffers.lexical[FIRST_STAGE],
            bm25: buffers.lexical[SUM_BM25],
            likeness: None,
        })
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
        match rules.one_vector {
            Some(weight) => list.one_vector(weight, query),
            None => {
                if rules.own_bm25 && !query.options.without.lexi {
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
    fn one_vector(&mut self, weight: f32, query: &RankQuery) {
        let vectors = self.rows.iter().filter_map(|row| row.vector);
        self.vector = Standard::over(vectors.map(f64::from));
        for row in &mut self.rows {
            let vector = row.vector.map(|vector| self.vector.of(f64::from(vector)));
            row.sums.deep = f64::from(weight) * vector.unwrap_or(0.0);
            if !query.options.without.lexi {
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
