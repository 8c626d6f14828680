//! The mixer's file.

use becr_model::{MIXER_FILE, MixerEnd, MixerKind, MixerShape, MixerWeights, ModelError, Storage};
use std::path::Path;

const SHAPE: MixerShape = MixerShape {
    kind: MixerKind::PreNorm,
    hidden: 12,
    layers: 2,
    feed_forward: 20,
    heads: 3,
    positions: 5,
};

/// Weights none of whose tensors is constant.
fn weights() -> MixerWeights {
    of_shape(SHAPE)
}

fn of_shape(shape: MixerShape) -> MixerWeights {
    let mut weights = MixerWeights::new(shape, "encoder", 7);
    for (tensor, values) in weights.values_mut().into_iter().enumerate() {
        for (at, value) in values.iter_mut().enumerate() {
            *value += ((tensor * 31 + at * 7) % 17) as f32 / 50.0;
        }
    }
    weights
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(MIXER_FILE);
    let mut weights = weights();
    weights.word_blend = 0.3;
    assert_eq!(weights.shape(), SHAPE);
    weights.write(&path, Storage::F32).unwrap();
    assert_eq!(MixerWeights::read(&path, 12).unwrap(), weights);

    weights.write(&path, Storage::I8).unwrap();
    let rounded = MixerWeights::read(&path, 12).unwrap();
    assert_eq!(rounded.shape(), SHAPE);
    for (exact, rounded) in weights.tensors().iter().zip(rounded.tensors()) {
        assert_eq!((&exact.name, &exact.shape), (&rounded.name, &rounded.shape));
        for (at, (a, b)) in exact.data.iter().zip(rounded.data).enumerate() {
            // Vectors are exact; a row's steps are its largest value over 127.
            let row = exact.shape.last().unwrap();
            let most = exact.data[at / row * row..][..*row]
                .iter()
                .fold(0.0f32, |most, x| most.max(x.abs()));
            let step = if exact.shape.len() == 2 {
                most / 127.0
            } else {
                0.0
            };
            assert!((a - b).abs() <= 0.51 * step, "{}: {a} {b}", exact.name);
        }
    }
    // Rounding what is rounded changes nothing.
    rounded.write(&path, Storage::I8).unwrap();
    let again = MixerWeights::read(&path, 12).unwrap();
    for (a, b) in rounded.tensors().iter().zip(again.tensors()) {
        let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 2e-7 * a.abs();
        assert!(a.data.iter().zip(b.data).all(close), "{}", a.name);
    }
}

#[test]
fn the_encoders_layers_are_taken_over() {
    let config = becr_model::Config::new(5, 12, 3, 3, 20, 8);
    let encoder = becr_model::Weights::random(&config, 4, 5.0);
    let shape = MixerShape {
        kind: MixerKind::EncoderLayers,
        ..SHAPE
    };
    let mut weights = of_shape(shape);
    let (input, centre) = (weights.input.clone(), vec![0.25; 12]);
    weights.start_from(&encoder.layers, &centre, input, vec![0.5; 12]);
    let last = &encoder.layers[2];
    let mixed = &weights.layers[1];
    assert_eq!(mixed.qkv.weight.row(12), last.key.weight.row(0));
    assert_eq!(mixed.qkv.bias[24..], last.value.bias);
    assert_eq!((&mixed.down, &mixed.norm2), (&last.ffn_out, &last.ffn_norm));
    assert_eq!(weights.layers[0].up, encoder.layers[1].ffn_in);
    assert_eq!(weights.query, [0.5; 12]);
    let MixerEnd::EncoderLayers { residual, pooled } = &weights.end else {
        panic!("another end")
    };
    assert_eq!(
        (&residual.bias, &pooled.bias),
        (&vec![-0.25; 12], &vec![-0.25; 12])
    );
    assert_eq!(weights.shape(), shape);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(MIXER_FILE);
    weights.write(&path, Storage::F32).unwrap();
    assert_eq!(MixerWeights::read(&path, 12).unwrap(), weights);
}

#[test]
fn a_narrow_mixer_takes_the_strongest_numbers_over() {
    let config = becr_model::Config::new(5, 12, 3, 3, 20, 8);
    let mut encoder = becr_model::Weights::random(&config, 4, 5.0);
    for strong in [3, 17] {
        let last = &mut encoder.layers[2];
        last.ffn_in.weight.data[strong * 12..][..12].fill(50.0);
    }
    let mut weights = of_shape(MixerShape {
        kind: MixerKind::EncoderLayers,
        feed_forward: 2,
        ..SHAPE
    });
    let input = weights.input.clone();
    weights.start_from(&encoder.layers, &[0.0; 12], input, vec![0.5; 12]);
    let (last, mixed) = (&encoder.layers[2], &weights.layers[1]);
    assert_eq!(mixed.up.weight.data, [50.0; 24]);
    assert_eq!(mixed.up.bias, [3, 17].map(|n| last.ffn_in.bias[n]));
    for row in 0..12 {
        let whole = last.ffn_out.weight.row(row);
        assert_eq!(mixed.down.weight.row(row), [whole[3], whole[17]]);
    }
    assert_eq!(mixed.down.bias, last.ffn_out.bias);
}

#[test]
fn a_new_mixer_changes_nothing() {
    let weights = MixerWeights::new(SHAPE, "encoder", 1);
    let MixerEnd::PreNorm { output, .. } = &weights.end else {
        panic!("another end")
    };
    assert!(output.weight.data.iter().all(|&x| x == 0.0));
    assert_eq!(weights.input.weight.row(3)[3], 4.0);
    assert_ne!(weights, MixerWeights::new(SHAPE, "encoder", 2));
    assert_eq!(weights, MixerWeights::new(SHAPE, "encoder", 1));
}

#[test]
fn another_encoder_is_refused() {
    let path = Path::new("model/mixer.safetensors");
    weights().check_encoder("encoder", path).unwrap();
    let error = weights().check_encoder("other", path).unwrap_err();
    assert!(matches!(error, ModelError::MixerOfOtherEncoder { .. }));
    let message = error.to_string();
    for part in [
        "model/mixer.safetensors",
        "encoder encoder",
        "other",
        "train",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn faulty_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(MIXER_FILE);
    let message = |hidden| MixerWeights::read(&path, hidden).unwrap_err().to_string();
    let written = weights();
    written.write(&path, Storage::I8).unwrap();
    assert!(message(10).contains("heads"), "{}", message(10));
    assert!(message(24).contains("input.weight"), "{}", message(24));
    // Cut anywhere, it is an error and no panic.
    let bytes = std::fs::read(&path).unwrap();
    for cut in [0, 7, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        assert!(message(12).contains(MIXER_FILE));
    }
    // A file of something else.
    let tensors = [becr_model::Tensor {
        name: "query".into(),
        shape: vec![12],
        data: becr_model::Data::F32(&[0.0; 12]),
    }];
    becr_model::write_tensors(&path, &tensors, &[]).unwrap();
    assert!(message(12).contains("no mixer"), "{}", message(12));
    becr_model::write_tensors(&path, &tensors, &[("format", "2")]).unwrap();
    assert!(message(12).contains("newer"), "{}", message(12));
    // Shares of the words that are none.
    for share in [f32::NAN, -0.5] {
        let mut wrong = written.clone();
        wrong.word_blend = share;
        wrong.write(&path, Storage::I8).unwrap();
        assert!(message(12).contains("word_blend"), "{}", message(12));
    }
    // Without layers there is nothing between input and output, which is allowed; without rows of positions not.
    let mut none = written;
    none.positions.data.clear();
    none.positions.rows = 0;
    none.write(&path, Storage::F32).unwrap();
    assert!(message(12).contains("positions"), "{}", message(12));
}
