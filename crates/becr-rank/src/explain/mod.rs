//! A score taken apart. Every number of an explanation is one that scoring adds up, so the parts sum to the score.
//!
//! Where S_deep is relative to the list, so is what it is made of: a term contributes by how far its log-sums are above
//! those of the average candidate. What is the same for all candidates does not appear.

mod parts;
mod relative;
mod rows;
mod words;

pub use parts::{Cell, Explanation, FeaturePart, TermPart, WordPart};
pub use rows::{ContributionRow, Part};

use crate::lexical::{COUNT, FIRST_STAGE, Scan, Shares, place};
use crate::list::Row;
use crate::score::{Buffers, Turn};
use crate::{Candidate, QueryTerm, RankError, RankQuery, RankWorkspace, Ranker, Scorer};
use becr_model::Feature;
use becr_store::DocumentStore;
use relative::{AverageCandidate, Relative};

/// The name of what it counts to be like the best candidates.
pub const FEEDBACK: &str = "like the best candidates";
/// The name of the first stage's feature where no candidate has its score and our own BM25 takes its place.
pub const OWN_BM25: &str = "own_bm25";

/// What an explanation is made of, noted while it is the candidate's turn.
struct Draft {
    /// Empty without a deep part.
    log_sums: Vec<f32>,
    vector: Option<f32>,
    lexical: [f32; COUNT],
    /// By word of the query.
    shares: Vec<Shares>,
    named: Vec<Option<f32>>,
    cls: f32,
}

impl Ranker {
    /// Takes the score of the candidate at place `which` apart. The whole list is asked for because scores are
    /// relative to it: the first stage's feature always, other parts if the head says so.
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
        let explained = self.explain_all(query, store, candidates, &[which], work)?;
        let mut explained = explained.into_iter();
        let number = candidates[which].number;
        explained.next().ok_or(RankError::NoDocument(number))
    }

    /// Takes the scores of the candidates at these places apart, in their order, after one look at the list.
    pub fn explain_all<S>(
        &self,
        query: &RankQuery,
        store: &S,
        candidates: &[Candidate<'_>],
        which: &[usize],
        work: &mut RankWorkspace,
    ) -> Result<Vec<Explanation>, RankError>
    where
        S: DocumentStore + ?Sized,
    {
        if let Some(&asked) = which.iter().find(|&&which| which >= candidates.len()) {
            return Err(RankError::NoCandidate {
                asked,
                candidates: candidates.len(),
            });
        }
        let rules = self.list_rules(query, candidates);
        // Where scores are not relative to the list, the other candidates need not be looked at.
        let wanted: Vec<Candidate<'_>>;
        let looked_at = match rules.is_list_wise {
            true => candidates,
            false => {
                wanted = which.iter().map(|&which| candidates[which]).collect();
                &wanted
            }
        };
        let is_wanted = |place: usize| !rules.is_list_wise || which.contains(&place);
        let mut drafts: Vec<Option<Draft>> = Vec::with_capacity(looked_at.len());
        let mut average = AverageCandidate::default();
        let vector = self.head.deep.document_vector.as_ref();
        let list = self.list(
            query,
            store,
            looked_at,
            &rules,
            work,
            |turn, buffers, row| {
                if rules.scale.is_some() {
                    let contribution = row.vector.and_then(|value| Some((vector?, value)));
                    average.add(row.sums.deep, &buffers.log_sums, contribution);
                }
                drafts.push(is_wanted(row.place).then(|| Draft::of(query, turn, buffers)));
            },
        )?;
        let explained = |(at, &place): (usize, &usize)| {
            let place = if rules.is_list_wise { place } else { at };
            let mut rows = list.rows.iter().zip(&drafts);
            let (row, draft) = rows.find(|(row, _)| row.place == place)?;
            let relative = Relative::new(query, &rules, &list, row, &average);
            Some(self.explanation(query, row, draft.as_ref()?, &relative))
        };
        let explain = |(at, place): (usize, &usize)| {
            let missing = RankError::NoDocument(candidates[*place].number);
            explained((at, place)).ok_or(missing)
        };
        which.iter().enumerate().map(explain).collect()
    }

    fn explanation(
        &self,
        query: &RankQuery,
        row: &Row,
        draft: &Draft,
        relative: &Relative<'_>,
    ) -> Explanation {
        let without = query.plan.without;
        let sums = &row.sums;
        let is_whole = query.plan.scorer == Scorer::Composite;
        let deep = query.deep.as_ref().filter(|_| !without.deep);
        let terms = deep.filter(|_| is_whole).map_or(Vec::new(), |deep| {
            self.terms(query, &deep.weights, &draft.log_sums, relative)
        });
        let vector = self.head.deep.document_vector.as_ref();
        let document_vector = deep.and_then(|_| match is_whole {
            true => Some(relative.document_vector(vector?, draft.vector)),
            false => Some(relative.one_vector()),
        });
        let lexical = self.head.lexical.iter().filter(|_| is_whole);
        let mut lexical: Vec<FeaturePart> = lexical
            .map(|feature| match place(&feature.name) {
                Some(FIRST_STAGE) => relative.first_stage(feature, draft.lexical[FIRST_STAGE]),
                place => FeaturePart::new(feature, place.map(|place| draft.lexical[place])),
            })
            .collect();
        if !is_whole {
            let plain = Feature::plain("first_stage", 1.0);
            lexical = vec![relative.first_stage(&plain, draft.lexical[FIRST_STAGE])];
        }
        if without.lexi {
            lexical.clear();
        }
        let has_others = is_whole && !without.others;
        let cls = self.head.others.cls.as_ref().filter(|_| has_others);
        let named = self.head.others.features.iter().zip(&draft.named);
        let named = named.filter(|_| has_others);
        let words = match is_whole {
            true => self.word_parts(query, &terms, &draft.shares),
            false => Vec::new(),
        };
        Explanation {
            number: row.number,
            score: sums.total(),
            deep: sums.deep,
            lexi: sums.lexi,
            others: sums.others,
            terms,
            document_vector,
            feedback: deep.and_then(|_| relative.feedback()),
            lexical,
            words,
            cls: cls.map(|_| f64::from(draft.cls)),
            features: named
                .map(|(feature, value)| FeaturePart::new(feature, *value))
                .collect(),
        }
    }

    /// The deep part by term, layer and kernel.
    fn terms(
        &self,
        query: &RankQuery,
        weights: &[f64],
        log_sums: &[f32],
        relative: &Relative<'_>,
    ) -> Vec<TermPart> {
        let (kernels, terms) = (self.kernels.len(), query.terms().len());
        let cell = |at: usize| relative.cell(at, log_sums[at], weights[at]);
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

impl Draft {
    fn of(query: &RankQuery, turn: &Turn<'_>, buffers: &Buffers) -> Self {
        let deep = query.deep.as_ref();
        let deep = deep.filter(|_| !query.plan.without.deep);
        Self {
            log_sums: deep.map_or(Vec::new(), |_| buffers.log_sums.clone()),
            vector: deep.and_then(|deep| deep.vector.similarity(&turn.record, &buffers.related)),
            lexical: buffers.lexical,
            shares: Scan::default().shares(&query.lexical, turn.record.forward()),
            named: buffers.named.clone(),
            cls: turn.record.cls(),
        }
    }
}
