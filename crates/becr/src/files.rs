//! The small files of an index, beside store and first stage: in its directory, or in memory for an index in a cluster.

use crate::Error;
use becr_model::{Config, HEAD_FILE, Head, MIXER_FILE, MixerWeights};
use becr_text::pieces::WordPieces;
use std::path::PathBuf;

/// Where head, tokenizer, configuration and mixer are read from.
pub(crate) enum IndexFiles {
    /// The index's directory.
    Folder(PathBuf),
    /// What came out of a cluster: the index's address, and contents by path inside the index.
    #[cfg(feature = "redis")]
    Memory(PathBuf, Vec<becr_index::SmallFile>),
}

impl IndexFiles {
    /// The path of a file of the model, for errors if it is in memory.
    fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn folder(&self) -> PathBuf {
        match self {
            Self::Folder(dir) => dir.join("model"),
            #[cfg(feature = "redis")]
            Self::Memory(address, _) => address.join("model"),
        }
    }

    /// The bytes of a file of the model, if they are in memory.
    #[cfg(feature = "redis")]
    fn in_memory(&self, name: &str) -> Option<&[u8]> {
        let Self::Memory(_, files) = self else {
            return None;
        };
        let path = PathBuf::from("model").join(name);
        let found = files
            .iter()
            .find(|(known, _)| std::path::Path::new(known) == path);
        found.map(|(_, bytes)| &bytes[..])
    }

    #[cfg(not(feature = "redis"))]
    fn in_memory(&self, _: &str) -> Option<&[u8]> {
        None
    }

    pub(crate) fn has_head(&self) -> bool {
        self.in_memory(HEAD_FILE).is_some() || self.path(HEAD_FILE).is_file()
    }

    /// The head that the index was built with; `None` if its model had none.
    pub(crate) fn head(&self) -> Result<Option<Head>, Error> {
        let path = self.path(HEAD_FILE);
        match self.in_memory(HEAD_FILE) {
            Some(bytes) => Ok(Some(Head::from_json(bytes, &path)?)),
            None if path.is_file() => Ok(Some(Head::read(&path)?)),
            None => Ok(None),
        }
    }

    pub(crate) fn word_pieces(&self) -> Result<WordPieces, Error> {
        let name = |file| self.path(file).display().to_string();
        let (json, vocabulary) = ("tokenizer.json", "vocab.txt");
        if let Some(bytes) = self.in_memory(json) {
            return Ok(WordPieces::from_json(bytes, &name(json))?);
        }
        if let Some(bytes) = self.in_memory(vocabulary) {
            return Ok(WordPieces::from_vocab(bytes, &name(vocabulary))?);
        }
        Ok(WordPieces::from_dir(&self.folder())?)
    }

    pub(crate) fn config(&self) -> Result<Config, Error> {
        let path = self.path("config.json");
        let Some(bytes) = self.in_memory("config.json") else {
            return Ok(Config::read(&path)?);
        };
        let text = std::str::from_utf8(bytes).map_err(|error| Error::Config {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        Ok(Config::parse(text, &path)?)
    }

    /// The mixer's weights, if the model has one, and where they are.
    pub(crate) fn mixer(&self) -> Result<Option<(Config, MixerWeights, PathBuf)>, Error> {
        let path = self.path(MIXER_FILE);
        let bytes = self.in_memory(MIXER_FILE);
        if bytes.is_none() && !path.is_file() {
            return Ok(None);
        }
        let config = self.config()?;
        let weights = match bytes {
            Some(bytes) => MixerWeights::parse(bytes, &path, config.hidden_size)?,
            None => MixerWeights::read(&path, config.hidden_size)?,
        };
        Ok(Some((config, weights, path)))
    }

    /// The layers that footprints are of.
    pub(crate) fn layers(&self) -> Result<Vec<usize>, Error> {
        let path = self.path("config.json");
        let layers = self.config()?.kept_layers();
        layers.map_err(|reason| Error::Config { path, reason })
    }
}
