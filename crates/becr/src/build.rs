//! Building an index.

use crate::{Error, Index, OpenOptions, models};
use becr_encoder::{Encoder, Precision};
use becr_groups::Rules;
use becr_index::full::{BuildOptions, FullBuild, FullSummary, Shard};
use becr_index::{Folder, IndexBuilder, IntoDocument, Observer};
use becr_model::{Model, QueryMode};
use becr_store::Documents;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Memory for counting words and pairs.
const COUNT_MEMORY: usize = 512 << 20;

/// How an index is built. The index appears when it is complete; a build that fails leaves what was there before.
///
/// ```no_run
/// use becr::{Build, Document};
///
/// let documents = [Document::new("bread", "Bread", "A dense crumb means the dough was proved too briefly.")];
/// let index = Build::new().overwrite(true).run("notes.becr", documents, &())?;
/// # Ok::<(), becr::Error>(())
/// ```
#[derive(Clone)]
pub struct Build {
    model: Option<Arc<Model>>,
    encoder: Option<Arc<Encoder>>,
    precision: Option<Precision>,
    identity: Option<String>,
    overwrite: bool,
    rules: Option<Rules>,
    options: BuildOptions,
}

impl Default for Build {
    fn default() -> Self {
        Self {
            model: None,
            encoder: None,
            precision: None,
            identity: None,
            overwrite: false,
            rules: None,
            options: BuildOptions {
                keep_text: true,
                group_list: None,
                rules: Rules::default(),
                query_log: Vec::new(),
                memory: COUNT_MEMORY,
                shard: None,
                documents: Documents::Encoded,
                mode: QueryMode::Composed,
                folders: Vec::new(),
                allow_empty: false,
            },
        }
    }
}

impl Build {
    /// With the bundled model, titles and texts kept.
    pub fn new() -> Self {
        Self::default()
    }

    /// Encodes with this model.
    pub fn model(mut self, model: impl Into<Arc<Model>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// An encoder of the model, in the place of one on the CPU.
    pub fn encoder(mut self, encoder: Arc<Encoder>) -> Self {
        self.encoder = Some(encoder);
        self
    }

    /// What the model's linear layers compute in, unless an encoder is given: otherwise [`models::precision`]. The index
    /// remembers it: documents added later and encoded queries follow.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = Some(precision);
        self
    }

    /// Replaces an index that is there, in one step, when the new one is complete; and starts over where an
    /// interrupted build of other documents is.
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// What tells these documents from others. A build that has it can be interrupted at any time: the same build with
    /// the same identity goes on where it stopped.
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// Whether titles and texts are kept for display.
    pub fn keep_text(mut self, keep: bool) -> Self {
        self.options.keep_text = keep;
        self
    }

    /// Which token groups are chosen. Unless said otherwise, [`models::rules`].
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// Queries to learn from which token groups are asked for.
    pub fn query_log(mut self, queries: Vec<String>) -> Self {
        self.options.query_log = queries;
        self
    }

    /// A finished list of token groups to use instead of choosing them, as shards do.
    pub fn group_list(mut self, list: Option<PathBuf>) -> Self {
        self.options.group_list = list;
        self
    }

    /// One of several parts, which are joined later. All parts need the same list of token groups.
    pub fn shard(mut self, shard: Option<Shard>) -> Self {
        self.options.shard = shard;
        self
    }

    /// Whether documents are encoded, or composed from token groups.
    pub fn documents(mut self, documents: Documents) -> Self {
        self.options.documents = documents;
        self
    }

    /// Which queries the index is for. [`QueryMode::Composed`] serves encoded queries too. [`QueryMode::Encoded`] makes no
    /// token groups: the build is shorter and the index smaller, the documents are read once, and every query goes through
    /// the encoder.
    pub fn mode(mut self, mode: QueryMode) -> Self {
        self.options.mode = mode;
        self
    }

    /// Memory for counting words and pairs, in bytes.
    pub fn count_memory(mut self, bytes: usize) -> Self {
        self.options.memory = bytes;
        self
    }

    /// The folders that the documents come from: the index remembers them, and [`Index::sync`] keeps it in step.
    pub fn folders(mut self, folders: Vec<Folder>) -> Self {
        self.options.folders = folders;
        self
    }

    /// Builds an index even if there is no document, to add some later.
    pub fn allow_empty(mut self, allow: bool) -> Self {
        self.options.allow_empty = allow;
        self
    }

    /// Builds the index at `path` and opens it. The documents are read once.
    pub fn run<D: IntoDocument>(
        self,
        path: impl AsRef<Path>,
        documents: impl IntoIterator<Item = D>,
        observer: &dyn Observer,
    ) -> Result<(Index, FullSummary), Error> {
        let path = path.as_ref();
        let model = match self.model {
            Some(model) => model,
            None => Arc::new(models::bundled()?),
        };
        let encoder = match self.encoder {
            Some(encoder) => encoder,
            None => Arc::new(Encoder::with_precision(
                Model::clone(&model),
                self.precision.unwrap_or_else(|| models::precision(&model)),
            )?),
        };
        let build = FullBuild {
            model: &model,
            encoder: &encoder,
            identity: self.identity,
            options: BuildOptions {
                rules: self.rules.unwrap_or_else(|| models::rules(&model)),
                ..self.options
            },
        };
        let summary = build.run(documents.into_iter(), path, self.overwrite, observer)?;
        tracing::info!(?summary, "index built");
        let index = OpenOptions::new()
            .model(model)
            .encoder(encoder)
            .open(path)?;
        Ok((index, summary))
    }

    /// Builds an index of words alone, for BM25: no document is encoded, and it cannot be changed later.
    pub fn lexical<D: IntoDocument>(
        self,
        path: impl AsRef<Path>,
        documents: impl IntoIterator<Item = D>,
        observer: &dyn Observer,
    ) -> Result<(Index, FullSummary), Error> {
        let mut builder = IndexBuilder::create(path.as_ref(), self.overwrite)?;
        builder.add(documents.into_iter(), observer)?;
        if builder.documents() == 0 && !self.options.allow_empty {
            return Err(becr_index::IndexError::NoDocuments.into());
        }
        let built = builder.finish()?;
        let summary = FullSummary {
            documents: built.documents,
            bytes: built.bytes,
            ..FullSummary::default()
        };
        Ok((Index::open(path)?, summary))
    }
}
