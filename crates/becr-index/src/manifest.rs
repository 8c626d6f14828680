//! `becr.json`: what an index directory says of itself.

use crate::files::{self, FileSum};
use crate::{IndexError, durable};
use becr_basics::Folder;
use becr_encoder::Precision;
use becr_model::QueryMode;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The format this program writes and reads.
pub const FORMAT: u32 = 1;

const FILE: &str = "becr.json";
/// The document store's folder, and the first stage's.
const FOLDERS: [&str; 2] = ["store", "first-stage"];

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
    /// Which queries it was built for: composed ones, and encoded ones anyway; or encoded ones alone, without token
    /// groups.
    #[serde(default, skip_serializing_if = "is_composed")]
    pub mode: QueryMode,
    /// How many times the contents were written anew: each time goes into folders of its own, which this number names,
    /// and the manifest that names them takes the place of the one before in one step.
    #[serde(default, skip_serializing_if = "is_first")]
    pub edition: u64,
    /// The folders whose files the index holds: what a sync compares it with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<Folder>,
    /// The files that do not change once the index is built. Indexes of earlier versions list none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileSum>,
}

/// Ends a manifest: the checksum of everything before it.
const CHECKSUM: &str = ",\n  \"checksum\": \"";

fn is_composed(mode: &QueryMode) -> bool {
    *mode == QueryMode::Composed
}

fn is_first(edition: &u64) -> bool {
    *edition == 0
}

/// The model of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelReference {
    /// Identity of encoder, tokenizer, layers, bits and hyperplanes: what the index is bound to.
    pub encoder_id: String,
    /// The directory it was read from, for encoding more documents, as an absolute path; or the name of a model that
    /// was in none, such as one built into the program.
    pub directory: PathBuf,
    /// What its linear layers computed in; documents added later and encoded queries follow it. Indexes of before
    /// precisions could be chosen do not say: they are f32.
    #[serde(default, skip_serializing_if = "is_f32")]
    pub precision: Precision,
}

fn is_f32(precision: &Precision) -> bool {
    *precision == Precision::F32
}

impl Default for Manifest {
    fn default() -> Self {
        let written_by = concat!("becr ", env!("CARGO_PKG_VERSION")).into();
        Self {
            format: FORMAT,
            written_by,
            model: None,
            mode: QueryMode::Composed,
            edition: 0,
            folders: Vec::new(),
            files: Vec::new(),
        }
    }
}

impl Manifest {
    /// What the encoder of this index computes in.
    pub fn precision(&self) -> Precision {
        self.model
            .as_ref()
            .map_or(Precision::F32, |model| model.precision)
    }

    /// Refuses an encoder that computes in another precision than the index in `dir` was built in.
    pub fn check_precision(&self, dir: &Path, asked: Precision) -> Result<(), IndexError> {
        match self.precision() {
            has if has == asked => Ok(()),
            has => Err(IndexError::Precision {
                path: dir.to_owned(),
                has,
                asked,
            }),
        }
    }

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
        let path = dir.join(FILE);
        let bytes = fs::read(&path).map_err(|e| match crate::staging::unfinished(dir) {
            Some(unfinished) => unfinished,
            // It may well be an index: only its owner can tell.
            None if e.kind() == io::ErrorKind::PermissionDenied => {
                IndexError::io(&path, "cannot read")(e)
            }
            None if !dir.exists() => not_an_index("there is nothing of this name".to_owned()),
            None if dir.is_file() => not_an_index("it is a file".to_owned()),
            None if e.kind() == io::ErrorKind::NotFound => not_an_index(format!("no {FILE} in it")),
            None => not_an_index(format!("{FILE}: {e}")),
        })?;
        Self::parse(&bytes, dir)
    }

    /// Reads the bytes of the manifest of `dir`, which may be elsewhere than on a disk, and refuses other formats.
    pub fn parse(bytes: &[u8], dir: &Path) -> Result<Self, IndexError> {
        let not_an_index = |reason: String| IndexError::NotAnIndex {
            path: dir.to_owned(),
            reason,
        };
        let value: serde_json::Value =
            serde_json::from_slice(bytes).map_err(|e| not_an_index(format!("{FILE}: {e}")))?;
        if let Some(checksum) = value.get("checksum")
            && checksum.as_str() != summed(bytes).map(files::checksum).as_deref()
        {
            return Err(IndexError::DamagedFile {
                path: dir.join(FILE),
                reason: "its bytes are not those that were written".into(),
            });
        }
        let manifest: Self =
            serde_json::from_value(value).map_err(|e| not_an_index(format!("{FILE}: {e}")))?;
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

    /// Writes the manifest into `dir`, in the place of the one that is there, in one step.
    pub fn write(&self, dir: &Path) -> Result<(), IndexError> {
        let path = dir.join(FILE);
        durable::replace(&path, &self.bytes()?).map_err(IndexError::io(&path, "cannot write"))
    }

    /// The manifest as its file has it.
    pub fn bytes(&self) -> Result<Vec<u8>, IndexError> {
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::from);
        let text = text.map_err(IndexError::io(Path::new(FILE), "cannot write"))?;
        Ok(with_checksum(text))
    }

    /// Lists the files of a finished build and writes the manifest.
    pub(crate) fn seal(self, dir: &Path) -> Result<(), IndexError> {
        let files = files::list(dir, &self)?;
        Self { files, ..self }.write(dir)
    }

    /// The file itself, by which a reader notices that contents were written anew.
    pub fn file(dir: &Path) -> PathBuf {
        dir.join(FILE)
    }

    /// The folder of the document store.
    pub fn store(&self, dir: &Path) -> PathBuf {
        dir.join(folder(FOLDERS[0], self.edition))
    }

    /// The folder of the first stage.
    pub fn first_stage(&self, dir: &Path) -> PathBuf {
        dir.join(folder(FOLDERS[1], self.edition))
    }

    /// Names the folders of a finished build as they were while it went on, if it was given an edition already.
    pub(crate) fn undo_renumbering(dir: &Path) -> Result<(), IndexError> {
        for base in FOLDERS {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let first = dir.join(base);
                if edition_of(&name, base).is_some_and(|edition| edition > 0) && !first.exists() {
                    fs::rename(entry.path(), &first)
                        .map_err(IndexError::io(&first, "cannot rename"))?;
                }
            }
        }
        match Self::is_in(dir) {
            true => Self {
                edition: 0,
                ..Self::read(dir)?
            }
            .write(dir),
            false => Ok(()),
        }
    }

    /// Removes folders of other editions: of earlier ones, which nobody will open any more, and of one whose writer
    /// was killed. To be called by the one writer; whoever has an earlier one open keeps its files.
    pub fn clear_other_editions(&self, dir: &Path) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let edition = FOLDERS.iter().find_map(|base| edition_of(&name, base));
            if edition.is_some_and(|edition| edition != self.edition) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// A manifest's text with its checksum as the last entry.
fn with_checksum(mut text: Vec<u8>) -> Vec<u8> {
    // Off comes the end of the line and the brace.
    text.truncate(text.len() - 2);
    let checksum = files::checksum(&text);
    text.extend_from_slice(format!("{CHECKSUM}{checksum}\"\n}}").as_bytes());
    text
}

/// The part of a manifest's text that its checksum is over.
fn summed(text: &[u8]) -> Option<&[u8]> {
    let length = CHECKSUM.len() + 16 + "\"\n}".len();
    let (before, rest) = text.split_at_checked(text.len().checked_sub(length)?)?;
    rest.starts_with(CHECKSUM.as_bytes()).then_some(before)
}

fn folder(base: &str, edition: u64) -> String {
    match edition {
        0 => base.to_owned(),
        edition => format!("{base}-{edition}"),
    }
}

/// The edition that a folder's name tells, if it is one of `base`.
fn edition_of(name: &str, base: &str) -> Option<u64> {
    match name.strip_prefix(base)? {
        "" => Some(0),
        rest => rest.strip_prefix('-')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_other_editions_go() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "store",
            "store-1",
            "first-stage-1",
            "first-stage-2",
            "store-x",
            "model",
        ] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let manifest = Manifest {
            edition: 1,
            ..Manifest::default()
        };
        manifest.clear_other_editions(dir.path());
        let mut left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["first-stage-1", "model", "store-1", "store-x"]);
        assert_eq!(
            Manifest::default().store(dir.path()),
            dir.path().join("store")
        );
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = Manifest {
            edition: 3,
            ..Manifest::default()
        };
        fs::write(dir.path().join("data"), "bytes").unwrap();
        manifest.seal(dir.path()).unwrap();
        let sealed = Manifest::read(dir.path()).unwrap();
        assert_eq!(sealed.files.len(), 1);
        let path = dir.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            fs::write(&path, bytes).unwrap();
            match Manifest::read(dir.path()) {
                Ok(read) => assert_eq!(read, sealed, "bit {at}"),
                Err(error) => assert!(error.to_string().contains("becr.json"), "{error}"),
            }
        }
    }

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
