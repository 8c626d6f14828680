//! Models by directory or by name of the hub; the bundled one where none is named.

use crate::hub;
use becr::Model;
use becr::models::{BUNDLED, bundled};
use std::path::Path;

/// The model in a directory or of the hub, or the bundled one.
pub(crate) fn model(directory: Option<&Path>) -> anyhow::Result<Model> {
    match directory {
        Some(directory) if directory != Path::new(BUNDLED) => {
            Ok(Model::read(hub::directory(directory)?)?)
        }
        _ => Ok(bundled()?),
    }
}

/// The model of an index: as given, or as the index remembers it.
pub(crate) fn of_index(index: &Path, given: Option<&Path>) -> anyhow::Result<Model> {
    match given {
        Some(_) => model(given),
        None => Ok(becr::models::of_index(index)?),
    }
}
