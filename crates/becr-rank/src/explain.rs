//! A score taken apart. Every number of an explanation is one that scoring adds up, so the parts sum to the score.

use crate::lexical::{FIRST_STAGE, first_stage, place};
use crate::{Candidate, QueryTerm, RankError, RankQuery, RankWorkspace, Ranker};
use becr_model::Feature;
use becr_store::DocumentStore;
use serde::Serialize;

/// Why a document has its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The document's number.
    pub number: u64,
    /// S: the sum of the three parts.
    pub score: f64,
    /// S_deep: the sum of the terms and the document vector.
    pub deep: f64,
    /// S_lexi: the sum of the lexical features.
    pub lexi: f64,
    /// S_others: CLS and the other features.
    pub others: f64,
    /// The deep part by query term. Empty if that part is switched off.
    pub terms: Vec<TermPart>,
    /// The document-vector similarity, if the head uses it.
    pub document_vector: Option<FeaturePart>,
    /// Lexical features, in the head's order.
    pub lexical: Vec<FeaturePart>,
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

/// What a kernel at a layer contributes for a term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cell {
    /// ln(ε + Σ kernel).
    pub log_sum: f32,
    /// ω·α.
    pub weight: f64,
    /// Their product.
    pub contribution: f64,
}

/// What a feature contributes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeaturePart {
    /// Its name.
    pub name: String,
    /// Its value; `None` if it is missing.
    pub value: Option<f32>,
    /// `(value − mean) / deviation`; 0 if it is missing.
    pub standardised: f32,
    /// Its weight.
    pub weight: f32,
    /// Their product.
    pub contribution: f64,
}

impl FeaturePart {
    fn new(feature: &Feature, value: Option<f32>) -> Self {
        Self {
            name: feature.name.clone(),
            value,
            standardised: value.map_or(0.0, |value| feature.standardised(value)),
            weight: feature.weight,
            contribution: value.map_or(0.0, |value| f64::from(feature.contribution(value))),
        }
    }
}

impl Ranker {
    /// Takes the score of the candidate at place `which` apart. The whole list is asked for because the first
    /// stage's feature is relative to it.
    pub fn explain<S>(
        &self,
        query: &RankQuery,
        store: &S,
        candidates: &[Candidate<'_>],
        which: usize,
        work: &mut RankWorkspace,
    ) -> Result<Explanation, RankError>
    where
        S: DocumentStore + ?Sized,
    {
        let candidate = candidates.get(which).ok_or(RankError::NoCandidate {
            asked: which,
            candidates: candidates.len(),
        })?;
        let first_stage = first_stage(candidates, which);
        let mut explanation = None;
        let alone = std::slice::from_ref(candidate);
        self.each(store, alone, work, |turn, buffers| {
            buffers.lexical[FIRST_STAGE] = first_stage;
            let sums = self.sums(query, &turn, candidate, buffers)?;
            let without = query.options.without;
            let deep = query.deep.as_ref().filter(|_| !without.deep);
            let log_sums = &buffers.log_sums;
            let terms = deep.map_or(Vec::new(), |deep| {
                self.terms(query, &deep.weights, log_sums)
            });
            let vector = self.head.deep.document_vector.as_ref();
            let document_vector = deep.and_then(|deep| {
                let similarity = deep.vector.similarity(&turn.record, &buffers.related);
                Some(FeaturePart::new(vector?, similarity))
            });
            let part = |feature: &Feature| {
                let value = place(&feature.name).map(|place| buffers.lexical[place]);
                FeaturePart::new(feature, value)
            };
            let lexical = self.head.lexical.iter().filter(|_| !without.lexi);
            let named = self.head.others.features.iter().zip(&buffers.named);
            let named = named.filter(|_| !without.others);
            let cls = self.head.others.cls.as_ref().filter(|_| !without.others);
            explanation = Some(Explanation {
                number: candidate.number,
                score: sums.total(),
                deep: sums.deep,
                lexi: sums.lexi,
                others: sums.others,
                terms,
                document_vector,
                lexical: lexical.map(part).collect(),
                cls: cls.map(|_| f64::from(turn.record.cls())),
                features: named
                    .map(|(feature, value)| FeaturePart::new(feature, *value))
                    .collect(),
            });
            Ok::<(), RankError>(())
        })?;
        explanation.ok_or(RankError::NoDocument(candidate.number))
    }

    /// The deep part by term, layer and kernel.
    fn terms(&self, query: &RankQuery, weights: &[f64], log_sums: &[f32]) -> Vec<TermPart> {
        let (kernels, terms) = (self.kernels.len(), query.terms().len());
        let cell = |at: usize| Cell {
            log_sum: log_sums[at],
            weight: weights[at],
            contribution: weights[at] * f64::from(log_sums[at]),
        };
        let part = |(number, term): (usize, &QueryTerm)| {
            let row = |layer: usize| {
                let start = (layer * terms + number) * kernels;
                (start..start + kernels).map(cell).collect::<Vec<_>>()
            };
            let cells: Vec<Vec<Cell>> = (0..self.head.layers()).map(row).collect();
            TermPart {
                term: term.clone(),
                contribution: cells.iter().flatten().map(|c| c.contribution).sum(),
                cells,
            }
        };
        query.terms().iter().enumerate().map(part).collect()
    }
}

impl Explanation {
    /// The contributions as one flat table, which sums to the score: a row per query term, the document vector,
    /// a row per feature, CLS.
    pub fn rows(&self) -> Vec<ContributionRow> {
        let row = |part: Part, name: &str, contribution: f64| ContributionRow {
            part,
            name: name.to_owned(),
            contribution,
        };
        let terms = self
            .terms
            .iter()
            .map(|term| row(Part::Deep, &term.term.word, term.contribution));
        let of = |part: Part| {
            move |feature: &FeaturePart| ContributionRow {
                part,
                name: feature.name.clone(),
                contribution: feature.contribution,
            }
        };
        terms
            .chain(self.document_vector.iter().map(of(Part::Deep)))
            .chain(self.lexical.iter().map(of(Part::Lexi)))
            .chain(self.cls.map(|cls| row(Part::Others, "cls", cls)))
            .chain(self.features.iter().map(of(Part::Others)))
            .collect()
    }

    /// What makes this document's score differ from another's for the same query: their [`Explanation::rows`]
    /// subtracted. The differences sum to the difference of the scores.
    pub fn difference(&self, other: &Self) -> Vec<ContributionRow> {
        let rows = self.rows().into_iter().zip(other.rows());
        rows.map(|(ours, theirs)| ContributionRow {
            contribution: ours.contribution - theirs.contribution,
            ..ours
        })
        .collect()
    }
}

/// A line of an explanation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContributionRow {
    /// The part it belongs to.
    pub part: Part,
    /// The query term or feature.
    pub name: String,
    /// What it adds to the score.
    pub contribution: f64,
}

/// A part of the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// S_deep.
    Deep,
    /// S_lexi.
    Lexi,
    /// S_others.
    Others,
}
