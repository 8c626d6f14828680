//! The head that was fitted.

use crate::Outcome;
use crate::example::{Parameters, PartKind};
use crate::folds::Step;
use becr_model::Head;
use serde_json::json;

/// The starting head after a step.
pub(crate) fn tuned(start: &Head, parameters: &Parameters, step: &Step) -> Head {
    let mut head = start.clone();
    for (parameter, &multiplier) in parameters.0.iter().zip(&step.multipliers) {
        let weight = (multiplier * parameter.weight) as f32;
        match parameter.kind {
            PartKind::Lexical(_) => {
                let known = head.lexical.iter_mut().find(|f| f.name == parameter.name);
                match (known, &parameter.feature) {
                    (Some(known), _) => known.weight = weight,
                    (None, Some(feature)) if weight != 0.0 => {
                        let mut feature = feature.clone();
                        feature.weight = weight;
                        head.lexical.push(feature);
                    }
                    _ => {}
                }
            }
            PartKind::Named(place) => head.others.features[place].weight = weight,
            PartKind::Kernels => {
                let alpha = head.deep.alpha.iter_mut().flatten();
                alpha.for_each(|alpha| *alpha *= multiplier as f32);
            }
            PartKind::Vector => {
                if let Some(vector) = &mut head.deep.document_vector {
                    vector.weight = weight;
                }
            }
            PartKind::Feedback => {
                if let Some(feedback) = &mut head.feedback {
                    feedback.weight = weight;
                }
            }
        }
    }
    if let Some(scale) = &mut head.deep.scale {
        scale.weight *= step.deep_ratio as f32;
        scale.deviation *= step.deep_ratio as f32;
    }
    head
}

/// Notes in the head how it was made.
pub(crate) fn about(mut head: Head, outcome: &Outcome) -> Head {
    let note = json!({
        "queries": outcome.queries,
        "held_out_before": outcome.before,
        "held_out_after": outcome.after,
        "gain": outcome.gain,
        "gain_95": outcome.interval,
    });
    head.about.insert("fine_tuned".to_owned(), note);
    head
}
