//! Building a full index: token groups chosen and encoded, documents encoded and stored.
//!
//! ```text
//! corpus ─ count words and pairs ─ choose token groups ─ encode them ─► store
//! corpus ─ encode documents ─────────────────────────────────────────► store, first stage
//! ```
//!
//! Or, with [`Documents::Composed`], no document meets the encoder:
//!
//! ```text
//! corpus ─ compose documents from the stored token groups ────────────► store, first stage
//! ```
//!
//! Every stage leaves its result in `DIR.partial`, and an interrupted build goes on from there.

mod composed;
mod documents;
mod encoding;
mod groups;

pub(crate) use documents::BatchWriter;
pub use encoding::DocumentEncoder;

use crate::IndexError;
use crate::head::head_of_model;
use crate::live::LiveIndex;
use crate::manifest::{Manifest, ModelReference};
use crate::staging::Staging;
use becr_corpus::Corpus;
use becr_encoder::Encoder;
use becr_groups::{GroupList, Rules};
use becr_model::{HEAD_FILE, Head, Model};
use becr_store::{Documents, Header, Shape};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The chosen token groups, inside an index.
pub(crate) const GROUP_LIST: &str = "groups.list";

/// The model's small files, inside an index.
pub(crate) const MODEL: &str = "model";

/// What to build, and from what.
pub struct FullBuild<'a> {
    /// The model: its configuration and identity.
    pub model: &'a Model,
    /// Its encoder, on whatever device.
    pub encoder: &'a Encoder,
    /// Opens the corpus; called once for each pass over it.
    pub corpus: &'a dyn Fn() -> Result<Corpus, IndexError>,
    /// What tells this corpus from another: paths, sizes, dates.
    pub corpus_identity: String,
    /// How.
    pub options: BuildOptions,
}

/// How to build a full index.
#[derive(Debug, Clone, Serialize)]
pub struct BuildOptions {
    /// Keep titles and texts for display.
    pub keep_text: bool,
    /// A finished list of token groups to use instead of choosing them, as shards do.
    pub group_list: Option<PathBuf>,
    /// Which groups to choose.
    #[serde(skip)]
    pub rules: Rules,
    /// Queries to learn from which groups are asked for: id and text.
    #[serde(skip)]
    pub query_log: Vec<String>,
    /// Memory for counting, in bytes.
    #[serde(skip)]
    pub memory: usize,
    /// Build only this part of the documents.
    pub shard: Option<Shard>,
    /// Encode the documents, or compose them from the token groups.
    pub documents: Documents,
}

/// One of several parts of a corpus: documents go by their place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Shard {
    /// Which part, from 0.
    pub part: u64,
    /// Of how many.
    pub of: u64,
}

impl Shard {
    /// True if the document at this place of the corpus belongs to the part.
    pub fn has(self, place: u64) -> bool {
        place % self.of == self.part
    }
}

/// The stages of a build, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Stage {
    Counting,
    EncodingGroups,
    EncodingDocuments,
    Merging,
    Finishing,
}

/// Told how a build goes.
pub trait Observer {
    /// A stage begins; `total` is the number of its steps, if known.
    fn begin(&self, stage: Stage, corpus: Option<&Corpus>, total: Option<u64>);
    /// Some steps are done.
    fn advance(&self, steps: u64);
    /// The corpus was read to its end; here is what was passed over.
    fn read(&self, corpus: &Corpus);
}

/// What a build made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FullSummary {
    /// Documents in the index.
    pub documents: u64,
    /// Of these, done by an earlier, interrupted try.
    pub resumed: u64,
    /// WordPieces of all documents.
    pub tokens: u64,
    /// Token groups in the index.
    pub groups: u64,
    /// Size on disk.
    pub bytes: u64,
}

impl FullBuild<'_> {
    /// Builds the index at `target`, or goes on with a build that was interrupted.
    pub fn run(
        &self,
        target: &Path,
        overwrite: bool,
        observer: &dyn Observer,
    ) -> Result<FullSummary, IndexError> {
        let encoder_id = self.model.encoder_id();
        let shape = self.encoder.backend().shape();
        let head = head_of_model(self.model, &encoder_id, shape)?;
        let fingerprint = self.fingerprint(&encoder_id, head);
        let staging = Staging::resume(target, overwrite, &fingerprint)?;
        let dir = staging.path();
        self.copy_model_files(dir)?;
        let list = self.group_list(dir, observer)?;
        let header = self.header(&encoder_id)?;
        let mut index = LiveIndex::build(dir, &header)?;
        self.encode_groups(&index, &list, observer)?;
        let resumed = self.encode_documents(&mut index, observer)?;
        observer.begin(Stage::Finishing, None, None);
        let snapshot = index.store().snapshot()?;
        let (totals, groups) = (snapshot.totals()?, snapshot.group_count()?);
        drop(snapshot);
        index.finish()?;
        self.finish(dir, encoder_id)?;
        let bytes = crate::build::size_of_tree(dir);
        staging.publish()?;
        Ok(FullSummary {
            documents: totals.documents,
            resumed,
            tokens: totals.tokens,
            groups,
            bytes,
        })
    }

    fn header(&self, encoder_id: &str) -> Result<Header, IndexError> {
        let shape = self.encoder.backend().shape();
        let bits = shape
            .bits
            .ok_or_else(|| IndexError::RawModel(self.model.directory.clone()))?;
        let layers = shape.layers.len() as u16;
        let window = self.model.config.settings().window;
        let vector = shape.vector_words() as u16;
        let shape = Shape {
            layers,
            bits: bits as u16,
            vector,
        };
        Ok(Header {
            documents: self.options.documents,
            ..Header::new(encoder_id, shape, window)
        })
    }

    /// What must be the same for one try to go on with another's work.
    fn fingerprint(&self, encoder_id: &str, head: Option<&Head>) -> String {
        let rules = (&self.options.rules, &self.options.query_log);
        serde_json::json!({
            "encoder": encoder_id,
            "gamma": head.map(|head| &head.others.cls),
            "corpus": self.corpus_identity,
            "options": self.options,
            "rules": rules,
        })
        .to_string()
    }

    /// The list of groups: given, left by an earlier try, or chosen now.
    fn group_list(&self, dir: &Path, observer: &dyn Observer) -> Result<GroupList, IndexError> {
        let path = dir.join(GROUP_LIST);
        if let Some(given) = &self.options.group_list {
            GroupList::open(given)?;
            let copied = std::fs::read(given).and_then(|bytes| std::fs::write(&path, bytes));
            copied.map_err(IndexError::io(given, "cannot copy the list of groups"))?;
            return Ok(GroupList::open(&path)?);
        }
        match GroupList::open(&path) {
            Ok(list) => Ok(list),
            Err(_) => self.choose_groups(dir, &path, observer),
        }
    }

    /// Writes the model's small files, its head among them, which the documents' γ·CLS is computed with.
    fn copy_model_files(&self, dir: &Path) -> Result<(), IndexError> {
        let folder = dir.join(MODEL);
        std::fs::create_dir_all(&folder).map_err(IndexError::io(&folder, "cannot create"))?;
        self.model.config.write(&folder.join("config.json"))?;
        let tokenizer = &self.model.tokenizer;
        let path = folder.join(tokenizer.path.file_name().unwrap_or_default());
        std::fs::write(&path, &tokenizer.bytes).map_err(IndexError::io(&path, "cannot write"))?;
        if let Some(head) = &self.model.head {
            head.write(&folder.join(HEAD_FILE))?;
        }
        Ok(())
    }

    /// The manifest, which makes a directory an index.
    fn finish(&self, dir: &Path, encoder_id: String) -> Result<(), IndexError> {
        // A model that was not read from a directory is known by its name.
        let directory = match std::path::absolute(&self.model.directory) {
            Ok(absolute) if absolute.is_dir() => absolute,
            _ => self.model.directory.clone(),
        };
        let model = Some(ModelReference {
            encoder_id,
            directory,
        });
        Manifest {
            model,
            ..Manifest::default()
        }
        .write(dir)
    }
}
