//! Fold files.

use super::{Fold, Folds};
use crate::error::{Error, quote};
use crate::lines::{OnError, for_each_line, open};
use crate::write::write_atomically;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;

const FORMAT: &str = "becr-folds";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(default)]
    always_train: Vec<String>,
    folds: Vec<Fold>,
}

impl Folds {
    /// Reads and checks fold files. The form [`Folds::write`] gives has every query's role in every
    /// fold; `seed` and `always_train` may be missing:
    ///
    /// ```
    /// let folds = becr_eval::Folds::parse(
    ///     r#"{
    ///         "format": "becr-folds",
    ///         "version": 1,
    ///         "seed": 42,
    ///         "always_train": ["151"],
    ///         "folds": [
    ///             {"train": ["3", "151"], "validation": ["2"], "test": ["1"]},
    ///             {"train": ["1", "151"], "validation": ["3"], "test": ["2"]},
    ///             {"train": ["2", "151"], "validation": ["1"], "test": ["3"]}
    ///         ]
    ///     }"#,
    ///     Vec::new(),
    /// )?;
    /// assert_eq!(folds.tested_in("2"), Some(1));
    /// # Ok::<(), becr_eval::Error>(())
    /// ```
    ///
    /// Also read: one JSON list of lists of query ids, one list a fold, as published for Robust04; and
    /// one file a fold with one query id a line. The roles then are those of [`Folds::from_groups`],
    /// and `always_train` joins the training queries; a file with roles has its own.
    ///
    /// # Errors
    /// If a file cannot be read, or does not hold consistent folds.
    pub fn read(paths: &[impl AsRef<Path>], always_train: Vec<String>) -> Result<Self, Error> {
        let [path] = paths else {
            let groups: Result<Vec<_>, _> = paths.iter().map(read_ids).collect();
            return Self::from_groups(&groups?, always_train);
        };
        let path = path.as_ref();
        let mut text = String::new();
        open(path)?
            .read_to_string(&mut text)
            .map_err(|e| Error::io("read", path, e))?;
        Self::parse(&text, always_train).map_err(|source| Error::FoldFile {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// [`Folds::read`] for the text of one JSON file.
    ///
    /// # Errors
    /// If it does not hold consistent folds.
    pub fn parse(text: &str, always_train: Vec<String>) -> Result<Self, Error> {
        if text.trim_start().starts_with('[') {
            let groups: Vec<Vec<String>> = serde_json::from_str(text).map_err(|e| not_folds(&e))?;
            return Self::from_groups(&groups, always_train);
        }
        let file: File = serde_json::from_str(text).map_err(|e| not_folds(&e))?;
        if (file.format.as_str(), file.version) != (FORMAT, VERSION) {
            return Err(Error::folds(
                format!(
                    "expected format {FORMAT} version {VERSION}, found {} version {}",
                    file.format, file.version
                ),
                "use the version of becr that wrote it, or make the folds again",
            ));
        }
        if !always_train.is_empty() {
            return Err(Error::folds(
                "the file already says which queries are always trained on",
                "leave out the separate list",
            ));
        }
        Ok(Self {
            seed: file.seed,
            ..Self::new(file.folds, file.always_train)?
        })
    }

    /// Writes the JSON form with roles, whole or not at all.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        write_atomically(path, |out| writeln!(out, "{}", self.to_json()))
    }

    /// The JSON form with roles, ready to be written to a file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let file = File {
            format: FORMAT.to_owned(),
            version: VERSION,
            seed: self.seed,
            always_train: self.always_train.clone(),
            folds: self.folds.clone(),
        };
        // Strings and numbers only: there is nothing in it that JSON cannot hold.
        serde_json::to_string_pretty(&file).unwrap_or_default()
    }
}

fn not_folds(error: &serde_json::Error) -> Error {
    Error::folds(
        format!(
            "line {}: expected an object with train, validation and test queries for each fold, or a \
             list of lists of query ids, found something else ({error})",
            error.line()
        ),
        "see `becr-lab folds make` for an example",
    )
}

/// Reads a file of query ids, one a line.
///
/// # Errors
/// If the file cannot be read, if a line holds more than an id, or if an id is repeated.
pub fn read_ids(path: impl AsRef<Path>) -> Result<Vec<String>, Error> {
    let path = path.as_ref();
    let mut ids = indexmap::IndexSet::new();
    for_each_line(open(path)?, path, OnError::Stop, |line, at| {
        let id = line.trim();
        if id.contains(char::is_whitespace) {
            return Err(at.error(
                "one query id",
                quote(line),
                "write one id a line and nothing else",
            ));
        }
        match ids.insert(id.to_owned()) {
            true => Ok(()),
            false => Err(at.error("each query id once", quote(id), "keep one of the two lines")),
        }
    })?;
    Ok(ids.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn example() -> Folds {
        Folds::split((0..9).map(|id| id.to_string()), 3, 42, vec!["x".into()]).unwrap()
    }

    #[test]
    fn files_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folds.json");
        example().write(&path).unwrap();
        assert_eq!(Folds::read(&[&path], Vec::new()).unwrap(), example());
        let error = Folds::read(&[&path], vec!["y".into()]).unwrap_err();
        assert!(
            std::error::Error::source(&error)
                .unwrap()
                .to_string()
                .contains("already says")
        );
    }

    #[test]
    fn plain_forms() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["1\n2\n", "3\r\n4\n", "\n5\n"]
            .iter()
            .enumerate()
            .map(|(i, ids)| {
                let path = folder.path().join(i.to_string());
                std::fs::write(&path, ids).unwrap();
                path
            });
        let paths: Vec<_> = paths.collect();
        let folds = Folds::read(&paths, vec!["x".into()]).unwrap();
        assert_eq!(folds.folds()[0].train, ["5", "x"]);
        let lists = r#"[["1","2"],["3","4"],["5"]]"#;
        assert_eq!(Folds::parse(lists, vec!["x".into()]).unwrap(), folds);
    }

    #[test]
    fn other_versions_and_other_files_are_refused() {
        let later = example()
            .to_json()
            .replace("\"version\": 1", "\"version\": 2");
        assert!(
            Folds::parse(&later, Vec::new())
                .unwrap_err()
                .to_string()
                .contains("found becr-folds version 2")
        );
        let error = Folds::parse("{\n\"folds\": 1}", Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("line 2: expected an object with train"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn any_text_never_panics(text: String) {
            let _ = Folds::parse(&text, Vec::new());
        }

        #[test]
        fn damaged_files_never_panic(at in any::<prop::sample::Index>(), byte in 0x20..0x7fu8) {
            let mut bytes = example().to_json().into_bytes();
            let position = at.index(bytes.len());
            bytes[position] = byte;
            let _ = Folds::parse(std::str::from_utf8(&bytes).unwrap(), Vec::new());
        }
    }
}
