//! Contributions as they are once the list is known.

use super::{Cell, FEEDBACK, FeaturePart, OWN_BM25};
use crate::RankQuery;
use crate::list::{List, ListRules, Row};
use becr_model::Feature;

/// The candidate that all are compared with where S_deep is relative to the list: the mean of what their deep sums are
/// made of.
#[derive(Default)]
pub(super) struct AverageCandidate {
    count: f64,
    log_sums: Vec<f64>,
    standardised: f64,
    contribution: f64,
}

impl AverageCandidate {
    /// Adds a candidate: its deep sum, its log-sums, and the document-vector feature with its value, if it has one.
    pub(super) fn add(&mut self, deep: f64, log_sums: &[f32], vector: Option<(&Feature, f32)>) {
        // The mean of a list passes over the same ones.
        if !deep.is_finite() {
            return;
        }
        self.count += 1.0;
        self.log_sums.resize(log_sums.len(), 0.0);
        let sums = self.log_sums.iter_mut().zip(log_sums);
        sums.for_each(|(sum, x)| *sum += f64::from(*x));
        if let Some((feature, value)) = vector {
            self.standardised += f64::from(feature.standardised(value));
            self.contribution += f64::from(feature.contribution(value));
        }
    }

    fn mean(&self, sum: f64) -> f64 {
        match self.count > 0.0 {
            true => sum / self.count,
            false => 0.0,
        }
    }
}

/// What a candidate's contributions are relative to.
pub(super) struct Relative<'a> {
    query: &'a RankQuery,
    rules: &'a ListRules<'a>,
    list: &'a List,
    row: &'a Row,
    /// `None` if the deep part is left as it is.
    average: Option<&'a AverageCandidate>,
}

impl<'a> Relative<'a> {
    pub(super) fn new(
        query: &'a RankQuery,
        rules: &'a ListRules<'a>,
        list: &'a List,
        row: &'a Row,
        average: &'a AverageCandidate,
    ) -> Self {
        Self {
            query,
            rules,
            list,
            row,
            average: rules.scale.map(|_| average),
        }
    }

    /// What contributions to the deep sum are multiplied with.
    fn factor(&self) -> f64 {
        self.list.deep.factor
    }

    /// What a kernel at a layer contributes for a term.
    pub(super) fn cell(&self, at: usize, log_sum: f32, weight: f64) -> Cell {
        let average = self
            .average
            .map_or(0.0, |average| average.mean(average.log_sums[at]));
        let weight = weight * self.factor();
        Cell {
            log_sum,
            average,
            weight,
            contribution: weight * (f64::from(log_sum) - average),
        }
    }

    /// The head's document-vector feature.
    pub(super) fn document_vector(&self, feature: &Feature, value: Option<f32>) -> FeaturePart {
        let mut part = FeaturePart::new(feature, value);
        if let Some(average) = self.average {
            let factor = self.factor();
            part.standardised -= average.mean(average.standardised) as f32;
            part.weight *= factor as f32;
            part.contribution = factor * (part.contribution - average.mean(average.contribution));
        }
        part
    }

    /// The query's cosine in the one-vector score.
    pub(super) fn one_vector(&self) -> FeaturePart {
        let z = |value: f32| self.list.vector.of(f64::from(value));
        FeaturePart {
            name: "document_vector".into(),
            value: self.row.vector,
            standardised: self.row.vector.map_or(0.0, z) as f32,
            weight: self.query.plan.weight,
            contribution: self.row.sums.deep,
        }
    }

    /// What it counts that the document is like the best candidates.
    pub(super) fn feedback(&self) -> Option<FeaturePart> {
        let weight = self.rules.feedback?.weight;
        let z = |value: f32| self.list.likeness.of(f64::from(value));
        let z = self.row.likeness.map_or(0.0, z);
        Some(FeaturePart {
            name: FEEDBACK.into(),
            value: self.row.likeness,
            standardised: z as f32,
            weight,
            contribution: f64::from(weight) * z,
        })
    }

    /// The first stage's feature, or what takes its place.
    pub(super) fn first_stage(&self, feature: &Feature, given: f32) -> FeaturePart {
        match self.rules.own_bm25 {
            true => FeaturePart {
                name: OWN_BM25.into(),
                ..FeaturePart::new(feature, Some(self.row.first_stage))
            },
            false => FeaturePart::new(feature, Some(given)),
        }
    }
}
