//! The directory of a trained model: written aside, then put in place.
//!
//! A training that dies while it writes must be able to go on, so what is in the directory is at any time a whole model
//! or, without `config.json`, none.

use crate::TrainError;
use crate::baseline::is_trained_from;
use becr_model::Model;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file that makes a directory a model.
pub(crate) const CONFIG: &str = "config.json";

/// In the head's `about`: the encoder that a trained one was before.
pub(crate) const TRAINED_FROM: &str = "trained_from_encoder";

/// Where the files of `output` are written first, empty: within it, so that it is on the same file system whatever
/// `output` is.
pub(crate) fn partial(output: &Path) -> Result<PathBuf, TrainError> {
    let partial = output.join(".partial");
    match fs::remove_dir_all(&partial) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(TrainError::io(&partial)(e)),
        _ => Ok(partial),
    }
}

/// Moves the files of `partial` into `output`, `last` behind all others: what is there without it is nothing. Other files
/// that are there, such as a model card, stay.
pub(crate) fn publish(partial: &Path, output: &Path, last: &str) -> Result<(), TrainError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(partial).map_err(TrainError::io(partial))? {
        names.push(entry.map_err(TrainError::io(partial))?.file_name());
    }
    names.sort_by_key(|name| name == last);
    let old = output.join(last);
    match fs::remove_file(&old) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(TrainError::io(&old)(e)),
        _ => {}
    }
    for name in names {
        let (from, to) = (partial.join(&name), output.join(&name));
        let synced = File::open(&from).and_then(|file| file.sync_all());
        let moved = synced.and_then(|()| fs::rename(&from, &to));
        moved.map_err(TrainError::io(&to))?;
    }
    fs::remove_dir(partial).map_err(TrainError::io(partial))
}

/// Whether a training of `base` may write to `output`: there is no model, or one that a training of `base` made.
pub(crate) fn is_free(output: &Path, base: &Model) -> bool {
    if !output.join(CONFIG).exists() {
        return true;
    }
    let base = base.encoder_id();
    if is_trained_from(output, &base) {
        return true;
    }
    Model::read(output).is_ok_and(|found| {
        let head = found.head.as_ref();
        let from = head.and_then(|head| head.about.get(TRAINED_FROM)?.as_str());
        from == Some(&base) || found.encoder_id() == base
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_there_only_when_all_of_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("model");
        let aside = || partial(&output).unwrap();
        let partial = aside();
        let put = |folder: &Path, name: &str, text: &str| {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(name), text).unwrap();
        };
        put(&output, "README.md", "a card");
        put(&output, "config.json", "old");
        for name in ["config.json", "head.json", "model.safetensors"] {
            put(&partial, name, "new");
        }
        // The head cannot be put in place: a folder has its name.
        put(&output.join("head.json"), "file", "");
        publish(&partial, &output, CONFIG).unwrap_err();
        assert!(!output.join("config.json").exists(), "there is no model");
        assert!(partial.join("config.json").exists());
        fs::remove_dir_all(output.join("head.json")).unwrap();
        // What a training left that died is none of the next one's.
        put(&partial, "tokenizer.json", "old");
        assert!(!aside().exists());
        for name in ["config.json", "head.json", "model.safetensors"] {
            put(&partial, name, "new");
        }
        publish(&partial, &output, CONFIG).unwrap();
        assert!(!partial.exists() && !output.join("tokenizer.json").exists());
        for (name, text) in [
            ("README.md", "a card"),
            ("config.json", "new"),
            ("head.json", "new"),
            ("model.safetensors", "new"),
        ] {
            assert_eq!(fs::read_to_string(output.join(name)).unwrap(), text);
        }
    }
}
