//! Is the difference real? The paired t-test, corrections for many comparisons, confidence intervals.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The outcome of a two-sided paired t-test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TTest {
    /// The number of pairs.
    pub pairs: usize,
    /// The mean of first − second; 0 if there are no pairs.
    pub difference: f64,
    /// The t statistic, infinite if all differences are equal and not 0; `None` with fewer than two pairs.
    pub t: Option<f64>,
    /// The probability of a difference at least this large if there were none: 1 if all differences
    /// are 0, 0 if all are equal and not 0; `None` with fewer than two pairs, which say nothing.
    pub p: Option<f64>,
}

/// Tests whether the means of paired values differ, as `scipy.stats.ttest_rel` does.
///
/// ```
/// let test = becr_eval::paired_t_test([(0.5, 0.4), (0.7, 0.5), (0.9, 0.8), (0.3, 0.3)]);
/// assert!((test.difference - 0.1).abs() < 1e-12);
/// assert!(test.p.is_some_and(|p| p > 0.05));
/// ```
#[must_use]
pub fn paired_t_test(pairs: impl IntoIterator<Item = (f64, f64)>) -> TTest {
    let differences: Vec<f64> = pairs
        .into_iter()
        .map(|(first, second)| first - second)
        .collect();
    let (difference, error) = mean_and_error(&differences);
    let t = error.map(|error| match (difference == 0.0, error == 0.0) {
        (true, true) => 0.0,
        (false, true) => f64::INFINITY.copysign(difference),
        _ => difference / error,
    });
    let p = t.and_then(|t| Some((2.0 * students_t(differences.len())?.sf(t.abs())).min(1.0)));
    TTest {
        pairs: differences.len(),
        difference,
        t,
        p,
    }
}

/// A correction for asking many questions of the same data: without one, twenty comparisons of
/// equal systems give one "significant" difference on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Correction {
    /// Every p-value as it is.
    #[default]
    None,
    /// Every p-value times the number of tests.
    Bonferroni,
    /// Holm's step-down method: the same guarantee as Bonferroni, never less power.
    Holm,
}

impl Correction {
    /// The adjusted p-values of one family of tests; undefined ones stay so and do not count.
    #[must_use]
    pub fn adjust(self, p_values: &[Option<f64>]) -> Vec<Option<f64>> {
        let tests = p_values.iter().flatten().count();
        match self {
            Self::None => p_values.to_vec(),
            Self::Bonferroni => p_values
                .iter()
                .map(|p| p.map(|p| (p * tests as f64).min(1.0)))
                .collect(),
            Self::Holm => holm(p_values, tests),
        }
    }
}

fn holm(p_values: &[Option<f64>], tests: usize) -> Vec<Option<f64>> {
    let mut order: Vec<(f64, usize)> = p_values
        .iter()
        .enumerate()
        .filter_map(|(i, p)| Some(((*p)?, i)))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut adjusted = vec![None; p_values.len()];
    let mut largest: f64 = 0.0;
    for (position, (p, i)) in order.into_iter().enumerate() {
        largest = largest.max((p * (tests - position) as f64).min(1.0));
        adjusted[i] = Some(largest);
    }
    adjusted
}

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number of values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// The interval is mean ± this, from Student's t; `None` for a single value.
    pub half_width: Option<f64>,
}

/// The mean of `values` and its interval at `confidence` (0.95 is 95 %); `None` without values.
#[must_use]
pub fn estimate(values: &[f64], confidence: f64) -> Option<Estimate> {
    if values.is_empty() {
        return None;
    }
    let (mean, error) = mean_and_error(values);
    let half_width = error.and_then(|error| {
        let quantile =
            students_t(values.len())?.inverse_cdf(0.5 + confidence.clamp(0.0, 1.0) / 2.0);
        // No spread, no width, even where the quantile is infinite.
        Some(if error == 0.0 { 0.0 } else { quantile * error })
    });
    Some(Estimate {
        n: values.len(),
        mean,
        half_width,
    })
}

/// The mean and, of two values or more, its standard error.
fn mean_and_error(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let Some(first) = values.first() else {
        return (0.0, None);
    };
    // Equal values have this mean and no spread exactly, which summing them up would blur.
    if values.iter().all(|value| value == first) {
        return (*first, (values.len() > 1).then_some(0.0));
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, Some((squares / (n - 1.0) / n).sqrt()))
}

fn students_t(values: usize) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, values.checked_sub(1)? as f64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: [f64; 8] = [0.31, 0.52, 0.00, 0.77, 0.45, 0.90, 0.12, 0.63];
    const B: [f64; 8] = [0.25, 0.48, 0.10, 0.70, 0.41, 0.72, 0.15, 0.50];

    fn test(a: &[f64], b: &[f64]) -> TTest {
        paired_t_test(a.iter().copied().zip(b.iter().copied()))
    }

    fn same(got: Option<f64>, want: f64) -> bool {
        got.is_some_and(|got| (got - want).abs() <= 1e-9 * want.abs())
    }

    /// The constants are those of `scipy.stats.ttest_rel` (scipy 1.17.1) for the same values.
    #[test]
    fn agrees_with_scipy() {
        let close = test(&A, &B);
        assert!(
            same(close.t, 1.586_324_801_780_230_5) && same(close.p, 0.156_686_291_389_803_9),
            "{close:?}"
        );
        let far = test(
            &[0.9, 0.8, 0.95, 0.7, 0.99, 0.85],
            &[0.1, 0.2, 0.1, 0.15, 0.12, 0.3],
        );
        assert!(
            same(far.t, 11.294_571_051_773_193) && same(far.p, 9.509_416_868_814_195e-5),
            "{far:?}"
        );
        let few = test(&[0.1, 0.4, 0.35], &[0.2, 0.1, 0.3]);
        assert!(
            same(few.t, 0.714_285_714_285_714_1) && same(few.p, 0.549_165_182_666_284),
            "{few:?}"
        );
    }

    /// The constants are those of `scipy.stats.t.ppf` and `scipy.stats.t.interval` (scipy 1.17.1).
    #[test]
    fn intervals_agree_with_scipy() {
        for (confidence, freedom, quantile) in [
            (0.95, 1, 12.706_204_736_174_694),
            (0.95, 2, 4.302_652_729_749_462),
            (0.95, 7, 2.364_624_251_592_784),
            (0.95, 49, 2.009_575_237_129_239_2),
            (0.95, 6979, 1.960_303_958_133_713),
            (0.99, 4, 4.604_094_871_349_992),
            (0.5, 10, 0.699_812_061_312_431_7),
        ] {
            let got = students_t(freedom + 1).map(|t| t.inverse_cdf(0.5 + confidence / 2.0));
            assert!(same(got, quantile), "{freedom}: {got:?}");
        }
        let interval = estimate(&A, 0.95).unwrap();
        assert!((interval.mean - 0.4625).abs() < 1e-12);
        assert!(
            same(interval.half_width, 0.721_521_971_752_39 - 0.4625),
            "{interval:?}"
        );
    }

    #[test]
    fn degenerate_cases_are_defined() {
        assert_eq!(
            test(&[], &[]),
            TTest {
                pairs: 0,
                difference: 0.0,
                t: None,
                p: None
            }
        );
        assert_eq!(
            test(&[0.5], &[0.2]),
            TTest {
                pairs: 1,
                difference: 0.3,
                t: None,
                p: None
            }
        );
        assert_eq!(
            test(&A, &A),
            TTest {
                pairs: 8,
                difference: 0.0,
                t: Some(0.0),
                p: Some(1.0)
            }
        );
        let shifted = test(&[0.5, 0.75, 1.0], &[0.25, 0.5, 0.75]);
        assert_eq!((shifted.t, shifted.p), (Some(f64::INFINITY), Some(0.0)));
        assert_eq!(estimate(&[], 0.95), None);
        assert_eq!(
            estimate(&[0.4], 0.95),
            Some(Estimate {
                n: 1,
                mean: 0.4,
                half_width: None
            })
        );
        assert_eq!(estimate(&[0.1; 3], 1.0).unwrap().half_width, Some(0.0));
    }

    #[test]
    fn corrections() {
        let p = [Some(0.01), None, Some(0.04), Some(0.03)];
        assert_eq!(Correction::None.adjust(&p), p);
        assert_eq!(
            Correction::Bonferroni.adjust(&p),
            [Some(0.03), None, Some(0.12), Some(0.09)]
        );
        assert_eq!(
            Correction::Holm.adjust(&p),
            [Some(0.03), None, Some(0.06), Some(0.06)]
        );
        assert_eq!(
            Correction::Bonferroni.adjust(&[Some(0.9), Some(0.8)]),
            [Some(1.0), Some(1.0)]
        );
    }

    proptest! {
        #[test]
        fn a_test_is_symmetric_and_p_a_probability(
            pairs in prop::collection::vec((0.0..1.0f64, 0.0..1.0f64), 0..40),
        ) {
            let forward = paired_t_test(pairs.iter().copied());
            let backward = paired_t_test(pairs.iter().map(|(a, b)| (*b, *a)));
            prop_assert_eq!(forward.p, backward.p);
            prop_assert_eq!(forward.difference, -backward.difference);
            prop_assert_eq!(forward.p.is_some(), pairs.len() > 1);
            prop_assert!(forward.p.is_none_or(|p| (0.0..=1.0).contains(&p)));
        }

        #[test]
        fn holm_lies_between_none_and_bonferroni(p in prop::collection::vec(prop::option::of(0.0..=1.0f64), 0..9)) {
            let (holm, bonferroni) = (Correction::Holm.adjust(&p), Correction::Bonferroni.adjust(&p));
            for ((raw, holm), bonferroni) in p.iter().zip(holm).zip(bonferroni) {
                prop_assert!(raw.is_none() == holm.is_none());
                prop_assert!(*raw <= holm && holm <= bonferroni);
            }
        }

        /// A 95 % interval excludes 0 exactly where the test says p < 0.05.
        #[test]
        fn interval_and_test_agree(differences in prop::collection::vec(-1.0..1.0f64, 2..30)) {
            let test = paired_t_test(differences.iter().map(|d| (*d, 0.0)));
            let interval = estimate(&differences, 0.95).unwrap();
            let excludes = interval.mean.abs() > interval.half_width.unwrap();
            prop_assert_eq!(excludes, test.p.unwrap() < 0.05);
        }
    }
}
