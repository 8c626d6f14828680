//! The section `[tune]` of the file that `becr tune` takes.

use crate::TuneError;
use becr_model::QueryMode;
use becr_rank::LEXICAL_FEATURES;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Fewer queries than this for every fold say nothing.
const LEAST_QUERIES_OF_A_FOLD: usize = 2;

/// What to tune, to what, and how carefully.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The index that candidates and their features come from. It stays as it is.
    pub index: PathBuf,
    /// The head to start from; the index's own if not said.
    pub head: Option<PathBuf>,
    /// The file to write the new head to.
    pub out: PathBuf,
    /// How queries are read; as the index and its head say if not said.
    pub mode: Option<QueryMode>,
    /// How many candidates a query has.
    #[serde(default = "candidates")]
    pub candidates: usize,
    /// Lexical features that may join the head, with weights from 0.
    #[serde(default = "features")]
    pub features: Vec<String>,
    /// ρ for 25 queries: how strongly weights are pulled towards those of the starting head. More queries say more, so that
    /// ρ falls with their number.
    #[serde(default = "pull")]
    pub pull: f64,
    /// How much of the way to the fitted weights is taken, from 0 to 1.
    #[serde(default = "step")]
    pub step: f64,
    /// How many folds measure the gain.
    #[serde(default = "folds")]
    pub folds: usize,
    /// How often the queries are divided into folds anew.
    #[serde(default = "repeats")]
    pub repeats: usize,
    /// Seed of the folds.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Queries with judgements.
    pub sets: Vec<SetConfig>,
}

/// Queries with judgements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetConfig {
    /// A file of queries.
    pub queries: PathBuf,
    /// Judgements of the queries.
    pub qrels: PathBuf,
    /// A run to take candidates from, instead of our own first stage.
    pub run: Option<PathBuf>,
    /// Leave faulty lines out and count them, instead of stopping at the first.
    #[serde(default)]
    pub skip_faults: bool,
}

fn candidates() -> usize {
    100
}

fn features() -> Vec<String> {
    let names = [
        "title_bm25_sum",
        "body_bm25_sum",
        "title_proximity_avg",
        "body_proximity_avg",
    ];
    names.map(str::to_owned).to_vec()
}

fn pull() -> f64 {
    0.01
}

fn step() -> f64 {
    0.5
}

fn folds() -> usize {
    5
}

fn repeats() -> usize {
    3
}

fn seed() -> u64 {
    1
}

/// A whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tune: Config,
}

impl Config {
    /// Reads and checks a file; `None` for one without a section `[tune]`, which is for another kind of training.
    pub fn read(path: &Path) -> Result<Option<Self>, TuneError> {
        let text = std::fs::read_to_string(path).map_err(|source| TuneError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Checks the text of a file; `path` is named in errors, and relative paths start at its folder.
    pub fn parse(text: &str, path: &Path) -> Result<Option<Self>, TuneError> {
        let syntax = |error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start).min(text.len());
            let before = &text.as_bytes()[..start];
            TuneError::Syntax {
                path: path.to_owned(),
                line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
                message: error.message().replace('\n', " "),
            }
        };
        let table: toml::Table = toml::from_str(text).map_err(syntax)?;
        if !table.contains_key("tune") {
            return Ok(None);
        }
        let File { tune: mut config } = toml::from_str(text).map_err(syntax)?;
        config.check().map_err(|message| TuneError::Contents {
            path: path.to_owned(),
            message,
        })?;
        config.resolve(path.parent().unwrap_or(Path::new("")));
        Ok(Some(config))
    }

    /// Queries with something to learn from that there must be.
    pub(crate) fn least_queries(&self) -> usize {
        self.folds * LEAST_QUERIES_OF_A_FOLD
    }

    fn check(&self) -> Result<(), String> {
        if self.sets.is_empty() {
            return Err("[[tune.sets]]: name queries and qrels of at least one set".into());
        }
        if self.out.file_name().is_none() {
            return Err("[tune] out: name a file for the new head".into());
        }
        if self.candidates < 2 {
            let found = self.candidates;
            return Err(format!(
                "[tune] candidates: expected at least 2, found {found}"
            ));
        }
        if self.folds < 3 {
            let found = self.folds;
            return Err(format!("[tune] folds: expected at least 3, found {found}"));
        }
        if self.repeats == 0 {
            return Err("[tune] repeats: expected at least 1, found 0".into());
        }
        if !self.pull.is_finite() || self.pull <= 0.0 {
            let found = self.pull;
            return Err(format!(
                "[tune] pull: expected a number above 0, found {found}"
            ));
        }
        if !(self.step > 0.0 && self.step <= 1.0) {
            let found = self.step;
            return Err(format!(
                "[tune] step: expected a number above 0 and at most 1, found {found}"
            ));
        }
        let unknown = |name: &&String| !LEXICAL_FEATURES.contains(&name.as_str());
        match self.features.iter().find(unknown) {
            Some(name) => Err(format!(
                "[tune] features: there is no feature {name:?}, only {}",
                LEXICAL_FEATURES.join(", ")
            )),
            None => Ok(()),
        }
    }

    fn resolve(&mut self, folder: &Path) {
        let own = [
            Some(&mut self.index),
            self.head.as_mut(),
            Some(&mut self.out),
        ];
        own.into_iter()
            .flatten()
            .for_each(|path| *path = folder.join(&*path));
        for set in &mut self.sets {
            let files = [
                Some(&mut set.queries),
                Some(&mut set.qrels),
                set.run.as_mut(),
            ];
            files
                .into_iter()
                .flatten()
                .for_each(|path| *path = folder.join(&*path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETS: &str = "[[tune.sets]]\nqueries = 'q.tsv'\nqrels = 'qrels'\n";

    fn parse(text: &str) -> Result<Option<Config>, String> {
        Config::parse(text, Path::new("own/fine-tune.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_example_is_a_configuration() {
        let text = include_str!("../configs/fine-tune.toml");
        let config = parse(text).unwrap().unwrap();
        assert_eq!(config.index, Path::new("own/own.becr"));
        assert_eq!(config.sets[0].queries, Path::new("own/queries.tsv"));
        assert_eq!((config.pull, config.step, config.folds), (0.01, 0.5, 5));
    }

    #[test]
    fn other_files_are_left_to_others() {
        assert_eq!(parse("[model]\nbase = 'x'\n").unwrap(), None);
    }

    #[test]
    fn faults_are_named() {
        let tune = |more: &str| parse(&format!("[tune]\nindex = 'i'\nout = 'o'\n{more}\n{SETS}"));
        assert!(tune("").unwrap().is_some());
        for (more, told) in [
            ("step = 0", "[tune] step: expected a number above 0"),
            ("pull = -1.0", "[tune] pull: expected"),
            ("folds = 2", "[tune] folds: expected at least 3, found 2"),
            (
                "features = ['bm26']",
                "there is no feature \"bm26\", only title_tfidf_max",
            ),
            ("stepp = 1", "own/fine-tune.toml:4: unknown field `stepp`"),
        ] {
            let error = tune(more).unwrap_err();
            assert!(error.contains(told), "{more}: {error}");
        }
        let error = parse("[tune]\nindex = 'i'\nout = 'o'\nsets = []\n").unwrap_err();
        assert!(error.contains("[[tune.sets]]"), "{error}");
        let error = parse("[tune").unwrap_err();
        assert!(error.starts_with("own/fine-tune.toml:1: "), "{error}");
    }
}
