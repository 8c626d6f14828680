//! Building a full index: token groups chosen and encoded, documents encoded and stored.
//!
//! ```text
//! documents ─ count words and pairs, spool ─ choose token groups ─ encode them ─► store
//! spool ─ encode documents ──────────────────────────────────────────────────► store, first stage
//! ```
//!
//! Or, with [`Documents::Composed`], no document meets the encoder:
//!
//! ```text
//! spool ─ compose documents from the stored token groups ────────────────────► store, first stage
//! ```
//!
//! An index for encoded queries alone has no token groups, and its documents are read once:
//!
//! ```text
//! documents ─ encode documents ──────────────────────────────────────────────► store, first stage
//! ```
//!
//! Every stage leaves its result in `DIR.partial`, and an interrupted build goes on from there.

mod composed;
mod documents;
mod encoding;
mod groups;
mod planning;
mod word_cache;

pub(crate) use documents::BatchWriter;
pub use encoding::{DocumentEncoder, Footprints};

use crate::head::head_of_model;
use crate::intake::Intake;
use crate::live::LiveIndex;
use crate::manifest::{Manifest, ModelReference};
use crate::size::size_of_tree;
use crate::spool::Spool;
use crate::staging::Staging;
use crate::{Document, Folder, IndexError, IntoDocument, Observer, Stage};
use becr_encoder::Encoder;
use becr_groups::{GroupList, Rules};
use becr_model::{HEAD_FILE, Head, MIXER_FILE, Model, QueryMode, Storage};
use becr_store::{Documents, Header, Shape};
use serde::Serialize;
use std::path::{Path, PathBuf};
use word_cache::WordCache;

/// The chosen token groups, inside an index.
pub(crate) const GROUP_LIST: &str = "groups.list";

/// Documents waiting for the second pass, inside a build.
pub(crate) const SPOOL: &str = "documents.spool";

/// The model's small files, inside an index.
pub(crate) const MODEL: &str = "model";

/// What to build, and with what.
pub struct FullBuild<'a> {
    /// The model: its configuration and identity.
    pub model: &'a Model,
    /// Its encoder, on whatever device.
    pub encoder: &'a Encoder,
    /// What tells these documents from others, so that an interrupted build can be gone on with by giving the same
    /// documents again: paths, sizes and dates, say. Without it a build that fails leaves nothing.
    pub identity: Option<String>,
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
    /// How queries will be read. For encoded queries alone no token groups are counted, chosen or encoded.
    #[serde(skip_serializing_if = "is_composed")]
    pub mode: QueryMode,
    /// The folders that the documents come from, for the index to remember.
    #[serde(skip)]
    pub folders: Vec<Folder>,
    /// Build an index even if there is no document, to add some later.
    #[serde(skip)]
    pub allow_empty: bool,
}

fn is_composed(mode: &QueryMode) -> bool {
    *mode == QueryMode::Composed
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
    /// Builds the index at `target`, or goes on with a build that was interrupted. The documents are read once.
    pub fn run<D: IntoDocument>(
        &self,
        documents: impl Iterator<Item = D>,
        target: &Path,
        overwrite: bool,
        observer: &dyn Observer,
    ) -> Result<FullSummary, IndexError> {
        self.check_options()?;
        let encoder_id = self.model.encoder_id();
        let shape = self.encoder.backend().shape();
        let head = head_of_model(self.model, &encoder_id, shape)?;
        let staging = match &self.identity {
            Some(identity) => {
                let fingerprint = self.fingerprint(&encoder_id, head, identity);
                Staging::resume(target, overwrite, &fingerprint)?
            }
            None => Staging::create(target, overwrite)?,
        };
        match self.fill(staging.path(), documents, observer, &encoder_id) {
            Ok(summary) => {
                staging.publish()?;
                Ok(summary)
            }
            Err(error) => {
                match error {
                    IndexError::NoDocuments => staging.abandon(),
                    _ => staging.fail(),
                }
                Err(error)
            }
        }
    }

    /// Everything but the publishing.
    fn fill<D: IntoDocument>(
        &self,
        dir: &Path,
        documents: impl Iterator<Item = D>,
        observer: &dyn Observer,
        encoder_id: &str,
    ) -> Result<FullSummary, IndexError> {
        self.copy_model_files(dir)?;
        let mut documents = Intake::unique(documents);
        let (list, spool) = match self.options.mode {
            QueryMode::Composed => {
                let (list, spool) = self.group_list(dir, &mut documents, observer)?;
                (Some(list), spool)
            }
            // There is nothing to count first: the documents need not be read twice.
            QueryMode::Encoded => (None, None),
        };
        let header = self.header(encoder_id)?;
        let mut index = LiveIndex::build(dir, &header)?;
        if let Some(list) = &list {
            let mut words = WordCache::open(encoder_id, self.model, self.encoder);
            if let Some(spool) = &spool {
                self.plan(&index, list, spool, &words, observer)?;
            }
            self.encode_groups(&index, list, &mut words, observer)?;
        }
        let resumed = match &spool {
            Some(spool) => {
                let total = Some(spool.documents);
                self.encode_documents(&mut index, spool.read()?, total, observer)?
            }
            None => {
                let ahead = self.plan_stream(&index, &mut documents, observer)?;
                let documents = ahead.into_iter().chain(documents);
                self.encode_documents(&mut index, documents, None, observer)?
            }
        };
        let snapshot = index.store().snapshot()?;
        let (totals, groups) = (snapshot.totals()?, snapshot.group_count()?);
        drop(snapshot);
        self.check_documents(totals.documents)?;
        observer.begin(Stage::Finishing, None);
        index.finish()?;
        if let Some(spool) = spool {
            spool.remove();
        }
        self.finish(dir, encoder_id.to_owned())?;
        let bytes = size_of_tree(dir);
        Ok(FullSummary {
            documents: totals.documents,
            resumed,
            tokens: totals.tokens,
            groups,
            bytes,
        })
    }

    /// Refuses options that contradict each other.
    fn check_options(&self) -> Result<(), IndexError> {
        let BuildOptions {
            mode,
            documents,
            group_list,
            query_log,
            ..
        } = &self.options;
        let needs_groups =
            *documents == Documents::Composed || group_list.is_some() || !query_log.is_empty();
        match *mode == QueryMode::Encoded && needs_groups {
            true => Err(IndexError::NoTokenGroups),
            false => Ok(()),
        }
    }

    /// An index without documents is mostly somebody's mistake, and must not take the place of one that has some.
    fn check_documents(&self, documents: u64) -> Result<(), IndexError> {
        match documents == 0 && !self.options.allow_empty {
            true => Err(IndexError::NoDocuments),
            false => Ok(()),
        }
    }

    fn header(&self, encoder_id: &str) -> Result<Header, IndexError> {
        let shape = self.encoder.backend().shape();
        let bits = shape
            .bits
            .ok_or_else(|| IndexError::RawModel(self.model.directory.clone()))?;
        let layers = shape.layers.len() as u16;
        let window = self.model.config.settings().window;
        let vector = shape.vector_width() as u16;
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
    fn fingerprint(&self, encoder_id: &str, head: Option<&Head>, identity: &str) -> String {
        let rules = (&self.options.rules, &self.options.query_log);
        serde_json::json!({
            "encoder": encoder_id,
            "precision": self.encoder.backend().precision(),
            "gamma": head.map(|head| &head.others.cls),
            "corpus": identity,
            "options": self.options,
            "rules": rules,
        })
        .to_string()
    }

    /// The list of groups: given, left by an earlier try, or chosen now. Choosing takes a pass over the documents, which
    /// are kept for the next one.
    fn group_list(
        &self,
        dir: &Path,
        documents: &mut impl Iterator<Item = Result<Document, IndexError>>,
        observer: &dyn Observer,
    ) -> Result<(GroupList, Option<Spool>), IndexError> {
        let path = dir.join(GROUP_LIST);
        if let Some(given) = &self.options.group_list {
            GroupList::open(given)?;
            let copied = std::fs::read(given).and_then(|bytes| std::fs::write(&path, bytes));
            copied.map_err(IndexError::io(given, "cannot copy the list of groups"))?;
            return Ok((GroupList::open(&path)?, None));
        }
        let spool = match Spool::open(&dir.join(SPOOL))? {
            Some(spool) => spool,
            None => {
                // A list without its documents is of no use.
                let _ = std::fs::remove_file(&path);
                self.spool(dir, documents, observer)?
            }
        };
        self.check_documents(spool.documents)?;
        let list = match GroupList::open(&path) {
            Ok(list) => list,
            Err(_) => self.choose_groups(dir, &path, &spool, observer)?,
        };
        Ok((list, Some(spool)))
    }

    /// Writes the model's small files: among them its head, which the documents' γ·CLS is computed with, and its mixer.
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
        if let Some(mixer) = &self.model.mixer {
            mixer.write(&folder.join(MIXER_FILE), Storage::I8)?;
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
            precision: self.encoder.backend().precision(),
        });
        Manifest {
            model,
            mode: self.options.mode,
            folders: self.options.folders.clone(),
            ..Manifest::default()
        }
        .write(dir)
    }
}
