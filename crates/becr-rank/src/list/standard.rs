//! Values taken relative to the list they are in.

use becr_model::DeepScale;

/// Lists of fewer candidates say too little of how far values spread.
pub(crate) const SHORT: usize = 5;
/// Values that differ by less, relative to the largest, are taken for the same: single precision has no more digits.
const LEAST: f64 = 1e-6;

/// How the values of a list are standardised: `(x − mean) · factor`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Standard {
    pub(crate) mean: f64,
    pub(crate) factor: f64,
}

impl Standard {
    /// Leaves values as they are.
    pub(crate) const IDENTITY: Self = Self {
        mean: 0.0,
        factor: 1.0,
    };

    /// z over the list: mean 0, deviation 1; 0 for all where they do not differ.
    pub(crate) fn over(values: impl Iterator<Item = f64>) -> Self {
        let spread = Spread::of(values);
        Self {
            mean: spread.mean,
            factor: match spread.is_vanishing() {
                true => 0.0,
                false => 1.0 / spread.deviation,
            },
        }
    }

    /// As a head's scale has it: by the list's own deviation, or by the scale's where the list is short or its values do
    /// not differ.
    pub(crate) fn scaled(values: impl Iterator<Item = f64>, scale: &DeepScale) -> Self {
        let spread = Spread::of(values);
        let deviation = match spread.count < SHORT || spread.is_vanishing() {
            true => f64::from(scale.deviation),
            false => spread.deviation,
        };
        Self {
            mean: spread.mean,
            factor: f64::from(scale.weight) / deviation,
        }
    }

    /// A value, standardised; 0 for one that is no number.
    pub(crate) fn of(&self, value: f64) -> f64 {
        match value.is_finite() {
            true => (value - self.mean) * self.factor,
            false => 0.0,
        }
    }
}

/// Mean and deviation of the finite values of a list.
struct Spread {
    count: usize,
    mean: f64,
    deviation: f64,
    largest: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        Self {
            count: values.len(),
            mean,
            deviation: (squares / count).sqrt(),
            largest: values.iter().fold(0.0, |most, x| most.max(x.abs())),
        }
    }

    fn is_vanishing(&self) -> bool {
        // Of huge values the deviation may be infinite.
        !self.deviation.is_finite() || self.deviation <= LEAST * self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_model::ScaleOver;
    use proptest::prelude::*;

    const SCALE: DeepScale = DeepScale {
        over: ScaleOver::List,
        weight: 2.0,
        deviation: 4.0,
    };

    fn scaled(values: &[f64]) -> Vec<f64> {
        let standard = Standard::scaled(values.iter().copied(), &SCALE);
        values.iter().map(|&value| standard.of(value)).collect()
    }

    /// 2, 4, 4, 4, 5, 5, 7, 9 have mean 5 and deviation 2.
    #[test]
    fn by_hand() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(
            scaled(&values),
            [-3.0, -1.0, -1.0, -1.0, 0.0, 0.0, 2.0, 4.0]
        );
        let z = Standard::over(values.into_iter());
        assert_eq!((z.of(9.0), z.of(2.0), z.of(5.0)), (2.0, -1.5, 0.0));
    }

    /// Short lists go by the scale's own deviation, 4; one candidate, and none, by nothing.
    #[test]
    fn short_lists_and_equal_values() {
        assert_eq!(scaled(&[1.0, 3.0, 5.0, 7.0]), [-1.5, -0.5, 0.5, 1.5]);
        assert_eq!(scaled(&[1.0, 3.0]), [-0.5, 0.5]);
        assert_eq!(scaled(&[17.0]), [0.0]);
        assert!(scaled(&[]).is_empty());
        assert_eq!(scaled(&[-3.25; 7]), [0.0; 7]);
        let odd = scaled(&[1.0, f64::NAN, 2.0, f64::INFINITY, 3.0]);
        assert_eq!(odd, [-0.5, 0.0, 0.0, 0.0, 0.5]);
        let huge = scaled(&[1e300, -1e300, 2e300, 3e300, 0.0]);
        assert!(huge.iter().all(|value| value.is_finite()), "{huge:?}");
        let z = |values: &[f64]| Standard::over(values.iter().copied());
        assert_eq!(z(&[1.0, 1.0]).of(1.0), 0.0);
        assert_eq!(z(&[]).of(3.0), 0.0);
    }

    proptest! {
        /// A list whose values are stretched and moved has the same scores.
        #[test]
        fn affine_changes_do_not_matter(
            values in prop::collection::vec(-20.0f64..20.0, 5..60),
            stretch in 0.01f64..100.0,
            shift in -100.0f64..100.0,
        ) {
            let before = scaled(&values);
            let moved: Vec<f64> = values.iter().map(|x| stretch * x + shift).collect();
            for (before, after) in before.iter().zip(scaled(&moved)) {
                prop_assert!((before - after).abs() < 1e-6, "{before} {after}");
            }
        }
    }
}
