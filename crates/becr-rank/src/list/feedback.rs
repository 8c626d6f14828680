//! How much a document is like the best candidates.

use super::Standard;
use super::standard::SHORT;
use crate::vector::Means;
use becr_model::Feedback;
use std::cmp::Ordering;
use std::collections::HashSet;

/// What choosing the best candidates goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Voter {
    /// The document's number.
    pub(super) number: u64,
    /// The first stage's feature.
    pub(super) first_stage: f32,
    /// The cosine of query and document; `None` for a document without a token, whose vector says nothing.
    pub(super) vector: Option<f32>,
}

/// Of each candidate, the mean cosine of its vector with those of the best others; `None` for documents without a token,
/// and for all in a short list. A document that is in the list twice is not its own neighbour.
pub(super) fn feedback(rules: &Feedback, voters: &[Voter], means: &Means) -> Vec<Option<f32>> {
    if voters.len() < SHORT {
        return vec![None; voters.len()];
    }
    let best = best(rules, voters);
    let mean = |(at, voter): (usize, &Voter)| {
        voter.vector?;
        let others = best.iter().filter(|&&at| voters[at].number != voter.number);
        let cosines: Vec<f32> = others
            .take(rules.neighbours)
            .map(|&other| means.cosine(at, other))
            .collect();
        let sum: f32 = cosines.iter().sum();
        (!cosines.is_empty()).then(|| sum / cosines.len() as f32)
    };
    voters.iter().enumerate().map(mean).collect()
}

/// The places of the best candidates, one more than a candidate has neighbours: it may be one of them itself.
fn best(rules: &Feedback, voters: &[Voter]) -> Vec<usize> {
    let cosines = voters.iter().filter_map(|voter| voter.vector);
    let z = Standard::over(cosines.map(f64::from));
    let weight = f64::from(rules.vector);
    let mut places: Vec<(usize, f64)> = voters
        .iter()
        .enumerate()
        .filter_map(|(at, voter)| {
            let vector = z.of(f64::from(voter.vector?));
            Some((at, f64::from(voter.first_stage) + weight * vector))
        })
        .collect();
    // By number where they are equal, so that the order of the list does not matter.
    let by_score = |a: &(usize, f64), b: &(usize, f64)| -> Ordering {
        let numbers = voters[a.0].number.cmp(&voters[b.0].number);
        b.1.total_cmp(&a.1).then(numbers)
    };
    places.sort_by(by_score);
    let mut seen = HashSet::new();
    places.retain(|(at, _)| seen.insert(voters[*at].number));
    let places = places.into_iter().map(|(at, _)| at);
    places.take(rules.neighbours.saturating_add(1)).collect()
}
