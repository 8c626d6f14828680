//! How far to go, and what it is worth on queries that were not fitted to.

use crate::example::{Example, Parameters};
use crate::fit::fit;
use crate::{Config, TuneError};
use becr_eval::{Folds, Measure, parse_measures};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A feature that joins with less is left out: it would cost time and change nothing.
const LEAST_JOINING: f64 = 0.005;

/// The number of queries that the configured pull is for.
const PULL_QUERIES: f64 = 25.0;

/// A step away from the starting head.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) multipliers: Vec<f64>,
    /// What the weight of the deep part's scale is multiplied with, so that changing the balance inside does not change what
    /// the deep part as a whole is worth beyond what was fitted.
    pub(crate) deep_ratio: f64,
}

/// What the folds say, query by query.
pub(crate) struct HeldOut {
    /// nDCG@10 of the starting head.
    pub(crate) before: Vec<f64>,
    /// Of heads that were fitted to other queries.
    pub(crate) after: Vec<f64>,
}

/// Fits the examples and takes the configured part of the step.
pub(crate) fn step(examples: &[&Example<'_>], parameters: &Parameters, config: &Config) -> Step {
    let start = parameters.start();
    let rows: Vec<_> = examples.iter().map(|example| &example.rows).collect();
    // The pull is as strong as so many queries, however many there are.
    let pull = config.pull * PULL_QUERIES / rows.len().max(1) as f64;
    let fitted = fit(&rows, &start, pull);
    let mut multipliers: Vec<f64> = start
        .iter()
        .zip(&fitted)
        .map(|(start, fitted)| start + config.step * (fitted - start))
        .collect();
    for (parameter, multiplier) in parameters.0.iter().zip(&mut multipliers) {
        if parameter.start == 0.0 && (*multiplier * parameter.weight).abs() < LEAST_JOINING {
            *multiplier = 0.0;
        }
    }
    Step {
        deep_ratio: deep_ratio(examples, parameters, &multipliers),
        multipliers,
    }
}

/// By how much deviations of the deep sum grow, on average over lists.
fn deep_ratio(examples: &[&Example<'_>], parameters: &Parameters, multipliers: &[f64]) -> f64 {
    use crate::example::PartKind::{Kernels, Vector};
    let (kernels, vector) = (
        parameters.multiplier(&Kernels, multipliers),
        parameters.multiplier(&Vector, multipliers),
    );
    let ratio = |example: &&Example<'_>| {
        let parts = &example.list.parts;
        let (before, after) = (
            parts.deep_factor(1.0, 1.0),
            parts.deep_factor(kernels, vector),
        );
        Some(before / after).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
    };
    let ratios: Vec<f64> = examples.iter().filter_map(ratio).collect();
    match ratios.is_empty() {
        true => 1.0,
        false => ratios.iter().sum::<f64>() / ratios.len() as f64,
    }
}

/// Measures every query with heads that were fitted without it.
pub(crate) fn measure(
    examples: &[Example<'_>],
    parameters: &Parameters,
    config: &Config,
) -> Result<HeldOut, TuneError> {
    let measures = parse_measures("nDCG@10")?;
    let measure = &measures[0];
    let unchanged = Step {
        multipliers: parameters.start(),
        deep_ratio: 1.0,
    };
    let before = examples
        .iter()
        .map(|one| ndcg(one, parameters, &unchanged, measure));
    let before: Vec<f64> = before.collect();
    let mut tasks: Vec<Vec<usize>> = Vec::new();
    for repeat in 0..config.repeats {
        let seed = config.seed.wrapping_add(1000 * repeat as u64);
        let folds = Folds::split_together(same_words(examples), config.folds, seed, Vec::new())?;
        let tested = |fold: &becr_eval::Fold| -> Vec<usize> {
            let places = fold.test.iter().filter_map(|id| id.parse().ok());
            places.collect()
        };
        tasks.extend(folds.folds().iter().map(tested));
    }
    let measured = tasks.par_iter().map(|tested| {
        let others = examples
            .iter()
            .enumerate()
            .filter(|(at, _)| !tested.contains(at));
        let others: Vec<&Example<'_>> = others.map(|(_, example)| example).collect();
        let step = step(&others, parameters, config);
        let values = tested
            .iter()
            .map(|&at| (at, ndcg(&examples[at], parameters, &step, measure)));
        values.collect::<Vec<_>>()
    });
    let measured: Vec<Vec<(usize, f64)>> = measured.collect();
    let mut after = vec![0.0; examples.len()];
    for (at, value) in measured.into_iter().flatten() {
        after[at] += value / config.repeats as f64;
    }
    Ok(HeldOut { before, after })
}

/// Places of examples, those of the same words together: a fold that has one of them must not be fitted to another.
fn same_words(examples: &[Example<'_>]) -> Vec<Vec<String>> {
    let mut sets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (at, example) in examples.iter().enumerate() {
        let words = example.list.text.to_lowercase();
        let words: Vec<&str> = words.split_whitespace().collect();
        sets.entry(words.join(" "))
            .or_default()
            .push(at.to_string());
    }
    sets.into_values().collect()
}

fn ndcg(example: &Example<'_>, parameters: &Parameters, step: &Step, measure: &Measure) -> f64 {
    let scores = example.scores(parameters, &step.multipliers, step.deep_ratio);
    let list = example.list;
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| {
        let by_score = scores[b].total_cmp(&scores[a]);
        by_score.then_with(|| list.ids[a].cmp(&list.ids[b]))
    });
    let ranked: Vec<i32> = order.iter().map(|&at| list.grades[at]).collect();
    measure.value(&ranked, &list.judged)
}
