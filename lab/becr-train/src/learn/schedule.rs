//! Learning rates over time.

use crate::Schedule;

/// The share of the full learning rate at `step`, counted from 0: it grows over the first `warm_up` of all `steps`, then
/// stays, or falls in a straight line and reaches 0 one step after the last.
pub(crate) fn share(step: usize, steps: usize, warm_up: f64, schedule: Schedule) -> f64 {
    let rising = (warm_up * steps as f64).round();
    let step = step as f64;
    match (step < rising, schedule) {
        (true, _) => (step + 1.0) / rising,
        (false, Schedule::Constant) => 1.0,
        (false, Schedule::Linear) => (steps as f64 - step) / (steps as f64 - rising).max(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_then_down() {
        let share = |step, steps, warm_up| super::share(step, steps, warm_up, Schedule::Linear);
        let shares: Vec<f64> = (0..10).map(|step| share(step, 10, 0.2)).collect();
        assert_eq!(shares[..3], [0.5, 1.0, 1.0]);
        assert!(shares[2..].is_sorted_by(|a, b| a > b));
        assert_eq!(shares[9], 0.125);
        assert_eq!(share(0, 4, 0.0), 1.0);
        assert_eq!(share(3, 4, 1.0), 1.0);
    }

    #[test]
    fn up_and_stay() {
        let shares = (0..6).map(|step| share(step, 6, 0.34, Schedule::Constant));
        assert_eq!(shares.collect::<Vec<f64>>(), [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }
}
