//! burn's CPU backend against the native encoder, on small random models.

use becr_encoder::{Backend, Batch, EncodeError, NativeEncoder, Wanted};
use becr_encoder_burn::{BurnEncoder, Cpu, Shapes};
use becr_model::{Centres, Config, Layers, Weights};

fn config(layers: Layers, bits: Option<usize>) -> Config {
    let mut config = Config::new(200, 48, 4, 3, 96, 64);
    let mut settings = config.settings();
    settings.layers = layers;
    settings.bits = bits;
    config.becr = Some(settings);
    config
}

struct Pair {
    native: NativeEncoder,
    burn: BurnEncoder<Cpu>,
}

fn pair(config: &Config, shapes: Shapes) -> Pair {
    let mut weights = Weights::random(config, 7, 0.2);
    let spread = |seed: usize| (0..5 * 48).map(move |i| ((i * seed) % 17) as f32 / 8.0 - 1.0);
    weights.centres = Some(Centres {
        documents: spread(5).collect(),
        groups: spread(7).collect(),
    });
    Pair {
        burn: BurnEncoder::new(config, &weights, Default::default(), shapes).unwrap(),
        native: NativeEncoder::new(config, weights).unwrap(),
    }
}

/// Sequences of mixed lengths, from a single token to all positions.
fn batch() -> Batch {
    let lengths = [5, 64, 1, 17, 33, 2, 64, 9, 16, 48, 3];
    Batch::from_iter(lengths.iter().enumerate().map(|(i, &length)| {
        (0..length)
            .map(|j| (i * 31 + j * j * 7 + 11) as u32 % 200)
            .collect::<Vec<_>>()
    }))
}

/// Two tokens of every sequence, its whole, and pieces of words.
fn spans(batch: &Batch) -> Wanted {
    let mut wanted = Wanted::default();
    for sequence in batch.sequences() {
        let (start, end) = (sequence.start, sequence.end);
        wanted.footprints.push(start..start + 1);
        wanted.footprints.push(end - 1..end);
        wanted.footprints.push(start + (end - start) / 2..end);
        wanted.vectors.push(start..end);
        wanted.vectors.push(start..start + 1);
    }
    wanted
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

fn equal_bits(a: &[u32], b: &[u32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let different: u32 = a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum();
    1.0 - f64::from(different) / (32 * a.len()) as f64
}

fn both_shapes() -> [Shapes; 2] {
    [Shapes::exact(100), Shapes::fixed(100)]
}

#[test]
fn hidden_states_agree_in_padded_batches() {
    let config = config(Layers::All, Some(64));
    let batch = batch();
    for shapes in both_shapes() {
        let Pair { native, burn } = pair(&config, shapes);
        let expected = native.hidden_states(&batch).unwrap();
        let found = burn.hidden_states(&batch).unwrap();
        assert_eq!(found.layers.len(), 5);
        for (found, expected) in found.layers.iter().zip(&expected.layers) {
            let difference = largest_difference(found, expected);
            assert!(difference < 2e-4, "{difference}");
        }
    }
}

#[test]
fn only_kept_layers_come_back() {
    let config = config(Layers::Chosen(vec![0, 2]), Some(64));
    let Pair { native, burn } = pair(&config, Shapes::exact(64));
    let batch = batch();
    let found = burn.hidden_states(&batch).unwrap();
    let expected = native.hidden_states(&batch).unwrap();
    assert_eq!(found.layers.len(), 2);
    for (found, expected) in found.layers.iter().zip(&expected.layers) {
        assert!(largest_difference(found, expected) < 2e-4);
    }
}

#[test]
fn footprints_and_means_of_spans_agree() {
    let config = config(Layers::Five, Some(96));
    let batch = batch();
    let wanted = spans(&batch);
    for shapes in both_shapes() {
        let Pair { native, burn } = pair(&config, shapes);
        let expected = native.encode(&batch, &wanted).unwrap();
        let found = burn.encode(&batch, &wanted).unwrap();
        assert!(largest_difference(&found.vectors, &expected.vectors) < 2e-4);
        let share = equal_bits(&found.footprints, &expected.footprints);
        assert!(share > 0.9995, "{share}");
    }
}

#[test]
fn footprints_of_single_tokens_agree() {
    let config = config(Layers::All, Some(256));
    let Pair { native, burn } = pair(&config, Shapes::fixed(200));
    let batch = batch();
    // Backwards, so that the order of the answer is that of the question.
    let wanted = Wanted {
        footprints: (0..batch.tokens()).rev().map(|i| i..i + 1).collect(),
        ..Wanted::default()
    };
    let expected = native.encode(&batch, &wanted).unwrap();
    let found = burn.encode(&batch, &wanted).unwrap();
    let share = equal_bits(&found.footprints, &expected.footprints);
    assert!(share > 0.9995, "{share}");
    assert!(found.vectors.is_empty());
    // Their vectors, as relative footprints are made of.
    let wanted = Wanted {
        vectors: wanted.footprints,
        ..Wanted::default()
    };
    let expected = native.encode(&batch, &wanted).unwrap();
    let found = burn.encode(&batch, &wanted).unwrap();
    assert!(largest_difference(&found.vectors, &expected.vectors) < 2e-4);
    assert!(found.footprints.is_empty());
}

#[test]
fn threads_may_share_an_encoder() {
    let config = config(Layers::Last, Some(64));
    let Pair { burn, .. } = pair(&config, Shapes::fixed(100));
    let (batch, alone) = (batch(), burn.encode(&batch(), &spans(&batch())).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(burn.encode(&batch, &spans(&batch)).unwrap(), alone));
        }
    });
}

#[test]
fn nothing_in_nothing_out() {
    let config = config(Layers::All, Some(64));
    let Pair { burn, .. } = pair(&config, Shapes::fixed(100));
    let empty = Batch::new();
    let encoded = burn.encode(&empty, &Wanted::default()).unwrap();
    assert!(encoded.footprints.is_empty() && encoded.vectors.is_empty());
    let states = burn.hidden_states(&empty).unwrap();
    assert!(states.layers.len() == 5 && states.layers.iter().all(Vec::is_empty));
    let encoded = burn.encode(&batch(), &Wanted::default()).unwrap();
    assert!(encoded.footprints.is_empty() && encoded.vectors.is_empty());
}

#[test]
fn what_cannot_be_encoded_is_refused() {
    let Pair { burn, .. } = pair(&config(Layers::All, None), Shapes::exact(100));
    let batch = batch();
    let raw = burn.encode(&batch, &spans(&batch)).unwrap_err();
    assert!(matches!(raw, EncodeError::RawVectors), "{raw}");
    let long = Batch::from_iter([vec![1; 65]]);
    let refused = burn.hidden_states(&long).unwrap_err();
    assert!(matches!(refused, EncodeError::TooLong { tokens: 65, .. }));
    let unknown = Batch::from_iter([vec![1, 200]]);
    let refused = burn.hidden_states(&unknown).unwrap_err();
    assert!(matches!(refused, EncodeError::UnknownToken { id: 200, .. }));
    let outside = Wanted {
        vectors: vec![0..1, 0..10_000],
        ..Wanted::default()
    };
    let refused = burn.encode(&batch, &outside).unwrap_err();
    assert!(matches!(refused, EncodeError::BadSpan { .. }));
    let crossing = Wanted {
        vectors: vec![0..1, 0..6],
        ..Wanted::default()
    };
    let refused = burn.encode(&batch, &crossing).unwrap_err().to_string();
    assert!(refused.contains("crosses"), "{refused}");
}
