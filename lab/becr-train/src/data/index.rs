//! The index that a training reads footprints, features and candidates from.

use super::{DataError, Pool};
use crate::config::IndexConfig;
use becr_corpus::{Corpus, CorpusOptions};
use becr_encoder::Encoder;
use becr_groups::{RecordBytes, Rules};
use becr_index::first_stage::FirstStage;
use becr_index::full::{BuildOptions, FullBuild};
use becr_index::manifest::Manifest;
use becr_index::{IndexError, Observer};
use becr_lmdb::Store;
use becr_model::Model;
use becr_store::Documents;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// An open index.
pub struct TrainingIndex {
    /// Its directory.
    pub directory: PathBuf,
    /// Records, token groups, statistics.
    pub store: Store,
    /// BM25.
    pub first_stage: FirstStage,
}

/// What a training index was made from, kept beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexNote {
    /// The encoder.
    pub encoder_id: String,
    /// γ of the head to go on from, whose product with `[CLS]` vectors is in the records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<String>,
    /// The documents.
    pub pool: String,
    /// The queries whose words and pairs were encoded.
    pub queries: String,
    /// Which other words were.
    pub min_word_documents: Option<u64>,
    /// Which other pairs were.
    pub min_pair_documents: Option<u64>,
    /// Whether no document met the encoder, since a baseline and a trained encoder read texts alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub texts_only: bool,
}

/// Memory for counting words and pairs.
const COUNT_MEMORY: usize = 512 << 20;

impl TrainingIndex {
    /// Opens an index that exists and was built with a model.
    pub fn open(directory: &Path, model: &Model) -> Result<Self, DataError> {
        let index = Self::open_any(directory)?;
        let (found, expected) = (index.store.header().encoder_id.clone(), model.encoder_id());
        match found == expected {
            true => Ok(index),
            false => Err(DataError::OtherModel {
                index: directory.to_owned(),
                found,
                model: model.directory.clone(),
                expected,
            }),
        }
    }

    /// Opens an index that exists, whatever model it was built with: for what reads its texts alone.
    pub fn open_any(directory: &Path) -> Result<Self, DataError> {
        let store = Store::open(&Manifest::read(directory)?.store(directory))?;
        Ok(Self {
            directory: directory.to_owned(),
            store,
            first_stage: FirstStage::open(directory)?,
        })
    }
}

/// The making of an index.
pub(crate) struct Making<'a> {
    /// The index becomes a folder of this one.
    pub(crate) work: &'a Path,
    pub(crate) model: &'a Model,
    /// Opens the model's encoder; called only if there is something to encode.
    pub(crate) encoder: &'a dyn Fn() -> Result<Encoder, DataError>,
    /// The documents.
    pub(crate) pool: &'a Pool,
    pub(crate) config: &'a IndexConfig,
    /// Replace an index of other data.
    pub(crate) restart: bool,
    /// Only texts and candidates are asked of it: no document is encoded.
    pub(crate) texts_only: bool,
}

impl Making<'_> {
    /// Opens the index, which is built if it is not there; an interrupted build goes on. Every word and pair of
    /// `queries` gets footprints.
    pub(crate) fn run(
        &self,
        queries: Vec<String>,
        observer: &dyn Observer,
    ) -> Result<TrainingIndex, DataError> {
        let directory = self.work.join("index");
        let note = IndexNote {
            encoder_id: self.model.encoder_id(),
            gamma: (self.model.head.as_ref())
                .and_then(|head| head.others.cls.as_deref())
                .map(gamma),
            pool: self.pool.hash.clone(),
            queries: hash(&queries),
            min_word_documents: self.config.min_word_documents,
            min_pair_documents: self.config.min_pair_documents,
            texts_only: self.texts_only,
        };
        if Manifest::is_in(&directory) {
            match IndexNote::read(self.work) {
                Some(found) if found == note => return TrainingIndex::open(&directory, self.model),
                _ if self.restart => {}
                _ => return Err(DataError::OtherIndex(directory)),
            }
        }
        let encoder = (self.encoder)()?;
        let build = FullBuild {
            model: self.model,
            encoder: &encoder,
            identity: Some(self.pool.hash.clone()),
            options: BuildOptions {
                keep_text: true,
                group_list: None,
                rules: rules(self.model, self.config),
                query_log: queries,
                memory: COUNT_MEMORY,
                shard: None,
                // Composed documents have a record, and cost nothing.
                documents: match self.texts_only {
                    true => Documents::Composed,
                    false => Documents::Encoded,
                },
                mode: becr_model::QueryMode::Composed,
                folders: Vec::new(),
                allow_empty: false,
            },
        };
        let corpus = Corpus::open(&[&self.pool.path], &CorpusOptions::default())?;
        let documents = corpus;
        match build.run(documents, &directory, self.restart, observer) {
            Err(IndexError::Unfinished(_)) => return Err(DataError::OtherIndex(directory)),
            built => built?,
        };
        note.write(self.work)?;
        TrainingIndex::open(&directory, self.model)
    }
}

/// More documents than there are. One more, and pairs would not even be counted.
const UNREACHABLE: u64 = u64::MAX - 1;

/// What the queries ask for is kept anyway; of the rest, what is in enough documents.
fn rules(model: &Model, config: &IndexConfig) -> Rules {
    let shape = becr_encoder::Shape::new(&model.config);
    let bytes = shape.map_or(0, |shape| shape.group_bytes());
    Rules {
        min_word_documents: config.min_word_documents.unwrap_or(UNREACHABLE),
        min_pair_documents: config.min_pair_documents.unwrap_or(UNREACHABLE),
        vocabulary_words_only: false,
        budget: None,
        record_bytes: RecordBytes::new(bytes as u64, 0),
        ..Rules::default()
    }
}

fn gamma(weights: &[f32]) -> String {
    let mut hash = Xxh3::new();
    for weight in weights {
        hash.update(&weight.to_le_bytes());
    }
    format!("{:032x}", hash.digest128())
}

fn hash(queries: &[String]) -> String {
    let mut hash = Xxh3::new();
    for query in queries {
        hash.update(query.as_bytes());
        hash.update(b"\n");
    }
    format!("{:032x}", hash.digest128())
}

impl IndexNote {
    const FILE: &'static str = "index.json";

    /// The note in a work directory, if there is one that can be read.
    pub fn read(work: &Path) -> Option<Self> {
        let bytes = std::fs::read(work.join(Self::FILE)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn write(&self, work: &Path) -> Result<(), DataError> {
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from);
        let path = work.join(Self::FILE);
        let written = text.and_then(|text| std::fs::write(&path, text));
        written.map_err(DataError::io(&path, "cannot write"))
    }
}
