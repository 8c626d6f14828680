//! Plain code of the papers' formulas, with loops over single numbers.

use std::collections::BTreeMap;

/// Every parameter by its name: shape and values, `inputs × outputs`.
pub(super) type Parameters = BTreeMap<String, ([usize; 2], Vec<f64>)>;

pub(super) type Vector = Vec<f64>;

pub(super) fn row(parameters: &Parameters, name: &str, row: usize) -> Vector {
    let ([_, columns], values) = &parameters[name];
    values[row * columns..][..*columns].to_vec()
}

/// `x · W + b`.
pub(super) fn affine(parameters: &Parameters, name: &str, x: &[f64]) -> Vector {
    let ([inputs, outputs], weight) = &parameters[&format!("{name}.weight")];
    assert_eq!(*inputs, x.len(), "{name}");
    let bias = &parameters[&format!("{name}.bias")].1;
    (0..*outputs)
        .map(|out| {
            bias[out]
                + (0..*inputs)
                    .map(|at| x[at] * weight[at * outputs + out])
                    .sum::<f64>()
        })
        .collect()
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn cosine(a: &[f64], b: &[f64]) -> f64 {
    // The guard that keeps the length of a vector from being 0.
    let length = |x: &[f64]| (dot(x, x) + 1e-12).sqrt();
    dot(a, b) / (length(a) * length(b))
}

/// KNRM's features of a matrix of similarities: eleven kernels, the last one for exact matches.
pub(super) fn soft_counts(matrix: &[Vec<f64>], epsilon: f64) -> Vector {
    let kernels = [-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9]
        .map(|mu| (mu, 0.1))
        .into_iter()
        .chain([(1.0, 0.001)]);
    kernels
        .map(|(mu, sigma)| {
            // As the network has them, rounded to 32 bits.
            let (mu, sigma) = (f64::from(mu as f32), f64::from(sigma as f32));
            let count = |row: &Vec<f64>| -> f64 {
                let kernel = |c: &f64| (-(c - mu) * (c - mu) / (2.0 * sigma * sigma)).exp();
                row.iter().map(kernel).sum()
            };
            matrix
                .iter()
                .map(|row| (count(row) + f64::from(epsilon as f32)).ln())
                .sum()
        })
        .collect()
}

pub(super) fn matrix(terms: &[Vector], tokens: &[Vector]) -> Vec<Vec<f64>> {
    let row = |term: &Vector| tokens.iter().map(|token| cosine(term, token)).collect();
    terms.iter().map(row).collect()
}

fn norm(parameters: &Parameters, name: &str, x: &[f64]) -> Vector {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64;
    let weight = &parameters[&format!("{name}.weight")].1;
    let bias = &parameters[&format!("{name}.bias")].1;
    let root = (variance + 1e-12).sqrt();
    let places = weight.iter().zip(bias);
    x.iter()
        .zip(places)
        .map(|(x, (w, b))| (x - mean) / root * w + b)
        .collect()
}

fn add(a: &[f64], b: &[f64]) -> Vector {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// Abramowitz and Stegun would do, but not to nine digits: the series of erf.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    2.0 / std::f64::consts::PI.sqrt() * sum
}

/// BERT: all hidden states of a sequence, `[layer][token]`. Tokens from `second` on have type 1, those from `seen` on
/// are attended to by nobody.
pub(super) fn bert(
    parameters: &Parameters,
    ids: &[usize],
    second: usize,
    seen: usize,
) -> Vec<Vec<Vector>> {
    const HEADS: usize = 3;
    let mut hidden: Vec<Vector> = ids
        .iter()
        .enumerate()
        .map(|(at, &id)| {
            let mut sum = add(
                &row(parameters, "embeddings.word", id),
                &row(parameters, "embeddings.position", at),
            );
            if at >= second {
                sum = add(&sum, &row(parameters, "embeddings.second_type", 0));
            }
            norm(parameters, "embeddings.norm", &sum)
        })
        .collect();
    let mut states = vec![hidden.clone()];
    for layer in 0..2 {
        let name = |part: &str| format!("layer.{layer}.{part}");
        let of = |part: &str| -> Vec<Vector> {
            hidden
                .iter()
                .map(|x| affine(parameters, &name(part), x))
                .collect()
        };
        let (query, key, value) = (of("query"), of("key"), of("value"));
        let dim = hidden[0].len();
        let size = dim / HEADS;
        hidden = (0..ids.len())
            .map(|at| {
                let mut context = vec![0.0; dim];
                for head in 0..HEADS {
                    let part = head * size..(head + 1) * size;
                    let scores: Vector = (0..seen)
                        .map(|other| {
                            dot(&query[at][part.clone()], &key[other][part.clone()])
                                * f64::from(1.0 / (size as f32).sqrt())
                        })
                        .collect();
                    let most = scores.iter().copied().fold(f64::MIN, f64::max);
                    let all: f64 = scores.iter().map(|score| (score - most).exp()).sum();
                    for (other, score) in scores.iter().enumerate() {
                        let share = (score - most).exp() / all;
                        for place in part.clone() {
                            context[place] += share * value[other][place];
                        }
                    }
                }
                let attended = affine(parameters, &name("attention_output"), &context);
                let attended = norm(
                    parameters,
                    &name("attention_norm"),
                    &add(&attended, &hidden[at]),
                );
                let inner: Vector = affine(parameters, &name("ffn_in"), &attended)
                    .iter()
                    .map(|x| 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)))
                    .collect();
                let outer = affine(parameters, &name("ffn_out"), &inner);
                norm(parameters, &name("ffn_norm"), &add(&outer, &attended))
            })
            .collect();
        states.push(hidden.clone());
    }
    states
}
