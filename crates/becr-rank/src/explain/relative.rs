//! Contributions as they are once the list is known.

use super::{Cell, FEEDBACK, FeaturePart, OWN_BM25};
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
    /// `None` if they are relative to nothing.
    list: Option<(&'a ListRules<'a>, &'a List, &'a Row)>,
    /// `None` if the deep part is left as it is.
    average: Option<&'a AverageCandidate>,
}

impl<'a> Relative<'a> {
    pub(super) fn to_nothing() -> Self {
        Self {
            list: None,
            average: None,
        }
    }

    /// For a candidate of a list.
    pub(super) fn new(
        rules: &'a ListRules<'a>,
        list: &'a List,
        row: &'a Row,
        average: &'a AverageCandidate,
    ) -> Self {
        Self {
            list: Some((rules, list, row)),
            average: rules.scale.map(|_| average),
        }
    }

    pub(super) fn is_one_vector(&self) -> bool {
        self.list
            .is_some_and(|(rules, ..)| rules.one_vector.is_some())
    }

    /// What contributions to the deep sum are multiplied with.
    fn factor(&self) -> f64 {
        self.list.map_or(1.0, |(_, list, _)| list.deep.factor)
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
    pub(super) fn one_vector(&self) -> Option<FeaturePart> {
        let (rules, list, row) = self.list?;
        let weight = rules.one_vector?;
        let z = row.vector.map(|value| list.vector.of(f64::from(value)));
        Some(FeaturePart {
            name: "document_vector".into(),
            value: row.vector,
            standardised: z.unwrap_or(0.0) as f32,
            weight,
            contribution: row.sums.deep,
        })
    }

    /// What it counts that the document is like the best candidates.
    pub(super) fn feedback(&self) -> Option<FeaturePart> {
        let (rules, list, row) = self.list?;
        let weight = rules.feedback?.weight;
        let z = row.likeness.map(|value| list.likeness.of(f64::from(value)));
        let z = z.unwrap_or(0.0);
        Some(FeaturePart {
            name: FEEDBACK.into(),
            value: row.likeness,
            standardised: z as f32,
            weight,
            contribution: f64::from(weight) * z,
        })
    }

    /// The first stage's feature, or what takes its place.
    pub(super) fn first_stage(&self, feature: &Feature, given: f32) -> FeaturePart {
        match self.list {
            Some((rules, _, row)) if rules.own_bm25 => FeaturePart {
                name: OWN_BM25.into(),
                ..FeaturePart::new(feature, Some(row.first_stage))
            },
            _ => FeaturePart::new(feature, Some(given)),
        }
    }
}
