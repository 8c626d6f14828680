//! What came of it.

use crate::Config;
use crate::data::Data;
use crate::example::Parameters;
use crate::folds::{HeldOut, Step};
use becr_eval::{Table, estimate};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// What came of a fine-tuning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Where the head was written.
    pub out: PathBuf,
    /// Queries that were learned from.
    pub queries: usize,
    /// Judged queries of which nothing can be learned: their candidates are all relevant, or none of them.
    pub unusable: usize,
    /// Candidates that the index does not have.
    pub unknown: usize,
    /// Faulty lines that were left out.
    pub skipped: u64,
    /// nDCG@10 of the starting head.
    pub before: f64,
    /// nDCG@10 on held-out folds.
    pub after: f64,
    /// The difference.
    pub gain: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// What follows from that.
    pub verdict: Verdict,
    /// The weights.
    pub weights: Vec<TunedWeight>,
}

/// What the folds say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A gain beyond doubt: the interval lies above 0.
    Gain,
    /// Too few queries to tell; the new head is kept.
    Unclear,
    /// A loss of more than a standard error: the old head is kept.
    Loss,
}

/// A weight before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TunedWeight {
    /// What it is of.
    pub name: String,
    /// In the starting head; for the kernels 1.
    pub before: f64,
    /// In the new head; for the kernels what α was multiplied with.
    pub after: f64,
}

impl Verdict {
    fn of(gain: f64, standard_error: f64, half_width: f64) -> Self {
        if gain < -standard_error {
            Self::Loss
        } else if gain - half_width > 0.0 {
            Self::Gain
        } else {
            Self::Unclear
        }
    }
}

impl Outcome {
    pub(crate) fn new(
        config: &Config,
        data: &Data,
        parameters: &Parameters,
        tuned: &Step,
        held_out: &HeldOut,
    ) -> Self {
        let pairs = held_out.after.iter().zip(&held_out.before);
        let gains: Vec<f64> = pairs.map(|(after, before)| after - before).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let gain = mean(&gains);
        let squares: f64 = gains.iter().map(|x| (x - gain) * (x - gain)).sum();
        let count = gains.len() as f64;
        let standard_error = (squares / (count - 1.0) / count).sqrt();
        let half = estimate(&gains, 0.95).and_then(|estimate| estimate.half_width);
        let half = half.unwrap_or(f64::INFINITY);
        let weights = parameters.0.iter().zip(&tuned.multipliers);
        Self {
            out: config.out.clone(),
            queries: gains.len(),
            unusable: data.lists.len() - gains.len(),
            unknown: data.unknown,
            skipped: data.skipped,
            before: mean(&held_out.before),
            after: mean(&held_out.after),
            gain,
            standard_error,
            interval: (gain - half, gain + half),
            verdict: Verdict::of(gain, standard_error, half),
            weights: weights
                .map(|(parameter, multiplier)| TunedWeight {
                    name: parameter.name.clone(),
                    before: parameter.start * parameter.weight,
                    after: multiplier * parameter.weight,
                })
                .filter(|weight| weight.before != 0.0 || weight.after != 0.0)
                .collect(),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} queries to learn from", self.queries)?;
        let others = [
            (
                self.unusable,
                "without both relevant and irrelevant candidates",
            ),
            (self.unknown, "candidates that the index does not have"),
        ];
        for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "; {count} {what}")?;
        }
        if self.skipped > 0 {
            write!(f, "; {} faulty lines left out", self.skipped)?;
        }
        let header = ["weight", "before", "after"].map(str::to_owned).to_vec();
        let mut table = Table::new(header, vec![1, 2]);
        for TunedWeight {
            name,
            before,
            after,
        } in &self.weights
        {
            table.row(vec![
                name.clone(),
                format!("{before:.3}"),
                format!("{after:.3}"),
            ]);
        }
        write!(f, "\n\n{table}\n")?;
        let (low, high) = self.interval;
        writeln!(
            f,
            "nDCG@10 on queries held out: {:.4} before, {:.4} after; gain {:+.4}, 95 % interval {low:+.4} to {high:+.4}",
            self.before, self.after, self.gain
        )?;
        let out = self.out.display();
        match self.verdict {
            Verdict::Gain => write!(f, "{out}: the new head, which is better"),
            Verdict::Unclear => write!(
                f,
                "{out}: the new head; these queries are too few to be certain that it is better, but it does not look worse"
            ),
            Verdict::Loss => write!(
                f,
                "{out}: the old head, unchanged, because the new one looks worse"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_head_stays_only_if_the_new_one_loses() {
        assert_eq!(Verdict::of(0.02, 0.005, 0.01), Verdict::Gain);
        assert_eq!(Verdict::of(0.008, 0.005, 0.01), Verdict::Unclear);
        assert_eq!(Verdict::of(-0.004, 0.005, 0.01), Verdict::Unclear);
        assert_eq!(Verdict::of(-0.006, 0.005, 0.01), Verdict::Loss);
        // Heads that rank all queries alike.
        assert_eq!(Verdict::of(0.0, 0.0, 0.0), Verdict::Unclear);
    }
}
