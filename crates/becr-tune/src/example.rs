//! What the fit sees of a query: what each part adds to the score of each candidate, and which of them are relevant.

use crate::Config;
use crate::data::JudgedList;
use becr_model::{Feature, Head};
use becr_rank::{LEXICAL_FEATURES, PartsRow};

/// A feature that joins is pulled towards 0 as one of this weight is towards itself. Its deviation over a list is about 1,
/// as those of the first stage and of the deep part are of the order of 1.
const JOINING_WEIGHT: f32 = 0.15;
/// A feature that moves less than this within lists, relative to its size, can't be told from rounding.
const LEAST_DEVIATION: f64 = 1e-6;

/// What is multiplied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PartKind {
    /// A lexical feature: its place among them all.
    Lexical(usize),
    /// The kernels' part of the deep sum.
    Kernels,
    /// The document vector's.
    Vector,
    /// Likeness to the best candidates.
    Feedback,
    /// A named feature: its place in the head.
    Named(usize),
}

/// A part of the score, whose weight is fitted.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) kind: PartKind,
    pub(crate) name: String,
    /// The multiplier of the starting head: 1, or 0 for what joins.
    pub(crate) start: f64,
    /// What the multiplier multiplies.
    pub(crate) weight: f64,
    /// For features: how they are standardised.
    pub(crate) feature: Option<Feature>,
}

/// All that is fitted.
pub(crate) struct Parameters(pub(crate) Vec<Parameter>);

impl Parameters {
    pub(crate) fn new(head: &Head, lists: &[JudgedList], config: &Config) -> Self {
        let mut all = Vec::new();
        for feature in &head.lexical {
            if let Some(place) = place(&feature.name) {
                all.push(Parameter::of_feature(PartKind::Lexical(place), feature));
            }
        }
        let mut joins: Vec<&String> = config.features.iter().collect();
        joins.retain(|name| !head.lexical.iter().any(|feature| feature.name == **name));
        for name in joins {
            let feature = place(name).and_then(|place| Some((place, joining(name, place, lists)?)));
            if let Some((place, feature)) = feature {
                all.push(Parameter::of_feature(PartKind::Lexical(place), &feature));
            }
        }
        if head.deep.alpha.iter().flatten().any(|&alpha| alpha != 0.0) {
            all.push(Parameter::plain(PartKind::Kernels, "kernels", 1.0));
        }
        if let Some(vector) = head
            .deep
            .document_vector
            .as_ref()
            .filter(|v| v.weight != 0.0)
        {
            let weight = f64::from(vector.weight);
            all.push(Parameter::plain(
                PartKind::Vector,
                "document_vector",
                weight,
            ));
        }
        if let Some(feedback) = head.feedback.as_ref().filter(|f| f.weight != 0.0) {
            let weight = f64::from(feedback.weight);
            all.push(Parameter::plain(PartKind::Feedback, "feedback", weight));
        }
        for (place, feature) in head.others.features.iter().enumerate() {
            all.push(Parameter::of_feature(PartKind::Named(place), feature));
        }
        Self(all)
    }

    /// The multipliers of the starting head.
    pub(crate) fn start(&self) -> Vec<f64> {
        self.0.iter().map(|parameter| parameter.start).collect()
    }

    /// The multiplier of a part, or 1 if it is not fitted.
    pub(crate) fn multiplier(&self, kind: &PartKind, multipliers: &[f64]) -> f64 {
        let found = self.0.iter().position(|parameter| parameter.kind == *kind);
        found.map_or(1.0, |at| multipliers[at])
    }
}

impl Parameter {
    fn plain(kind: PartKind, name: &str, weight: f64) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            start: 1.0,
            weight,
            feature: None,
        }
    }

    fn of_feature(kind: PartKind, feature: &Feature) -> Self {
        let joins = feature.weight == 0.0;
        let mut feature = feature.clone();
        if joins {
            feature.weight = JOINING_WEIGHT;
        }
        Self {
            kind,
            name: feature.name.clone(),
            start: if joins { 0.0 } else { 1.0 },
            weight: f64::from(feature.weight),
            feature: Some(feature),
        }
    }

    pub(crate) fn is_deep_sum(&self) -> bool {
        matches!(self.kind, PartKind::Kernels | PartKind::Vector)
    }

    /// What it adds to the score with the multiplier 1; of the deep sum, before that is taken relative to the list.
    fn value(&self, row: &PartsRow) -> f64 {
        let contribution = |value: f32| {
            let feature = self.feature.as_ref();
            feature.map_or(0.0, |feature| f64::from(feature.contribution(value)))
        };
        let value = match self.kind {
            PartKind::Lexical(place) => contribution(row.lexical[place]),
            PartKind::Kernels => row.kernels,
            PartKind::Vector => row.vector,
            PartKind::Feedback => self.weight * row.likeness,
            PartKind::Named(place) => row.named[place].map_or(0.0, contribution),
        };
        if value.is_finite() { value } else { 0.0 }
    }
}

fn place(name: &str) -> Option<usize> {
    LEXICAL_FEATURES.iter().position(|known| *known == name)
}

/// A feature that may join, standardised by its deviation within lists; `None` for one that does not move in any.
fn joining(name: &str, place: usize, lists: &[JudgedList]) -> Option<Feature> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for list in lists {
        let values: Vec<f64> = list
            .parts
            .rows
            .iter()
            .map(|row| f64::from(row.lexical[place]))
            .filter(|value| value.is_finite())
            .collect();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        count += values.len() as f64;
        sum += values.iter().sum::<f64>();
        squares += values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    }
    let mean = sum / f64::max(count, 1.0);
    let deviation = (squares / f64::max(count, 1.0)).sqrt();
    (deviation > LEAST_DEVIATION * mean.abs().max(1.0)).then(|| Feature {
        name: name.to_owned(),
        mean: mean as f32,
        deviation: deviation as f32,
        weight: 0.0,
    })
}

/// A query to learn from.
pub(crate) struct Example<'a> {
    pub(crate) list: &'a JudgedList,
    pub(crate) rows: FitRows,
}

/// What the fit sees of a query, candidate by candidate.
pub(crate) struct FitRows {
    /// What each part adds to each candidate's score at the start, `[candidate][parameter]`.
    pub(crate) x: Vec<f64>,
    /// What is not fitted: γ·CLS.
    pub(crate) fixed: Vec<f64>,
    /// How relevant each candidate is; they sum to 1.
    pub(crate) target: Vec<f64>,
}

impl<'a> Example<'a> {
    /// `None` for a query whose candidates are all relevant, or none of them.
    pub(crate) fn new(list: &'a JudgedList, parameters: &Parameters) -> Option<Self> {
        let relevance: Vec<f64> = list.grades.iter().map(|&g| f64::from(g.max(0))).collect();
        let sum: f64 = relevance.iter().sum();
        if sum <= 0.0 || relevance.iter().all(|&relevance| relevance > 0.0) {
            return None;
        }
        let rows = &list.parts.rows;
        let factor = list.parts.deep_factor(1.0, 1.0);
        let width = parameters.0.len();
        let mut x = vec![0.0; rows.len() * width];
        for (at, parameter) in parameters.0.iter().enumerate() {
            let values: Vec<f64> = rows.iter().map(|row| parameter.value(row)).collect();
            // A constant of a list changes no order; small numbers are better to compute with.
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let factor = if parameter.is_deep_sum() { factor } else { 1.0 };
            for (row, value) in values.iter().enumerate() {
                x[row * width + at] = factor * (value - mean);
            }
        }
        Some(Self {
            list,
            rows: FitRows {
                x,
                fixed: rows.iter().map(|row| row.cls).collect(),
                target: relevance.iter().map(|relevance| relevance / sum).collect(),
            },
        })
    }

    /// The scores that a head with these multipliers gives, but for a constant of the list; `deep_ratio` is what the weight of
    /// its scale is multiplied with.
    pub(crate) fn scores(
        &self,
        parameters: &Parameters,
        multipliers: &[f64],
        deep_ratio: f64,
    ) -> Vec<f64> {
        let width = parameters.0.len();
        let deep = self.list.parts.deep(
            parameters.multiplier(&PartKind::Kernels, multipliers),
            parameters.multiplier(&PartKind::Vector, multipliers),
        );
        let score = |(row, deep): (usize, f64)| {
            let x = &self.rows.x[row * width..][..width];
            let parts = parameters.0.iter().zip(x).zip(multipliers);
            let others: f64 = parts
                .filter(|((parameter, _), _)| !parameter.is_deep_sum())
                .map(|((_, x), multiplier)| x * multiplier)
                .sum();
            self.rows.fixed[row] + others + deep_ratio * deep
        };
        deep.into_iter().enumerate().map(score).collect()
    }
}
