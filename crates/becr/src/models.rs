//! Models: the bundled one, and the one that an index was built with.
//!
//! Indexes remember the directory of their model, to encode more documents with it. Those of the bundled model
//! remember [`BUNDLED`] instead, which is never a directory's: directories are remembered by their absolute paths.

use crate::Error;
use becr_encoder::Precision;
use becr_groups::Rules;
use becr_index::manifest::Manifest;
use becr_model::{Model, QueryMode, TokenGroups};
use std::path::Path;

/// What stands for the directory of the bundled model.
pub const BUNDLED: &str = "bundled:becr-small";

/// The model that is built into the program.
#[cfg(feature = "bundled")]
pub fn bundled() -> Result<Model, Error> {
    let files = becr_model::ModelFiles {
        config: becr_small::CONFIG,
        tokenizer: becr_small::TOKENIZER,
        weights: becr_small::WEIGHTS,
        head: becr_small::HEAD,
        mixer: becr_small::MIXER,
        words: becr_small::WORDS,
    };
    Ok(Model::from_files(Path::new(BUNDLED), &files)?)
}

/// Its files, by name, for those who need them in a directory.
#[cfg(feature = "bundled")]
pub fn bundled_files() -> Vec<(&'static str, &'static [u8])> {
    let mut files = vec![
        ("config.json", becr_small::CONFIG.as_bytes()),
        ("tokenizer.json", becr_small::TOKENIZER),
        ("model.safetensors", becr_small::WEIGHTS),
        (becr_model::HEAD_FILE, becr_small::HEAD),
    ];
    files.extend(becr_small::MIXER.map(|bytes| (becr_model::MIXER_FILE, bytes)));
    files.extend(becr_small::WORDS.map(|bytes| (becr_model::WORDS_FILE, bytes)));
    files
}

/// The model that is built into the program.
#[cfg(not(feature = "bundled"))]
pub fn bundled() -> Result<Model, Error> {
    Err(Error::NoModel)
}

/// The token groups that an index of a model has unless said otherwise: as its `config.json` says. Where that says nothing:
/// every word and no pair if the model mixes words or reads queries with its encoder, and the paper's choice for others.
pub fn rules(model: &Model) -> Rules {
    let mode = model.head.as_ref().and_then(|head| head.mode);
    let mixes = model.mixer.is_some() || mode == Some(QueryMode::Encoded);
    match model.config.settings().token_groups {
        Some(TokenGroups::Words) => Rules::words(),
        Some(TokenGroups::Pairs) => Rules::default(),
        None if mixes => Rules::words(),
        None => Rules::default(),
    }
}

/// What a new index of a model is encoded in unless said otherwise: as its `config.json` says, and f32 where that says nothing.
pub fn precision(model: &Model) -> Precision {
    model.config.settings().precision.unwrap_or_default()
}

/// The model that the index in a directory was built with, as the index remembers it.
pub fn of_index(index: &Path) -> Result<Model, Error> {
    of_manifest(index, &Manifest::read(index)?)
}

pub(crate) fn of_manifest(index: &Path, manifest: &Manifest) -> Result<Model, Error> {
    let Some(reference) = &manifest.model else {
        return Err(Error::Lexical(index.to_owned()));
    };
    if reference.directory == Path::new(BUNDLED) {
        return bundled();
    }
    Model::read(&reference.directory).map_err(|source| Error::ModelOfIndex {
        index: index.to_owned(),
        source: Box::new(source),
    })
}
