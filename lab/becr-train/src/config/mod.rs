//! The file that `becr-lab train` takes: which model, which data, how to learn, where to put the result.
//!
//! A TOML file. Every key has a default but the few that name files; a key that nobody knows is an error with its
//! line. Paths are relative to the folder of the file. The files in `configs/` show every section with comments.

mod check;
mod mixer;
#[cfg(test)]
mod tests;

pub use mixer::MixerConfig;

use crate::baseline::BaselineConfig;
use crate::data::NegativeKind;
use crate::{EncoderMode, TrainOptions};
use becr_model::{HyperplaneKind, Layers};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What names the model that is built into the command, in the place of a directory.
pub const BUNDLED: &str = "bundled";

/// What the names of the Hugging Face hub begin with; the command puts directories in their places.
pub const HUB: &str = "hf:";

/// A whole training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The model to start from.
    #[serde(default)]
    pub model: ModelConfig,
    /// Where the result goes.
    pub output: OutputConfig,
    /// The index that footprints and features come from.
    #[serde(default)]
    pub index: IndexConfig,
    /// What to learn to rank from.
    #[serde(default)]
    pub data: DataConfig,
    /// What decides when to stop.
    #[serde(default)]
    pub validation: ValidationConfig,
    /// Cross-validation instead of one training.
    #[serde(default)]
    pub folds: Option<FoldsConfig>,
    /// How to learn.
    #[serde(default)]
    pub train: TrainOptions,
    /// Train one of the models that the paper compares BECR with, in the place of BECR.
    #[serde(default)]
    pub baseline: Option<BaselineConfig>,
    /// Train the mixer of composed queries, and nothing else.
    #[serde(default)]
    pub mixer: Option<MixerConfig>,
}

/// The model to start from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// A model directory, [`BUNDLED`], or `hf:owner/name[@revision]` for a model of the Hugging Face hub. With an index
    /// that exists, the default is the model it was built with.
    pub base: Option<PathBuf>,
    /// Hidden states to keep, `"all"`, `5`, `1` or a list; as in the base if not said.
    pub layers: Option<Layers>,
    /// Bits of a footprint; as in the base if not said.
    pub bits: Option<usize>,
    /// Whether footprints of documents are relative to their vectors; as in the base if not said.
    pub relative: Option<bool>,
    /// Seed of the hyperplanes; as in the base if not said.
    pub hyperplanes_seed: Option<u64>,
    /// How hyperplanes are drawn, `"orthogonal"` or `"gaussian"`; as in the base if not said.
    pub hyperplanes: Option<HyperplaneKind>,
    /// `false` takes the base's centres away: vectors are compared as they are, the paper's way.
    pub centre: Option<bool>,
    /// Largest distance of two words that form a pair; as in the base if not said.
    pub window: Option<usize>,
    /// How the encoder's weights are stored.
    pub weights: StoredWeights,
    /// A `head.json` to go on from; a new head if not said. The encoder it was trained with must be the same.
    pub head: Option<PathBuf>,
}

/// How the encoder's weights are stored in the trained model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredWeights {
    /// The file of the base, byte for byte.
    #[default]
    Keep,
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    F16,
    /// 8-bit integers with a scale per row.
    Int8,
}

/// Where the result goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputConfig {
    /// The trained model's directory, fit for `becr index --model`.
    pub model: PathBuf,
    /// Index, checkpoints, logs and reports of the training; `MODEL.training` if not said.
    pub work: Option<PathBuf>,
}

/// The index that footprints and features come from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IndexConfig {
    /// An index that exists, used as it is; without one, the documents of all sets are indexed in the work directory.
    pub path: Option<PathBuf>,
    /// Beside the words of the training queries, keep words that are in so many documents; none if not said.
    pub min_word_documents: Option<u64>,
    /// Beside the pairs of the training queries, keep pairs that are in so many documents; none if not said.
    pub min_pair_documents: Option<u64>,
}

/// What to learn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// Sampling, splitting, dropping of words and choice of negatives are drawn from this.
    #[serde(default = "one")]
    pub seed: u64,
    /// Longer queries lose words at random until they have this many.
    #[serde(default = "max_query_words")]
    pub max_query_words: usize,
    /// Documents of pairs are cut after so many words; not at all if not said.
    #[serde(default)]
    pub max_document_words: Option<usize>,
    /// A document that shares this part of its words with a relevant one (Jaccard) is no negative.
    #[serde(default = "near_duplicate")]
    pub near_duplicate: f64,
    /// Learn only from relevant documents that the first stage finds too, as in a real re-ranking.
    #[serde(default)]
    pub retrieved_only: bool,
    /// How many candidates the first stage gives: for validation, and to take negatives from.
    #[serde(default = "candidates")]
    pub candidates: usize,
    /// Where negatives come from, unless a set says otherwise.
    #[serde(default)]
    pub negatives: Negatives,
    /// The sets.
    #[serde(default)]
    pub sets: Vec<SetConfig>,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            seed: one(),
            max_query_words: max_query_words(),
            max_document_words: None,
            near_duplicate: near_duplicate(),
            retrieved_only: false,
            candidates: candidates(),
            negatives: Negatives::default(),
            sets: Vec::new(),
        }
    }
}

fn one() -> u64 {
    1
}

fn max_query_words() -> usize {
    32
}

fn near_duplicate() -> f64 {
    0.8
}

fn candidates() -> usize {
    100
}

/// One source of queries with relevant documents: either `pairs`, or `queries` and `qrels` with a `corpus`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetConfig {
    /// Name, in reports and before document ids.
    pub name: String,
    /// A file of pairs, one JSON object a line: `id`, `query`, `title`, `text`.
    pub pairs: Option<PathBuf>,
    /// Files or folders of documents; left out with an index that exists.
    #[serde(default)]
    pub corpus: Vec<PathBuf>,
    /// PageRank by document id, one `id score` a line: the feature `pagerank`.
    pub pagerank: Option<PathBuf>,
    /// Spam scores by document id: the feature `spam`.
    pub spam: Option<PathBuf>,
    /// Documents whose spam score is below this are left out.
    pub spam_threshold: Option<f32>,
    /// A file of queries.
    pub queries: Option<PathBuf>,
    /// Judgements of the queries.
    pub qrels: Option<PathBuf>,
    /// MS MARCO's triples in the place of judgements: query, relevant and irrelevant document a line, by their ids. The
    /// irrelevant ones are negatives of the kind `judged`.
    pub triples: Option<PathBuf>,
    /// A run to take candidates and BM25 negatives from, instead of our own first stage: TREC's, or MS MARCO's `top1000`.
    pub run: Option<PathBuf>,
    /// What its queries are for.
    #[serde(default)]
    pub role: Role,
    /// At most so many pairs or queries, chosen at random; siblings stay together.
    pub cap: Option<usize>,
    /// How likely a query loses words at random, for queries that are longer than people's, such as titles.
    #[serde(default)]
    pub drop_words: f64,
    /// Leave faulty lines out and count them, instead of stopping at the first.
    #[serde(default)]
    pub skip_faults: bool,
    /// Where its negatives come from.
    pub negatives: Option<Negatives>,
}

/// What the queries of a set are for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Most train, some validate; with folds, each has every role once.
    #[default]
    Split,
    /// All train, in every fold.
    Train,
    /// All validate.
    Validation,
}

/// How many negatives of each kind a query gets; training picks from these in every epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Negatives {
    /// From the candidates of the first stage, at random.
    pub bm25: usize,
    /// From the judgements: documents of grade 0 or less.
    pub judged: usize,
    /// Documents whose id has the same part before `#`.
    pub siblings: usize,
    /// Any document.
    pub random: usize,
    /// Relevant documents of queries that come near this one in training.
    pub in_batch: usize,
}

impl Default for Negatives {
    fn default() -> Self {
        Self {
            bm25: 15,
            judged: 0,
            siblings: 0,
            random: 0,
            in_batch: 0,
        }
    }
}

impl Negatives {
    /// The counts by kind, in the order in which they are picked.
    pub(crate) fn by_kind(self) -> [(NegativeKind, usize); 5] {
        [
            (NegativeKind::Judged, self.judged),
            (NegativeKind::Siblings, self.siblings),
            (NegativeKind::Bm25, self.bm25),
            (NegativeKind::InBatch, self.in_batch),
            (NegativeKind::Random, self.random),
        ]
    }
}

/// What decides when to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValidationConfig {
    /// Part of the queries that validate instead of training, chosen by a hash of their words.
    pub share: f64,
    /// At most so many.
    pub queries: usize,
}

impl Default for ValidationConfig {
    fn default() -> Self {
        Self {
            share: 0.05,
            queries: 500,
        }
    }
}

/// Cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FoldsConfig {
    /// How many folds.
    pub count: usize,
    /// Seed of the split.
    pub seed: u64,
    /// Folds made before with `becr-lab folds make`, instead of new ones.
    pub file: Option<PathBuf>,
    /// Measures of the table, as `becr eval` takes them.
    pub measures: String,
}

impl Default for FoldsConfig {
    fn default() -> Self {
        Self {
            count: becr_eval::Folds::DEFAULT_COUNT,
            seed: 42,
            file: None,
            measures: "nDCG@10 P@20 RR@10 AP".into(),
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no TOML, or has a key or a value that nobody knows.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        message: String,
    },
    /// The values do not go together.
    #[error("{}: {message}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
}

impl Config {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Io {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Checks the text of a file; `path` is named in errors, and relative paths start at its folder.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let mut config: Self = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start).min(text.len());
            ConfigError::Syntax {
                path: path.to_owned(),
                line: text.as_bytes()[..start]
                    .iter()
                    .filter(|&&b| b == b'\n')
                    .count()
                    + 1,
                message: error.message().replace('\n', " "),
            }
        })?;
        config.check().map_err(|message| ConfigError::Contents {
            path: path.to_owned(),
            message,
        })?;
        config.resolve(path.parent().unwrap_or(Path::new("")));
        Ok(config)
    }

    /// Where the index, checkpoints, logs and reports go.
    pub fn work(&self) -> PathBuf {
        let beside = || {
            let mut name = self.output.model.file_name().unwrap_or_default().to_owned();
            name.push(".training");
            self.output.model.with_file_name(name)
        };
        self.output.work.clone().unwrap_or_else(beside)
    }

    /// Whether documents are read as texts, so that an index of the training's own need not encode them: by a baseline,
    /// and by an encoder that is trained.
    pub(crate) fn reads_texts(&self) -> bool {
        self.baseline.is_some() || self.train.model.encoder == EncoderMode::Trained
    }

    /// The negatives of a set.
    pub fn negatives(&self, set: usize) -> Negatives {
        self.data.sets[set].negatives.unwrap_or(self.data.negatives)
    }
}
