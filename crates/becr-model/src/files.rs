//! A model that is in memory, such as one built into a program.

use crate::{
    Config, HEAD_FILE, Head, MIXER_FILE, MixerWeights, Model, ModelError, TokenizerFile,
    WORDS_FILE, Weights, WordVectors,
};
use std::path::Path;

/// The contents of a model's files.
#[derive(Debug, Clone, Copy)]
pub struct ModelFiles<'a> {
    /// `config.json`.
    pub config: &'a str,
    /// `tokenizer.json`.
    pub tokenizer: &'a [u8],
    /// `model.safetensors`.
    pub weights: &'a [u8],
    /// `head.json`.
    pub head: &'a [u8],
    /// `mixer.safetensors`, if there is one.
    pub mixer: Option<&'a [u8]>,
    /// `words.bin`, if there is one.
    pub words: Option<&'a [u8]>,
}

impl Model {
    /// Reads and checks a model from memory; `name` stands for its directory, in errors and in the indexes that are
    /// built with it.
    pub fn from_files(name: &Path, files: &ModelFiles<'_>) -> Result<Self, ModelError> {
        let config = Config::parse(files.config, &name.join("config.json"))?;
        let tokenizer = TokenizerFile::parse(
            name.join("tokenizer.json"),
            files.tokenizer.to_vec(),
            config.vocab_size,
        )?;
        let weights = Weights::parse(files.weights, &name.join("model.safetensors"), &config)?;
        let head = Head::from_json(files.head, &name.join(HEAD_FILE))?;
        let mixer = name.join(MIXER_FILE);
        let read = |bytes| MixerWeights::parse(bytes, &mixer, config.hidden_size);
        let mixer = files.mixer.map(read).transpose()?;
        let read = |bytes| WordVectors::parse(bytes, &name.join(WORDS_FILE));
        let words = files.words.map(read);
        Ok(Self {
            directory: name.to_owned(),
            config,
            tokenizer,
            weights,
            head: Some(head),
            mixer,
            words: words.transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;

    const TOKENIZER: &str = r###"{"model": {"type": "WordPiece", "vocab": {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "a": 3}}}"###;

    #[test]
    fn memory_and_disk_give_the_same_model() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let config = Config::new(4, 8, 1, 2, 16, 32);
        config.write(&path("config.json")).unwrap();
        std::fs::write(path("tokenizer.json"), TOKENIZER).unwrap();
        let weights = Weights::random(&config, 1, 1.0);
        weights
            .write(&path("model.safetensors"), Storage::I8)
            .unwrap();
        Head::blank("x", 2).write(&path("head.json")).unwrap();
        let shape = crate::MixerShape {
            kind: crate::MixerKind::PreNorm,
            hidden: 8,
            layers: 1,
            feed_forward: 16,
            heads: 2,
            positions: 4,
        };
        let mixer = MixerWeights::new(shape, "x", 1);
        mixer.write(&path(MIXER_FILE), Storage::I8).unwrap();
        let mixer = std::fs::read(path(MIXER_FILE)).unwrap();
        let read = Model::read(folder.path()).unwrap();

        let config = std::fs::read_to_string(path("config.json")).unwrap();
        let weights = std::fs::read(path("model.safetensors")).unwrap();
        let head = std::fs::read(path("head.json")).unwrap();
        let files = ModelFiles {
            head: &head,
            config: &config,
            tokenizer: TOKENIZER.as_bytes(),
            weights: &weights,
            mixer: Some(&mixer),
            words: None,
        };
        let model = Model::from_files(Path::new("built-in"), &files).unwrap();
        assert_eq!(model.encoder_id(), read.encoder_id());
        assert_eq!((&model.config, &model.head), (&read.config, &read.head));
        assert!(model.head.is_some() && model.mixer.is_some());
        assert_eq!(model.mixer, read.mixer);
        let cut = ModelFiles {
            weights: &weights[..100],
            ..files
        };
        let error = Model::from_files(Path::new("built-in"), &cut).unwrap_err();
        assert!(
            error.to_string().starts_with("built-in/model.safetensors"),
            "{error}"
        );
    }
}
