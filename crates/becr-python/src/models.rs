//! Models: the bundled one, one in a directory, or one of the Hugging Face hub by name.

use crate::errors::{ModelError, of_model, raised};
use becr::Model;
use becr_hub::{Hub, HubError, Name, PREFIX, Settings};
use pyo3::PyResult;
use std::path::{Path, PathBuf};

/// Reads the model; `None` is the bundled one.
pub(crate) fn read(model: Option<&Path>) -> PyResult<Model> {
    let Some(path) = model else {
        return becr::models::bundled().map_err(raised);
    };
    match path.to_str().filter(|name| name.starts_with(PREFIX)) {
        Some(name) => {
            let fetched = fetch(name).map_err(|error| ModelError::new_err(error.to_string()))?;
            Model::read(fetched).map_err(of_model)
        }
        None => Model::read(path).map_err(of_model),
    }
}

fn fetch(name: &str) -> Result<PathBuf, HubError> {
    let name: Name = name.parse()?;
    Hub::new(Settings::from_env()?).fetch(&name, &())
}
