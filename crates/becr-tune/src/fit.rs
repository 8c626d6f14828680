//! The fit: a convex problem with bounds, by accelerated projected gradients.

use crate::example::FitRows;

/// Scores are this many times as large in the softmax as they are in the ranking, before they are calibrated.
const SHARPNESS: f64 = 4.0;
/// Where the size of the starting head's scores is looked for.
const SIZES: (f64, f64) = (0.03, 3.0);
const STEPS: usize = 400;
/// A step that changes no multiplier by more ends the fit.
const SMALL: f64 = 1e-7;

/// The multipliers that predict the relevant candidates best, pulled towards `start`.
pub(crate) fn fit(examples: &[&FitRows], start: &[f64], pull: f64) -> Vec<f64> {
    let size = size(examples, start);
    let loss = |a: &[f64]| penalised(examples, a, start, size, pull);
    let (mut a, mut ahead) = (start.to_vec(), start.to_vec());
    let mut momentum = 1.0_f64;
    let mut rate = 1.0;
    let mut best = loss(&a).0;
    for _ in 0..STEPS {
        let (value, slope) = loss(&ahead);
        // The largest rate at which the quadratic bound holds.
        let mut next: Vec<f64>;
        loop {
            next = ahead
                .iter()
                .zip(&slope)
                .map(|(a, slope)| (a - rate * slope).max(0.0))
                .collect();
            let (mut along, mut squares) = (0.0, 0.0);
            for ((next, ahead), slope) in next.iter().zip(&ahead).zip(&slope) {
                along += slope * (next - ahead);
                squares += (next - ahead) * (next - ahead);
            }
            let bound = value + along + squares / (2.0 * rate);
            if loss(&next).0 <= bound + 1e-12 || rate < 1e-9 {
                break;
            }
            rate /= 2.0;
        }
        let reached = loss(&next).0;
        let moved = a.iter().zip(&next).map(|(a, next)| (a - next).abs());
        let moved = moved.fold(0.0, f64::max);
        if reached > best {
            // The momentum has carried it past: go on from here without.
            if momentum == 1.0 {
                break;
            }
            momentum = 1.0;
            ahead.clone_from(&a);
            continue;
        }
        let following = f64::midpoint(1.0, (1.0 + 4.0 * momentum * momentum).sqrt());
        let carry = (momentum - 1.0) / following;
        ahead = next
            .iter()
            .zip(&a)
            .map(|(next, a)| next + carry * (next - a))
            .collect();
        ahead.iter_mut().for_each(|a| *a = a.max(0.0));
        (a, momentum, best) = (next, following, reached);
        if moved < SMALL {
            break;
        }
    }
    a
}

/// What the scores of the starting head are multiplied with to predict best. The loss is convex in it.
fn size(examples: &[&FitRows], start: &[f64]) -> f64 {
    let at = |log: f64| cross_entropy(examples, start, log.exp(), None);
    let (mut low, mut high) = (SIZES.0.ln(), SIZES.1.ln());
    for _ in 0..40 {
        let third = (high - low) / 3.0;
        match at(low + third) < at(high - third) {
            true => high -= third,
            false => low += third,
        }
    }
    f64::midpoint(low, high).exp()
}

/// The loss with the pull, and its gradient.
fn penalised(
    examples: &[&FitRows],
    a: &[f64],
    start: &[f64],
    size: f64,
    pull: f64,
) -> (f64, Vec<f64>) {
    let mut slope = vec![0.0; a.len()];
    let mut loss = cross_entropy(examples, a, size, Some(&mut slope));
    for ((a, start), slope) in a.iter().zip(start).zip(&mut slope) {
        loss += pull * (a - start) * (a - start);
        *slope += 2.0 * pull * (a - start);
    }
    (loss, slope)
}

/// The mean cross-entropy; its gradient is added to `slope`.
fn cross_entropy(
    examples: &[&FitRows],
    a: &[f64],
    size: f64,
    mut slope: Option<&mut Vec<f64>>,
) -> f64 {
    let sharpness = SHARPNESS * size;
    let share = 1.0 / examples.len().max(1) as f64;
    let mut loss = 0.0;
    let mut scores = Vec::new();
    for example in examples {
        scores.clear();
        let rows = example.x.chunks_exact(a.len()).zip(&example.fixed);
        scores.extend(rows.map(|(x, fixed)| {
            let fitted: f64 = x.iter().zip(a).map(|(x, a)| x * a).sum();
            sharpness * (fixed + fitted)
        }));
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
        let log_sum = largest + sum.ln();
        let rows = scores.iter().zip(&example.target);
        for (row, (score, target)) in rows.enumerate() {
            loss -= share * target * (score - log_sum);
            if let Some(slope) = slope.as_deref_mut() {
                let error = share * sharpness * ((score - log_sum).exp() - target);
                let x = &example.x[row * a.len()..][..a.len()];
                slope
                    .iter_mut()
                    .zip(x)
                    .for_each(|(slope, x)| *slope += error * x);
            }
        }
    }
    loss
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two parts: the first says what is relevant, the second nothing.
    fn examples(count: usize) -> Vec<FitRows> {
        let example = |query: usize| {
            let value = |at: usize| ((query * 31 + at * 17) % 13) as f64 / 13.0 - 0.5;
            let relevant = |row: usize| if row == query % 8 { 1.0 } else { 0.0 };
            let x = |row: usize| [0.3 * value(row) + 0.4 * relevant(row), value(row + 50)];
            FitRows {
                x: (0..8).flat_map(x).collect(),
                fixed: vec![0.0; 8],
                target: (0..8).map(relevant).collect(),
            }
        };
        (0..count).map(example).collect()
    }

    #[test]
    fn the_fit_is_the_best_point_of_a_grid() {
        let examples = examples(20);
        let examples: Vec<&FitRows> = examples.iter().collect();
        let start = [1.0, 1.0];
        for pull in [0.003, 0.1] {
            let found = fit(&examples, &start, pull);
            let size = size(&examples, &start);
            let loss = |a: &[f64]| penalised(&examples, a, &start, size, pull).0;
            let best = loss(&found);
            for i in 0..60 {
                for j in 0..60 {
                    let other = [f64::from(i) / 10.0, f64::from(j) / 20.0];
                    assert!(loss(&other) >= best - 1e-9, "{pull}: {found:?} {other:?}");
                }
            }
            assert!(
                found[0] > 1.0 && (0.0..1.0).contains(&found[1]),
                "{found:?}"
            );
        }
    }

    #[test]
    fn the_gradient_is_the_slope() {
        let examples = examples(5);
        let examples: Vec<&FitRows> = examples.iter().collect();
        let (start, at) = ([1.0, 0.0], [0.7, 0.4]);
        let loss = |a: &[f64]| penalised(&examples, a, &start, 1.3, 0.02).0;
        let (_, slope) = penalised(&examples, &at, &start, 1.3, 0.02);
        for place in 0..2 {
            let (mut above, mut below) = (at, at);
            above[place] += 1e-6;
            below[place] -= 1e-6;
            let expected = (loss(&above) - loss(&below)) / 2e-6;
            assert!((slope[place] - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn a_strong_pull_keeps_the_start() {
        let examples = examples(20);
        let examples: Vec<&FitRows> = examples.iter().collect();
        let found = fit(&examples, &[1.0, 0.0], 1e6);
        assert!(
            (found[0] - 1.0).abs() < 1e-4 && found[1] < 1e-4,
            "{found:?}"
        );
    }
}
