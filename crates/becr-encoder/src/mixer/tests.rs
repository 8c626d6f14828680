use super::*;
use becr_model::{Linear as Weights, MixerKind, MixerShape};

/// A mixer all of whose parts matter.
fn weights(shape: MixerShape, seed: u64) -> MixerWeights {
    let mut weights = MixerWeights::new(shape, "encoder", seed);
    let mut state = seed;
    for values in weights.values_mut() {
        for value in values {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *value += 0.12 * ((state >> 40) as f32 / (1 << 24) as f32 - 0.5);
        }
    }
    weights
}

fn units(count: usize, dim: usize) -> Vec<f32> {
    let value = |at: usize| (((at * 7919 + 13) % 1009) as f32 / 504.0 - 1.0).powi(3);
    let mut words: Vec<f32> = (0..count * dim).map(value).collect();
    words.chunks_exact_mut(dim).for_each(unit);
    words
}

/// The formulas once more, slow and plain.
mod slow {
    use super::*;

    type Rows = Vec<Vec<f64>>;

    fn linear(rows: &Rows, layer: &Weights) -> Rows {
        let of = |row: &Vec<f64>| {
            let outputs = layer.weight.data.chunks_exact(layer.weight.cols);
            let sums = outputs.zip(&layer.bias).map(|(weights, bias)| {
                let products = weights.iter().zip(row).map(|(w, x)| f64::from(*w) * x);
                products.sum::<f64>() + f64::from(*bias)
            });
            sums.collect()
        };
        rows.iter().map(of).collect()
    }

    fn norm(rows: &Rows, layer: &LayerNorm, epsilon: f64) -> Rows {
        let of = |row: &Vec<f64>| {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let squares = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
            let deviation = (squares / row.len() as f64 + epsilon).sqrt();
            let scaled = row.iter().zip(&layer.weight).zip(&layer.bias);
            scaled
                .map(|((x, w), b)| (x - mean) / deviation * f64::from(*w) + f64::from(*b))
                .collect()
        };
        rows.iter().map(of).collect()
    }

    fn plus(a: &mut Rows, b: &Rows) {
        for (a, b) in a.iter_mut().flatten().zip(b.iter().flatten()) {
            *a += b;
        }
    }

    /// erf by its series, which is exact enough up to 6.
    fn gelu(x: f64) -> f64 {
        let y = x / 2f64.sqrt();
        if y.abs() > 6.0 {
            return x.max(0.0);
        }
        let (mut term, mut sum) = (y, y);
        for n in 1..200 {
            term *= -y * y / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        0.5 * x * (1.0 + 2.0 / std::f64::consts::PI.sqrt() * sum)
    }

    fn attention(qkv: &Rows, heads: usize) -> Rows {
        let dim = qkv[0].len() / 3;
        let size = dim / heads;
        let mut out = vec![vec![0.0; dim]; qkv.len()];
        for head in 0..heads {
            let part = |row: usize, part: usize| &qkv[row][part * dim + head * size..][..size];
            for (row, out) in out.iter_mut().enumerate() {
                let score = |other: usize| {
                    let products = part(row, 0).iter().zip(part(other, 1)).map(|(q, k)| q * k);
                    (products.sum::<f64>() / (size as f64).sqrt()).exp()
                };
                let scores: Vec<f64> = (0..qkv.len()).map(score).collect();
                let sum: f64 = scores.iter().sum();
                for (other, score) in scores.iter().enumerate() {
                    for (out, v) in out[head * size..][..size].iter_mut().zip(part(other, 2)) {
                        *out += score / sum * v;
                    }
                }
            }
        }
        out
    }

    pub(super) fn mix(weights: &MixerWeights, words: &[f32]) -> Rows {
        let dim = weights.query.len();
        let words: Rows = words
            .chunks_exact(dim)
            .map(|word| word.iter().map(|&x| f64::from(x)).collect())
            .collect();
        let mut states = linear(&words, &weights.input);
        for (place, row) in states.iter_mut().enumerate() {
            let place = place.min(weights.positions.rows - 1);
            let position = weights.positions.row(place);
            row.iter_mut()
                .zip(position)
                .for_each(|(x, p)| *x += f64::from(*p));
        }
        states.insert(0, weights.query.iter().map(|&x| f64::from(x)).collect());
        let mut out = match &weights.end {
            MixerEnd::PreNorm { norm: last, output } => {
                pre_norm_layers(weights, &mut states);
                let mut out = linear(&norm(&states, last, 1e-5), output);
                for word in &words {
                    for (mean, x) in out[0].iter_mut().zip(word) {
                        *mean += x / words.len() as f64;
                    }
                }
                for (row, word) in out[1..].iter_mut().zip(&words) {
                    row.iter_mut().zip(word).for_each(|(x, w)| *x += w);
                }
                out
            }
            MixerEnd::EncoderLayers { residual, pooled } => {
                encoder_layers(weights, &mut states);
                let mut out = linear(&words, residual);
                plus(&mut out, &states[1..].to_vec());
                let mut query = linear(&states[..1].to_vec(), pooled).remove(0);
                for state in &states {
                    for (mean, x) in query.iter_mut().zip(state) {
                        *mean += x / states.len() as f64;
                    }
                }
                out.insert(0, query);
                out
            }
        };
        for row in &mut out {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.iter_mut().for_each(|x| *x /= length);
        }
        out
    }

    fn pre_norm_layers(weights: &MixerWeights, states: &mut Rows) {
        for layer in &weights.layers {
            let qkv = linear(&norm(states, &layer.norm1, 1e-5), &layer.qkv);
            plus(states, &linear(&attention(&qkv, weights.heads), &layer.out));
            let mut wide = linear(&norm(states, &layer.norm2, 1e-5), &layer.up);
            wide.iter_mut().flatten().for_each(|x| *x = gelu(*x));
            plus(states, &linear(&wide, &layer.down));
        }
    }

    fn encoder_layers(weights: &MixerWeights, states: &mut Rows) {
        for layer in &weights.layers {
            let qkv = linear(states, &layer.qkv);
            plus(states, &linear(&attention(&qkv, weights.heads), &layer.out));
            *states = norm(states, &layer.norm1, 1e-12);
            let mut wide = linear(states, &layer.up);
            wide.iter_mut().flatten().for_each(|x| *x = gelu(*x));
            plus(states, &linear(&wide, &layer.down));
            *states = norm(states, &layer.norm2, 1e-12);
        }
    }
}

const SHAPES: [MixerShape; 4] = [
    MixerShape {
        kind: MixerKind::PreNorm,
        hidden: 48,
        layers: 2,
        feed_forward: 80,
        heads: 3,
        positions: 4,
    },
    // Nothing of it is a multiple of a vector.
    MixerShape {
        kind: MixerKind::EncoderLayers,
        hidden: 30,
        layers: 3,
        feed_forward: 50,
        heads: 2,
        positions: 1,
    },
    MixerShape {
        kind: MixerKind::EncoderLayers,
        hidden: 48,
        layers: 2,
        feed_forward: 96,
        heads: 4,
        positions: 8,
    },
    MixerShape {
        kind: MixerKind::PreNorm,
        hidden: 64,
        layers: 0,
        feed_forward: 1,
        heads: 4,
        positions: 32,
    },
];

/// The least cosine, and the largest difference of a number.
fn compare(mixed: &Mixed, slow: &[Vec<f64>]) -> (f64, f64) {
    let dim = mixed.query.len();
    assert_eq!(mixed.terms.len(), (slow.len() - 1) * dim);
    let rows = std::iter::once(&mixed.query[..]).chain(mixed.terms.chunks_exact(dim));
    let (mut least, mut most) = (1.0f64, 0.0f64);
    for (row, slow) in rows.zip(slow) {
        let cosine: f64 = row.iter().zip(slow).map(|(a, b)| f64::from(*a) * b).sum();
        least = least.min(cosine);
        for (a, b) in row.iter().zip(slow) {
            most = most.max((f64::from(*a) - b).abs());
        }
    }
    (least, most)
}

#[test]
fn equal_to_the_formulas() {
    for (seed, shape) in (1..).zip(SHAPES) {
        let weights = weights(shape, seed);
        for simd in Simd::available() {
            let exact = Mixer::with_simd(&weights, Precision::F32, simd);
            let rounded = Mixer::with_simd(&weights, Precision::Int8, simd);
            for count in [1, 2, 5, 13, MOST_MIXED_WORDS] {
                let words = units(count, shape.hidden);
                let slow = slow::mix(&weights, &words);
                let mut mixed = Mixed::default();
                exact.mix(&words, &mut mixed);
                let (_, most) = compare(&mixed, &slow);
                assert!(most < 2e-5, "{simd:?} {shape:?} {count}: {most}");
                rounded.mix(&words, &mut mixed);
                let (least, _) = compare(&mixed, &slow);
                // Eight bits for weights and activations: cosines of .995 and more with these random weights.
                assert!(least > 0.995, "{simd:?} {shape:?} {count}: {least}");
            }
        }
    }
}

#[test]
fn memory_of_the_last_query_is_not_seen() {
    let weights = weights(SHAPES[0], 5);
    let mixer = Mixer::new(&weights).unwrap();
    let (mut first, mut again) = (Mixed::default(), Mixed::default());
    mixer.mix(&units(3, 48), &mut first);
    mixer.mix(&units(40, 48), &mut again);
    mixer.mix(&units(3, 48), &mut again);
    assert_eq!(first, again);
    // Nor do threads matter.
    let words = units(3, 48);
    std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| {
            scope.spawn(|| {
                let mut mixed = Mixed::default();
                mixer.mix(&words, &mut mixed);
                mixed
            })
        });
        for thread in threads {
            assert_eq!(thread.join().unwrap(), first);
        }
    });
}

#[test]
fn no_words_and_too_many() {
    let mixer = Mixer::new(&weights(SHAPES[0], 5)).unwrap();
    let mut mixed = Mixed::default();
    mixer.mix(&units(2, 48), &mut mixed);
    mixer.mix(&[], &mut mixed);
    assert!(mixed.terms.is_empty());
    assert_eq!(mixed.query, vec![0.0; 48]);
    let words = units(MOST_MIXED_WORDS + 2, 48);
    mixer.mix(&words, &mut mixed);
    let (whole, rest) = mixed.terms.split_at(MOST_MIXED_WORDS * 48);
    assert_eq!(rest, &words[MOST_MIXED_WORDS * 48..]);
    let mut cut = Mixed::default();
    mixer.mix(&words[..MOST_MIXED_WORDS * 48], &mut cut);
    assert_eq!((whole, &mixed.query), (&cut.terms[..], &cut.query));
}

#[test]
fn words_are_brought_back() {
    let dim = SHAPES[2].hidden;
    let mut weights = weights(SHAPES[2], 3);
    let words = units(5, dim);
    let mut plain = Mixed::default();
    Mixer::new(&weights).unwrap().mix(&words, &mut plain);
    weights.word_blend = 0.5;
    let mut blended = Mixed::default();
    Mixer::new(&weights).unwrap().mix(&words, &mut blended);
    let mut expected: Vec<f32> = plain
        .terms
        .iter()
        .zip(&words)
        .map(|(m, x)| m + 0.5 * x)
        .collect();
    expected.chunks_exact_mut(dim).for_each(unit);
    let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
    assert!(blended.terms.iter().zip(&expected).all(close));
    assert!(!blended.terms.iter().zip(&plain.terms).all(close));
    assert_eq!(blended.query, plain.query);
}
