//! Does the tokenizer fit the weights? Words and pieces themselves are the text crate's business.

use crate::ModelError;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The tokenizer file of a model directory, as it is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenizerFile {
    /// `tokenizer.json` if there is one, otherwise `vocab.txt`.
    pub path: PathBuf,
    /// Its bytes; they are part of the encoder's identity.
    pub bytes: Vec<u8>,
}

const SPECIAL: [&str; 3] = ["[CLS]", "[SEP]", "[UNK]"];

impl TokenizerFile {
    /// Finds the tokenizer file of a model directory and checks that its ids are rows of the embeddings.
    pub fn read(directory: &Path, vocab_size: usize) -> Result<Self, ModelError> {
        let path = ["tokenizer.json", "vocab.txt"]
            .map(|name| directory.join(name))
            .into_iter()
            .find(|p| p.is_file());
        let Some(path) = path else {
            return Err(ModelError::MissingFile {
                path: directory.join("tokenizer.json"),
                remedy: "a model needs tokenizer.json or vocab.txt beside config.json",
            });
        };
        let bytes = std::fs::read(&path).map_err(ModelError::io(&path))?;
        Self::parse(path, bytes, vocab_size)
    }

    /// Checks the bytes of a tokenizer file; the ending of `path` tells which of the two it is.
    pub(crate) fn parse(
        path: PathBuf,
        bytes: Vec<u8>,
        vocab_size: usize,
    ) -> Result<Self, ModelError> {
        let json = path.extension().is_some_and(|e| e == "json");
        let tokens = if json {
            from_json(&path, &bytes)?
        } else {
            from_lines(&path, &bytes)?
        };
        check(&path, &tokens, vocab_size)?;
        Ok(Self { path, bytes })
    }
}

fn from_json(path: &Path, bytes: &[u8]) -> Result<Vec<(String, u64)>, ModelError> {
    let value: Value = serde_json::from_slice(bytes).map_err(ModelError::json(path))?;
    let kind = value["model"]["type"].as_str();
    let (Some(vocabulary), None | Some("WordPiece")) = (value["model"]["vocab"].as_object(), kind)
    else {
        return Err(ModelError::Vocabulary {
            path: path.to_owned(),
            problem: format!(
                "not a WordPiece tokenizer (model.type is {})",
                value["model"]["type"]
            ),
        });
    };
    let added = value["added_tokens"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let added = added
        .iter()
        .filter_map(|t| Some((t["content"].as_str()?.to_owned(), t["id"].as_u64()?)));
    Ok(vocabulary
        .iter()
        .filter_map(|(token, id)| Some((token.clone(), id.as_u64()?)))
        .chain(added)
        .collect())
}

fn from_lines(path: &Path, bytes: &[u8]) -> Result<Vec<(String, u64)>, ModelError> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = 1 + bytes[..e.valid_up_to()]
            .iter()
            .filter(|&&b| b == b'\n')
            .count();
        ModelError::Vocabulary {
            path: path.to_owned(),
            problem: format!("line {line} is not UTF-8"),
        }
    })?;
    Ok(text
        .lines()
        .zip(0..)
        .map(|(token, id)| (token.trim_end().to_owned(), id))
        .collect())
}

fn check(path: &Path, tokens: &[(String, u64)], vocab_size: usize) -> Result<(), ModelError> {
    let wrong = |problem| {
        Err(ModelError::Vocabulary {
            path: path.to_owned(),
            problem,
        })
    };
    if let Some((token, id)) = tokens
        .iter()
        .max_by_key(|(_, id)| id)
        .filter(|(_, id)| *id >= vocab_size as u64)
    {
        return wrong(format!(
            "token {token:?} has id {id}, but tensor `embeddings.word_embeddings.weight` has {vocab_size} rows; \
             the tokenizer belongs to another model"
        ));
    }
    for special in SPECIAL {
        if !tokens.iter().any(|(token, _)| token == special) {
            return wrong(format!("the vocabulary has no {special}"));
        }
    }
    Ok(())
}
