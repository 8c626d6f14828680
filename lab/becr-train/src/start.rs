//! Where a training starts: a head without weights, its features standardised on the training set.

use crate::frozen::FrozenRow;
use crate::{ModelOptions, TrainError};
use becr_model::{CompositionWeights, Feature, Head, Kernels};
use becr_rank::LEXICAL_FEATURES;

/// Log-sums that move less than this are learned no slower.
const LEAST_SCALE: f64 = 0.05;

/// A feature that hardly moves in the training set must not explode elsewhere.
const LEAST_DEVIATION: f64 = 1e-3;

/// A head of the chosen shape, every weight 0, nothing measured.
pub(crate) fn blank(
    encoder_id: &str,
    layers: usize,
    window: usize,
    kernels: Kernels,
    options: &ModelOptions,
) -> Result<Head, TrainError> {
    if let Some(name) = options
        .lexical
        .iter()
        .find(|name| !LEXICAL_FEATURES.contains(&name.as_str()))
    {
        let known = LEXICAL_FEATURES.join(", ");
        return Err(TrainError::option(
            "lexical",
            format!("there is no feature {name:?}, only {known}"),
        ));
    }
    let mut head = Head::blank(encoder_id, layers);
    let kernels = options.kernels.clone().unwrap_or(kernels);
    head.deep.alpha = vec![vec![0.0; kernels.mu.len()]; layers];
    head.deep.kernels = kernels;
    for sigma in &mut head.deep.kernels.sigma {
        *sigma = sigma.max(options.sigma_floor);
    }
    head.deep.term_weights = options.term_weights;
    head.deep.stop_words = options.stop_words;
    head.deep.composition = CompositionWeights::paper(window);
    head.proximity = options.proximity;
    head.deep.document_vector =
        (options.deep && options.document_vector).then(|| Feature::plain("document_vector", 0.0));
    let features = |names: &[String]| names.iter().map(|name| Feature::plain(name, 0.0)).collect();
    head.lexical = features(&options.lexical);
    head.others.features = features(&options.features);
    Ok(head)
}

/// Sets mean and deviation of every feature.
pub(crate) fn standardise(head: &mut Head, rows: &[FrozenRow]) {
    let features = head.lexical.iter_mut().chain(&mut head.others.features);
    for (place, feature) in features.enumerate() {
        set(feature, rows.iter().filter_map(|row| row.features[place]));
    }
    if let Some(vector) = &mut head.deep.document_vector {
        set(vector, rows.iter().filter_map(|row| row.document_vector));
    }
}

fn set(feature: &mut Feature, values: impl Iterator<Item = f32>) {
    let (mean, deviation) = moments(values);
    feature.mean = mean as f32;
    feature.deviation = match deviation > LEAST_DEVIATION {
        true => deviation as f32,
        false => 1.0,
    };
}

/// The usual size of each log-sum, `[layer][kernel]`.
pub(crate) fn scale(rows: &[FrozenRow]) -> Vec<f32> {
    let width = rows.first().map_or(0, |row| row.log_sums.len());
    (0..width)
        .map(|place| {
            moments(rows.iter().map(|row| row.log_sums[place]))
                .1
                .max(LEAST_SCALE) as f32
        })
        .collect()
}

/// Mean and deviation.
fn moments(values: impl Iterator<Item = f32>) -> (f64, f64) {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        let value = f64::from(value);
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    let mean = sum / f64::max(count, 1.0);
    (
        mean,
        (squares / f64::max(count, 1.0) - mean * mean)
            .max(0.0)
            .sqrt(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(feature: Option<f32>, vector: f32, sum: f32) -> FrozenRow {
        FrozenRow {
            features: vec![feature],
            document_vector: Some(vector),
            log_sums: vec![sum],
            ..FrozenRow::default()
        }
    }

    #[test]
    fn features_are_measured_where_they_are_present() {
        let options = ModelOptions {
            lexical: vec!["body_bm25_sum".into()],
            ..ModelOptions::default()
        };
        let mut head = blank("tiny", 1, 3, Kernels::default(), &options).unwrap();
        let rows = [
            row(Some(1.0), 0.5, -23.0),
            row(None, 0.5, -23.0),
            row(Some(5.0), 0.5, -13.0),
        ];
        standardise(&mut head, &rows);
        assert_eq!(
            (head.lexical[0].mean, head.lexical[0].deviation),
            (3.0, 2.0)
        );
        let vector = head.deep.document_vector.unwrap();
        assert_eq!(
            (vector.mean, vector.deviation),
            (0.5, 1.0),
            "what never moves is left as it is"
        );
        assert!((scale(&rows)[0] - 4.714).abs() < 1e-3);
    }

    #[test]
    fn unknown_features_are_named_with_the_known_ones() {
        let options = ModelOptions {
            lexical: vec!["bm26".into()],
            ..ModelOptions::default()
        };
        let error = blank("tiny", 1, 3, Kernels::default(), &options)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("bm26") && error.contains("body_bm25_sum"),
            "{error}"
        );
    }
}
