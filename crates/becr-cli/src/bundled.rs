//! The model that is built into the program: commands use it where no other is named.
//!
//! Indexes remember the directory of their model, to encode more documents with it. Those of the bundled model
//! remember [`NAME`] instead, which is never a directory's: directories are remembered by their absolute paths.

use crate::hub;
use anyhow::Context;
use becr_index::manifest::Manifest;
use becr_model::{Model, ModelFiles};
use std::path::Path;

/// What stands for the directory of the bundled model.
pub(crate) const NAME: &str = "bundled:becr-small";

const FILES: ModelFiles<'static> = ModelFiles {
    config: include_str!("../../../models/becr-small/config.json"),
    tokenizer: include_bytes!("../../../models/becr-small/tokenizer.json"),
    weights: include_bytes!("../../../models/becr-small/model.safetensors"),
    head: include_bytes!("../../../models/becr-small/head.json"),
};

/// The model in a directory or of the hub, or the bundled one.
pub(crate) fn model(directory: Option<&Path>) -> anyhow::Result<Model> {
    let model = match directory {
        Some(directory) if directory != Path::new(NAME) => Model::read(hub::directory(directory)?),
        _ => Model::from_files(Path::new(NAME), &FILES),
    };
    Ok(model?)
}

/// The model of an index: as given, or as the index remembers it.
pub(crate) fn model_of_index(index: &Path, given: Option<&Path>) -> anyhow::Result<Model> {
    if given.is_some() {
        return model(given);
    }
    let reference = Manifest::read(index)?.model.context(
        "this is a lexical index; build one with a model to re-rank with it or to add to it",
    )?;
    model(Some(&reference.directory))
        .context("cannot read the model of this index; name its directory with --model")
}

/// Writes the bundled model to a directory, for those who need its files.
#[cfg(feature = "train")]
pub(crate) fn unpack(directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)?;
    for (name, bytes) in [
        ("config.json", FILES.config.as_bytes()),
        ("tokenizer.json", FILES.tokenizer),
        ("model.safetensors", FILES.weights),
        ("head.json", FILES.head),
    ] {
        let path = directory.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
