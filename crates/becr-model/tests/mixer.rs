//! The mixer's file.

use becr_model::{MIXER_FILE, MixerShape, MixerWeights, ModelError, Storage};
use std::path::Path;

const SHAPE: MixerShape = MixerShape {
    hidden: 12,
    layers: 2,
    feed_forward: 20,
    heads: 3,
    positions: 5,
};

/// Weights none of whose tensors is constant.
fn weights() -> MixerWeights {
    let mut weights = MixerWeights::new(SHAPE, "encoder", 7);
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
    let weights = weights();
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
fn a_new_mixer_changes_nothing() {
    let weights = MixerWeights::new(SHAPE, "encoder", 1);
    assert!(weights.output.weight.data.iter().all(|&x| x == 0.0));
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
    // Without layers there is nothing between input and output, which is allowed; without rows of positions not.
    let mut none = written;
    none.positions.data.clear();
    none.positions.rows = 0;
    none.write(&path, Storage::F32).unwrap();
    assert!(message(12).contains("positions"), "{}", message(12));
}
