//! Everything a training needs to go on exactly as if it had not stopped, in one file.

use super::adam::{Adam, Moments};
use crate::TrainError;
use crate::model::{Learned, Place, values};
use becr_eval::write_atomically;
use burn::tensor::Tensor;
use burn::tensor::backend::AutodiffBackend;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

/// The file's name.
pub(crate) const FILE: &str = "checkpoint.safetensors";

const STATE: &str = "becr_training";

/// Where a training stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Tells trainings apart: options, data and starting point.
    pub(crate) fingerprint: String,
    /// Steps done.
    pub(crate) step: usize,
    /// The best validation, whose weights are kept.
    pub(crate) best: Option<Best>,
    /// Validations since then.
    pub(crate) worse: usize,
}

/// The best validation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Best {
    pub(crate) step: usize,
    #[serde(with = "bits")]
    pub(crate) ndcg: f64,
}

/// A number by its bits: written as a decimal and read again it might differ in the last one.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

/// The values of all parameters, as they are visited.
pub(crate) type Values = Vec<Vec<f32>>;

/// Copies the values of all parameters.
pub(crate) fn copy<B: AutodiffBackend>(network: &mut impl Learned<B>) -> Values {
    let mut copied = Vec::new();
    network.visit(&mut |parameter| copied.push(values(parameter.value.clone())));
    copied
}

/// Puts values back.
pub(crate) fn restore<B: AutodiffBackend>(
    network: &mut impl Learned<B>,
    from: &Values,
    place: &Place<B>,
) {
    let mut from = from.iter();
    network.visit(&mut |parameter| {
        if let Some(values) = from.next() {
            let shape = parameter.value.dims();
            *parameter.value = place.tensor(values.clone(), shape).require_grad();
        }
    });
}

/// Writes a checkpoint in the place of the last one.
pub(crate) fn write<B: AutodiffBackend>(
    folder: &Path,
    state: &State,
    network: &mut impl Learned<B>,
    adam: &Adam<B::InnerBackend>,
    best: &Values,
) -> Result<(), TrainError> {
    let mut tensors: Vec<(String, [usize; 2], Vec<u8>)> = Vec::new();
    let mut at = 0;
    network.visit(&mut |parameter| {
        let Moments { mean, square } = &adam.moments[at];
        let parts = [
            ("value", values(parameter.value.clone())),
            ("mean", values(mean.clone())),
            ("square", values(square.clone())),
            ("best", best.get(at).cloned().unwrap_or_default()),
        ];
        for (part, values) in parts.into_iter().filter(|(_, values)| !values.is_empty()) {
            let bytes = values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
            tensors.push((
                format!("{part}.{}", parameter.name),
                parameter.value.dims(),
                bytes,
            ));
        }
        at += 1;
    });
    let path = folder.join(FILE);
    let broken = |problem: String| TrainError::Checkpoint {
        path: path.clone(),
        problem,
    };
    let views: Vec<(&str, TensorView<'_>)> = tensors
        .iter()
        .map(|(name, shape, bytes)| {
            let view = TensorView::new(Dtype::F32, shape.to_vec(), bytes);
            Ok((name.as_str(), view.map_err(|e| broken(e.to_string()))?))
        })
        .collect::<Result<_, TrainError>>()?;
    let state = serde_json::to_string(state).map_err(|e| broken(e.to_string()))?;
    let about = HashMap::from([(STATE.to_owned(), state)]);
    let bytes = safetensors::serialize(views, Some(about)).map_err(|e| broken(e.to_string()))?;
    Ok(write_atomically(&path, |out| out.write_all(&bytes))?)
}

/// Goes back to the checkpoint in a folder, if there is one. Returns where the training stood and its best weights.
pub(crate) fn read<B: AutodiffBackend>(
    folder: &Path,
    fingerprint: &str,
    network: &mut impl Learned<B>,
    adam: &mut Adam<B::InnerBackend>,
    place: &Place<B>,
) -> Result<Option<(State, Values)>, TrainError> {
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
    let state = about.metadata().as_ref().and_then(|about| about.get(STATE));
    let state = state.ok_or_else(|| broken("is no checkpoint of a training".into()))?;
    let state: State = serde_json::from_str(state).map_err(|e| broken(e.to_string()))?;
    if state.fingerprint != fingerprint {
        return Err(broken(
            "belongs to a training with other options, data or weights to start from; --restart starts anew"
                .into(),
        ));
    }
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| broken(e.to_string()))?;
    let load = |part: &str, name: &str, shape: [usize; 2]| -> Result<Vec<f32>, TrainError> {
        let name = format!("{part}.{name}");
        let view = tensors
            .tensor(&name)
            .map_err(|e| broken(format!("{name}: {e}")))?;
        if view.shape() != shape {
            return Err(broken(format!(
                "{name} has shape {:?}, expected {shape:?}",
                view.shape()
            )));
        }
        let (words, _) = view.data().as_chunks::<4>();
        Ok(words.iter().map(|word| f32::from_le_bytes(*word)).collect())
    };
    let mut best = Vec::new();
    let mut moments = Vec::new();
    let mut failed = None;
    network.visit(&mut |parameter| {
        let (name, shape) = (parameter.name, parameter.value.dims());
        let mut take = || -> Result<(), TrainError> {
            let value = load("value", name, shape)?;
            let inner = |values| place.tensor::<2>(values, shape).inner();
            moments.push(Moments {
                mean: inner(load("mean", name, shape)?),
                square: inner(load("square", name, shape)?),
            });
            if state.best.is_some() {
                best.push(load("best", name, shape)?);
            }
            *parameter.value = Tensor::from_inner(inner(value)).require_grad();
            Ok(())
        };
        if let Err(error) = take() {
            failed.get_or_insert(error);
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    adam.moments = moments;
    Ok(Some((state, best)))
}
