//! The model that a training starts from.

use super::DataError;
use crate::config::{Config, StoredWeights};
use crate::{EncoderMode, output};
use becr_index::manifest::Manifest;
use becr_model::{Head, Layers, Model, Similarity, Storage};
use std::path::{Path, PathBuf};

/// The model to train, as it will be served: its layers, bits and stored weights are those of the configuration. For an
/// index that exists it is the model that the index was built with; else a copy in `work`.
pub(crate) fn base(config: &Config, work: &Path) -> Result<Model, DataError> {
    let directory = directory(config)?;
    let mut model = Model::read(&directory)?;
    if config.index.path.is_some() {
        return Ok(model);
    }
    let wanted = &config.model;
    let mut settings = model.config.settings();
    if let Some(layers) = &wanted.layers {
        settings.layers = layers.clone();
    }
    settings.bits = wanted.bits.or(settings.bits);
    settings.relative = wanted.relative.unwrap_or(settings.relative);
    settings.hyperplanes.seed = wanted.hyperplanes_seed.unwrap_or(settings.hyperplanes.seed);
    settings.hyperplanes.kind = wanted.hyperplanes.unwrap_or(settings.hyperplanes.kind);
    settings.window = wanted.window.unwrap_or(settings.window);
    if config.baseline.is_some() {
        // Nothing reads the footprints of its index: as few as can be.
        (settings.layers, settings.bits, settings.relative) = (Layers::Last, Some(32), false);
    }
    // An index only has sums of cosines. What a trained encoder was compared by is written with it.
    settings.similarity = Similarity::default();
    model.config.becr = Some(settings);
    let copy = work.join("model");
    // The file of the base has its centres.
    let uncentred = wanted.centre == Some(false) && model.weights.centres.take().is_some();
    if uncentred {
        (model.head, model.mixer, model.words) = (None, None, None);
    }
    match wanted.weights {
        StoredWeights::Keep if uncentred => model.write(&copy, Storage::F32)?,
        StoredWeights::Keep => model.copy(&copy)?,
        StoredWeights::F32 => model.write(&copy, Storage::F32)?,
        StoredWeights::F16 => model.write(&copy, Storage::F16)?,
        StoredWeights::Int8 => model.write(&copy, Storage::I8)?,
    }
    Ok(Model::read(&copy)?)
}

fn directory(config: &Config) -> Result<PathBuf, DataError> {
    if let Some(base) = &config.model.base {
        return Ok(base.clone());
    }
    let index = config.index.path.as_deref().unwrap_or(Path::new(""));
    match Manifest::read(index)?.model {
        Some(model) => Ok(model.directory),
        None => Err(becr_index::IndexError::Lexical(index.to_owned()).into()),
    }
}

/// The head to go on from. It must be of this encoder and, where it has γ and the encoder stays as it is, of the index
/// that exists: records have γ·CLS, so that another γ than that of the index would be one thing in training and another
/// once it is served.
pub(crate) fn head(config: &Config, model: &Model) -> Result<Option<Head>, DataError> {
    let Some(path) = &config.model.head else {
        return Ok(None);
    };
    let head = Head::read(path)?;
    let expected = model.encoder_id();
    if head.encoder_id != expected {
        return Err(DataError::OtherHead {
            head: path.clone(),
            found: head.encoder_id,
            model: model.directory.clone(),
            expected,
        });
    }
    let is_frozen = config.train.model.encoder == EncoderMode::Frozen;
    if let (Some(gamma), Some(index), true) = (&head.others.cls, &config.index.path, is_frozen) {
        let indexed = becr_index::head_of(index)?.and_then(|head| head.others.cls);
        if indexed.as_ref() != Some(gamma) {
            return Err(DataError::OtherGamma {
                head: path.clone(),
                index: index.clone(),
            });
        }
    }
    Ok(Some(head))
}

/// Refuses an output directory that holds another model.
pub(crate) fn check_output(output: &Path, model: &Model) -> Result<(), DataError> {
    match output::is_free(output, model) {
        true => Ok(()),
        false => Err(DataError::OutputTaken(output.to_owned())),
    }
}
