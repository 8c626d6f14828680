//! What a training of a mixer goes on from, in one file.

use crate::TrainError;
use becr_eval::write_atomically;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::HashMap;
use std::path::Path;

const FILE: &str = "checkpoint.safetensors";
const FINGERPRINT: &str = "becr_mixer_training";
const STEP: &str = "step";

/// Where a training stands.
pub(super) struct State {
    /// Steps done.
    pub(super) step: usize,
    pub(super) values: Vec<f32>,
    pub(super) mean: Vec<f32>,
    pub(super) square: Vec<f32>,
}

/// Writes a checkpoint in the place of the last one.
pub(super) fn write(folder: &Path, fingerprint: &str, state: &State) -> Result<(), TrainError> {
    let path = folder.join(FILE);
    let broken = |problem: String| TrainError::Checkpoint {
        path: path.clone(),
        problem,
    };
    let bytes =
        |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let parts = [
        ("values", bytes(&state.values)),
        ("mean", bytes(&state.mean)),
        ("square", bytes(&state.square)),
    ];
    let mut views = Vec::new();
    for (name, bytes) in &parts {
        let view = TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes);
        views.push((*name, view.map_err(|e| broken(e.to_string()))?));
    }
    let about = HashMap::from([
        (FINGERPRINT.to_owned(), fingerprint.to_owned()),
        (STEP.to_owned(), state.step.to_string()),
    ]);
    let bytes = safetensors::serialize(views, Some(about)).map_err(|e| broken(e.to_string()))?;
    Ok(write_atomically(&path, |out| out.write_all(&bytes))?)
}

/// The checkpoint in a folder, if there is one, of `count` numbers.
pub(super) fn read(
    folder: &Path,
    fingerprint: &str,
    count: usize,
) -> Result<Option<State>, TrainError> {
    let path = folder.join(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let broken = |problem: String| TrainError::Checkpoint {
        path: path.clone(),
        problem,
    };
    let bytes = std::fs::read(&path).map_err(TrainError::io(&path))?;
    let (_, about) = SafeTensors::read_metadata(&bytes).map_err(|e| broken(e.to_string()))?;
    let about = about.metadata().clone().unwrap_or_default();
    if about.get(FINGERPRINT).map(String::as_str) != Some(fingerprint) {
        return Err(broken(
            "belongs to a training with other options, texts or encoder; --restart starts anew"
                .into(),
        ));
    }
    let step = about.get(STEP).and_then(|step| step.parse().ok());
    let step = step.ok_or_else(|| broken("says no step".into()))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| broken(e.to_string()))?;
    let load = |name: &str| -> Result<Vec<f32>, TrainError> {
        let view = tensors
            .tensor(name)
            .map_err(|e| broken(format!("{name}: {e}")))?;
        let (words, _) = view.data().as_chunks::<4>();
        match words.len() == count {
            true => Ok(words.iter().map(|word| f32::from_le_bytes(*word)).collect()),
            false => Err(broken(format!(
                "{name} has {} numbers, expected {count}",
                words.len()
            ))),
        }
    };
    Ok(Some(State {
        step,
        values: load("values")?,
        mean: load("mean")?,
        square: load("square")?,
    }))
}
