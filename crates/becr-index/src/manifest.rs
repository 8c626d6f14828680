//! `becr.json`: what an index directory says of itself.

use crate::IndexError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The format this program writes and reads.
pub const FORMAT: u32 = 1;

const FILE: &str = "becr.json";

/// The contents of `becr.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the directory's format.
    pub format: u32,
    /// The program that wrote it, for people.
    pub written_by: String,
    /// The model whose encoder made the footprints; none for a lexical index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelReference>,
}

/// The model of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelReference {
    /// Identity of encoder, tokenizer, layers, bits and hyperplanes: what the index is bound to.
    pub encoder_id: String,
    /// The directory it was read from, for encoding more documents, as an absolute path; or the name of a model that
    /// was in none, such as one built into the program.
    pub directory: std::path::PathBuf,
}

impl Default for Manifest {
    fn default() -> Self {
        let written_by = concat!("becr ", env!("CARGO_PKG_VERSION")).into();
        Self {
            format: FORMAT,
            written_by,
            model: None,
        }
    }
}

impl Manifest {
    /// True if `dir` says it is an index, of whatever version.
    pub fn is_in(dir: &Path) -> bool {
        dir.join(FILE).is_file()
    }

    /// Reads the manifest of `dir` and refuses other formats.
    pub fn read(dir: &Path) -> Result<Self, IndexError> {
        let not_an_index = |reason: String| IndexError::NotAnIndex {
            path: dir.to_owned(),
            reason,
        };
        let bytes = fs::read(dir.join(FILE)).map_err(|e| not_an_index(format!("{FILE}: {e}")))?;
        let manifest: Self =
            serde_json::from_slice(&bytes).map_err(|e| not_an_index(format!("{FILE}: {e}")))?;
        if manifest.format != FORMAT {
            let path = dir.to_owned();
            return Err(IndexError::Format {
                path,
                found: manifest.format,
                expected: FORMAT,
            });
        }
        Ok(manifest)
    }

    /// Writes the manifest into `dir`.
    pub fn write(&self, dir: &Path) -> Result<(), IndexError> {
        let path = dir.join(FILE);
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::from);
        text.and_then(|text| fs::write(&path, text))
            .map_err(IndexError::io(&path, "cannot write"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_refusals() {
        let dir = tempfile::tempdir().unwrap();
        let read = || Manifest::read(dir.path()).map_err(|e| e.to_string());
        assert!(read().unwrap_err().contains("not a BECR index"));
        Manifest::default().write(dir.path()).unwrap();
        assert_eq!(read().unwrap(), Manifest::default());
        Manifest {
            format: 99,
            ..Default::default()
        }
        .write(dir.path())
        .unwrap();
        assert!(read().unwrap_err().contains("format 99"));
        fs::write(dir.path().join(FILE), "{").unwrap();
        assert!(read().unwrap_err().contains("becr.json"));
    }
}
