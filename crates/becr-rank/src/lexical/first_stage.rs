//! The first stage's score as a feature: relative to the list of candidates.

use crate::Candidate;

/// Brings first-stage scores to 0 … 1 within a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstStageScale {
    // Wider than the scores: the distance of two of them may be more than a 32-bit float holds.
    least: f64,
    range: f64,
}

impl FirstStageScale {
    pub(crate) fn new(candidates: &[Candidate<'_>]) -> Self {
        Self::of(candidates.iter().filter_map(|c| c.first_stage))
    }

    /// For a list with these scores.
    pub(crate) fn of(scores: impl Iterator<Item = f32> + Clone) -> Self {
        let scores = scores.filter(|s| s.is_finite());
        let least = scores.clone().fold(f32::INFINITY, f32::min);
        let most = scores.fold(f32::NEG_INFINITY, f32::max);
        Self {
            least: f64::from(least),
            range: f64::from(most) - f64::from(least),
        }
    }

    /// 0 for an absent score, and for all if they are the same.
    pub(crate) fn value(&self, score: Option<f32>) -> f32 {
        match score {
            Some(score) if score.is_finite() && self.range > 0.0 => {
                let place = (f64::from(score) - self.least) / self.range;
                place.clamp(0.0, 1.0) as f32
            }
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_stage_scores_are_relative_to_the_list() {
        let values = |scores: &[Option<f32>]| -> Vec<f32> {
            let candidates: Vec<_> = scores
                .iter()
                .map(|&first_stage| Candidate {
                    first_stage,
                    ..Default::default()
                })
                .collect();
            let scale = FirstStageScale::new(&candidates);
            scores.iter().map(|&score| scale.value(score)).collect()
        };
        let scores = [Some(4.0), None, Some(2.0), Some(3.0), Some(f32::NAN)];
        assert_eq!(values(&scores), [1.0, 0.0, 0.0, 0.5, 0.0]);
        assert_eq!(values(&[Some(7.0), Some(7.0)]), [0.0, 0.0]);
        assert_eq!(values(&[None]), [0.0]);
        let far = [Some(-3e38), Some(3e38), Some(0.0)];
        assert_eq!(values(&far), [0.0, 1.0, 0.5]);
        assert!(values(&[]).is_empty());
    }
}
