//! The forward pass against plain loops in double precision, and against itself in other company.

use super::*;
use crate::Centre;
use becr_model::{LayerNorm, Layers, Linear, Settings};
use proptest::prelude::*;

/// Odd sizes on purpose: nothing is a multiple of a vector, the head size is not a power of two.
fn odd_config() -> Config {
    let mut config = Config::new(50, 30, 3, 3, 70, 40);
    config.layer_norm_eps = 1e-6;
    config.becr = Some(Settings {
        bits: Some(96),
        ..Settings::default()
    });
    config
}

fn encoder(config: &Config, simd: Simd) -> NativeEncoder {
    encoder_in(Precision::F32, config, simd)
}

fn encoder_in(precision: Precision, config: &Config, simd: Simd) -> NativeEncoder {
    NativeEncoder::with_simd(config, Weights::random(config, 3, 8.0), precision, simd).unwrap()
}

fn batch(lengths: &[usize], seed: usize) -> Batch {
    lengths
        .iter()
        .enumerate()
        .map(|(i, &n)| (0..n).map(move |j| ((seed + 7 * i + 13 * j * j) % 50) as u32))
        .collect()
}

fn linear(x: &[Vec<f64>], layer: &Linear) -> Vec<Vec<f64>> {
    let dot = |x: &[f64], w: &[f32]| x.iter().zip(w).map(|(x, &w)| x * f64::from(w)).sum::<f64>();
    let row = |x: &Vec<f64>| {
        (0..layer.bias.len())
            .map(|j| dot(x, layer.weight.row(j)) + f64::from(layer.bias[j]))
            .collect()
    };
    x.iter().map(row).collect()
}

fn norm(x: &[f64], layer: &LayerNorm, epsilon: f64) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
    let unit = x.iter().map(|x| (x - mean) / (variance + epsilon).sqrt());
    unit.zip(&layer.weight)
        .zip(&layer.bias)
        .map(|((x, &w), &b)| x * f64::from(w) + f64::from(b))
        .collect()
}

fn add(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    a.iter()
        .zip(b)
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect())
        .collect()
}

fn gelu(x: f64) -> f64 {
    // Φ by Simpson's rule: slow, simple, and nothing like the code under test.
    let steps = 2000;
    let h = x / f64::from(steps);
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let inside: f64 = (1..steps)
        .map(|i| density(f64::from(i) * h) * if i % 2 == 1 { 4.0 } else { 2.0 })
        .sum();
    x * (0.5 + (density(0.0) + inside + density(x)) * h / 3.0)
}

/// BERT as the textbook has it, for one sequence: all hidden states.
fn reference(config: &Config, weights: &Weights, ids: &[u32]) -> Vec<Vec<Vec<f64>>> {
    reference_of_types(config, weights, ids, &vec![0; ids.len()])
}

/// The same with a type for each token.
pub(crate) fn reference_of_types(
    config: &Config,
    weights: &Weights,
    ids: &[u32],
    types: &[usize],
) -> Vec<Vec<Vec<f64>>> {
    let epsilon = config.layer_norm_eps;
    let e = &weights.embeddings;
    let embed = |(place, &id): (usize, &u32)| {
        let sum = e
            .word
            .row(id as usize)
            .iter()
            .zip(e.position.row(place))
            .zip(e.token_type.row(types[place]));
        let sum: Vec<f64> = sum
            .map(|((&w, &p), &t)| f64::from(w) + f64::from(p) + f64::from(t))
            .collect();
        norm(&sum, &e.layer_norm, epsilon)
    };
    let mut all = vec![ids.iter().enumerate().map(embed).collect::<Vec<_>>()];
    for layer in &weights.layers {
        let x = all.last().unwrap();
        let (q, k, v) = (
            linear(x, &layer.query),
            linear(x, &layer.key),
            linear(x, &layer.value),
        );
        let size = config.head_size();
        let mut context = vec![vec![0.0; config.hidden_size]; ids.len()];
        for head in 0..config.num_attention_heads {
            let part = head * size..(head + 1) * size;
            for i in 0..ids.len() {
                let dot = |j: usize| {
                    part.clone().map(|c| q[i][c] * k[j][c]).sum::<f64>() / (size as f64).sqrt()
                };
                let weight: Vec<f64> = (0..ids.len()).map(|j| dot(j).exp()).collect();
                let sum: f64 = weight.iter().sum();
                for c in part.clone() {
                    context[i][c] = (0..ids.len()).map(|j| weight[j] * v[j][c]).sum::<f64>() / sum;
                }
            }
        }
        let attended = add(x, &linear(&context, &layer.attention_output));
        let middle: Vec<_> = attended
            .iter()
            .map(|x| norm(x, &layer.attention_norm, epsilon))
            .collect();
        let mut wide = linear(&middle, &layer.ffn_in);
        wide.iter_mut().flatten().for_each(|x| *x = gelu(*x));
        let sum = add(&middle, &linear(&wide, &layer.ffn_out));
        all.push(
            sum.iter()
                .map(|x| norm(x, &layer.ffn_norm, epsilon))
                .collect(),
        );
    }
    all
}

#[test]
fn every_layer_agrees_with_plain_loops() {
    let config = odd_config();
    let weights = Weights::random(&config, 3, 8.0);
    let batch = batch(&[1, 3, 40, 17, 2], 0);
    let expected: Vec<_> = batch
        .sequences()
        .map(|s| reference(&config, &weights, &batch.ids()[s]))
        .collect();
    for simd in Simd::available() {
        let found = encoder(&config, simd).hidden_states(&batch).unwrap();
        assert_eq!(found.layers.len(), 4);
        for (range, expected) in batch.sequences().zip(&expected) {
            for (layer, rows) in expected.iter().enumerate() {
                for (row, token) in rows.iter().zip(range.clone()) {
                    for (x, &y) in row.iter().zip(found.vector(layer, token)) {
                        assert!(
                            (x - f64::from(y)).abs() < 2e-5,
                            "{} layer {layer}: {y}, expected {x}",
                            simd.name()
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn int8_points_where_f32_does() {
    let config = Config::new(50, 96, 4, 3, 384, 64);
    let batch = batch(&[1, 3, 40, 17, 64], 0);
    for simd in Simd::available() {
        let exact = encoder(&config, simd).hidden_states(&batch).unwrap();
        let rough = encoder_in(Precision::Int8, &config, simd)
            .hidden_states(&batch)
            .unwrap();
        assert_eq!(exact.layers[0], rough.layers[0], "embeddings are f32");
        for layer in 1..=4 {
            let cosines = (0..batch.tokens())
                .map(|token| cosine(exact.vector(layer, token), rough.vector(layer, token)));
            let mean = cosines.sum::<f64>() / batch.tokens() as f64;
            assert!(mean > 0.999, "{} layer {layer}: {mean}", simd.name());
            assert_ne!(exact.layers[layer], rough.layers[layer]);
        }
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(&a, &b)| f64::from(a) * f64::from(b))
            .sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn only_the_chosen_layers_are_kept() {
    let mut config = odd_config();
    let batch = batch(&[9, 4], 1);
    let all = encoder(&config, Simd::Portable)
        .hidden_states(&batch)
        .unwrap();
    for chosen in [vec![0], vec![2], vec![0, 1, 3]] {
        config.becr = Some(Settings {
            layers: Layers::Chosen(chosen.clone()),
            ..Settings::default()
        });
        let encoder = encoder(&config, Simd::Portable);
        assert_eq!(
            encoder.layers.len(),
            *chosen.last().unwrap(),
            "later layers are not even loaded"
        );
        let some = encoder.hidden_states(&batch).unwrap();
        assert!(
            some.layers
                .iter()
                .eq(chosen.iter().map(|&layer| &all.layers[layer]))
        );
    }
}

#[test]
fn footprints_are_those_of_the_hidden_states() {
    let config = odd_config();
    let planes = hyperplanes(&config).unwrap().unwrap();
    let batch = batch(&[12, 30], 2);
    let mut weights = Weights::random(&config, 3, 8.0);
    let spread = |seed: usize| (0..4 * 30).map(move |i| ((i * seed) % 17) as f32 / 8.0 - 1.0);
    weights.centres = Some(Centres {
        documents: spread(5).collect(),
        groups: spread(7).collect(),
    });
    let kinds = [Centre::Documents, Centre::Groups];
    for (simd, centre) in Simd::available()
        .into_iter()
        .flat_map(|simd| kinds.map(|kind| (simd, kind)))
    {
        let encoder =
            NativeEncoder::with_simd(&config, weights.clone(), Precision::F32, simd).unwrap();
        let centres = centre.rows(weights.centres.as_ref(), encoder.shape());
        let states = encoder.hidden_states(&batch).unwrap();
        let wanted = Wanted {
            footprints: vec![0..1, 3..6, 41..42],
            vectors: vec![0..1, 13..41],
            centre,
        };
        let encoded = encoder.encode(&batch, &wanted).unwrap();
        let mean = |layer: usize, span: &Range<usize>| -> Vec<f32> {
            let sum = |c| {
                span.clone()
                    .map(|token| states.vector(layer, token)[c])
                    .sum::<f32>()
            };
            (0..30)
                .map(|c| sum(c) / span.len() as f32 - centres[layer][c])
                .collect()
        };
        for layer in 0..4 {
            for (i, span) in wanted.footprints.iter().enumerate() {
                let mut expected = [0; 3];
                planes.footprint(&mean(layer, span), &mut expected).unwrap();
                assert_eq!(encoded.footprints[(layer * 3 + i) * 3..][..3], expected);
            }
        }
        for (span, found) in wanted.vectors.iter().zip(encoded.vectors.chunks_exact(30)) {
            assert!(
                mean(3, span)
                    .iter()
                    .zip(found)
                    .all(|(a, b)| (a - b).abs() < 1e-5)
            );
        }
    }
}

#[test]
fn what_cannot_be_encoded_is_refused() {
    let mut config = odd_config();
    let native = encoder(&config, Simd::Portable);
    let error = |batch: &Batch| native.hidden_states(batch).unwrap_err().to_string();
    assert!(error(&batch(&[3, 41], 0)).contains("sequence 1 has 41 tokens"));
    assert!(error(&batch(&[3, 0], 0)).contains("sequence 1 is empty"));
    assert!(error(&Batch::from_iter([[1, 50]])).contains("token id 50"));
    for span in [3..3, 2..4, 7..9] {
        let wanted = Wanted {
            footprints: vec![span],
            ..Wanted::default()
        };
        assert!(matches!(
            native.encode(&batch(&[3], 0), &wanted),
            Err(EncodeError::BadSpan { .. })
        ));
    }
    assert!(
        native
            .hidden_states(&Batch::new())
            .unwrap()
            .layers
            .iter()
            .all(Vec::is_empty)
    );
    config.becr = Some(Settings {
        bits: None,
        ..Settings::default()
    });
    let raw = encoder(&config, Simd::Portable);
    assert!(matches!(
        raw.encode(&batch(&[3], 0), &Wanted::default()),
        Err(EncodeError::RawVectors)
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn company_and_threads_change_no_bit(lengths in prop::collection::vec(1usize..41, 1..30), threads in 1usize..5, seed in 0usize..100) {
        let config = odd_config();
        let batch = batch(&lengths, seed);
        let tokens = Wanted { footprints: (0..batch.tokens()).map(|t| t..t + 1).collect(), ..Wanted::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let precisions = [Precision::F32, Precision::Int8];
        for (simd, precision) in Simd::available().into_iter().flat_map(|simd| precisions.map(|p| (simd, p))) {
            let encoder = encoder_in(precision, &config, simd);
            let (together, footprints) = pool.install(|| {
                (encoder.hidden_states(&batch).unwrap(), encoder.encode(&batch, &tokens).unwrap().footprints)
            });
            for range in batch.sequences() {
                let single = Batch::from_iter([batch.ids()[range.clone()].iter().copied()]);
                let alone = encoder.hidden_states(&single).unwrap();
                let wanted = Wanted { footprints: (0..range.len()).map(|t| t..t + 1).collect(), ..Wanted::default() };
                let encoded = encoder.encode(&single, &wanted).unwrap().footprints;
                for layer in 0..4 {
                    prop_assert_eq!(&alone.layers[layer], &together.layers[layer][range.start * 30..range.end * 30]);
                    let mine = &encoded[layer * range.len() * 3..][..range.len() * 3];
                    prop_assert_eq!(mine, &footprints[(layer * batch.tokens() + range.start) * 3..][..range.len() * 3]);
                }
            }
        }
    }
}
