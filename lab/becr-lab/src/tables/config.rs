//! The file that says what is compared on what.

use anyhow::{Context, ensure};
use serde::Deserialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// An evaluation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    /// Where runs, models, indexes and tables go.
    pub(super) out: PathBuf,
    /// What is measured, as `becr eval` takes it.
    #[serde(default = "measures")]
    pub(super) measures: String,
    /// Documents of each query that runs are kept of: at least as many as the measures look at.
    pub(super) depth: Option<u32>,
    /// Collections.
    #[serde(default)]
    pub(super) collections: Vec<Collection>,
    /// Trainings: what they make is a model or a baseline of that name.
    #[serde(default)]
    pub(super) trainings: Vec<Training>,
    /// Models that rows name.
    #[serde(default)]
    pub(super) models: Vec<ModelEntry>,
    /// Tables of relevance.
    #[serde(default)]
    pub(super) tables: Vec<TableConfig>,
    /// A table of operations, counted from shapes.
    #[serde(default)]
    pub(super) operations: Option<Workload>,
    /// A table of times, measured here.
    #[serde(default)]
    pub(super) times: Option<TimesConfig>,
}

fn measures() -> String {
    "nDCG@5 nDCG@10 nDCG@20 P@20 RR@10".into()
}

/// A collection with the candidates of its first stage.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Collection {
    pub(super) name: String,
    pub(super) corpus: Vec<PathBuf>,
    pub(super) queries: PathBuf,
    pub(super) qrels: PathBuf,
    pub(super) run: PathBuf,
}

/// A training: `becr-lab train CONFIG --seed SEED --out …`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Training {
    pub(super) name: String,
    pub(super) config: PathBuf,
    #[serde(default = "one")]
    pub(super) seed: u64,
    /// The configuration and the files and folders that it names; filled in.
    #[serde(skip)]
    pub(super) reads: Vec<PathBuf>,
}

impl Training {
    /// Finds what a training reads: whatever its configuration names that is there, but for what it writes.
    fn find(&mut self) -> anyhow::Result<()> {
        let path = &self.config;
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot read", path.display()))?;
        let mut table: toml::Table =
            toml::from_str(&text).with_context(|| format!("{}: not understood", path.display()))?;
        table.remove("output");
        let mut names = Vec::new();
        texts(&toml::Value::Table(table), &mut names);
        let folder = path.parent().unwrap_or(Path::new(""));
        let files = names.iter().map(|name| folder.join(name));
        self.reads = vec![path.clone()];
        self.reads.extend(files.filter(|file| file.exists()));
        Ok(())
    }
}

/// All texts in a value.
fn texts(value: &toml::Value, found: &mut Vec<String>) {
    match value {
        toml::Value::String(text) if !text.is_empty() => found.push(text.clone()),
        toml::Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        toml::Value::Table(table) => table.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

fn one() -> u64 {
    1
}

/// A model, as it is or prepared: `becr model prepare MODEL --out … PREPARE`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelEntry {
    pub(super) name: String,
    /// A directory, or the name of a training.
    pub(super) model: PathBuf,
    /// Arguments of `becr model prepare`.
    #[serde(default)]
    pub(super) prepare: Vec<String>,
    /// Arguments of `becr-lab index`.
    #[serde(default)]
    pub(super) index: Vec<String>,
}

/// A table: rows by collections and measures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableConfig {
    /// The file's name.
    pub(super) name: String,
    pub(super) title: String,
    /// Collections; all if there are none.
    #[serde(default)]
    pub(super) collections: Vec<String>,
    pub(super) rows: Vec<RowConfig>,
    /// Rows that significant differences from are marked.
    #[serde(default)]
    pub(super) against: Vec<String>,
    /// Whether the bytes of documents and of token groups are columns.
    #[serde(default)]
    pub(super) bytes: bool,
    /// Query lengths that figures are broken down by, such as `1-3,4-6,7+`.
    pub(super) lengths: Option<String>,
    /// Pairs of rows whose difference by query length is a figure, the second taken from the first.
    #[serde(default)]
    pub(super) differences: Vec<[String; 2]>,
}

/// A row: a system.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowConfig {
    pub(super) name: String,
    /// The model whose index re-ranks; without one the row is the first stage.
    pub(super) model: Option<String>,
    /// A baseline that reads the index's texts: a directory, or the name of a training.
    pub(super) baseline: Option<PathBuf>,
    /// Further arguments of `becr-lab rerank`.
    #[serde(default)]
    pub(super) rerank: Vec<String>,
    /// A training with a section `[folds]`: the row is its cross-validated run, in a table of one collection.
    pub(super) folds: Option<String>,
    /// A run that was made elsewhere and is kept, such as `runs/{collection}-bert.run.zst`; nothing is made then, and a
    /// collection without such a file has no figures. One collection at least has one.
    pub(super) run: Option<String>,
    /// How it was made, for the footer: a command a line.
    pub(super) made_by: Option<String>,
    /// What `becr stats --json` said of the index that made it, such as `runs/{collection}-becr.json`, for the columns of
    /// bytes.
    pub(super) stats: Option<String>,
}

impl RowConfig {
    /// The run that is kept for a collection, if the row names one.
    pub(super) fn stored(&self, collection: &str) -> Option<PathBuf> {
        self.run.as_ref().map(|run| of(run, collection))
    }

    /// The statistics that are kept for a collection, if the row names some and they are there.
    pub(super) fn stored_stats(&self, collection: &str) -> Option<PathBuf> {
        let path = self.stats.as_ref().map(|stats| of(stats, collection))?;
        path.is_file().then_some(path)
    }
}

/// A path with a collection's name filled in.
fn of(path: &str, collection: &str) -> PathBuf {
    PathBuf::from(path.replace("{collection}", collection))
}

/// What times are measured of.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TimesConfig {
    /// Shapes of the encoder, as `becr-lab bench baselines` names them.
    pub(super) encoders: Vec<String>,
    /// Words of the queries.
    pub(super) query_words: Vec<u64>,
    /// Layers of BECR.
    pub(super) layers: Vec<u64>,
    /// Records of the store that candidates are fetched from.
    pub(super) records: u64,
    /// Lists that are fetched with the store not in memory.
    pub(super) cold: u64,
    /// Times that were measured elsewhere.
    pub(super) kept: Vec<KeptTimes>,
}

/// A file of times that were measured elsewhere, in the form of `becr-lab bench baselines --json`, and how.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptTimes {
    pub(super) file: PathBuf,
    pub(super) made_by: String,
}

impl Default for TimesConfig {
    fn default() -> Self {
        Self {
            encoders: vec!["minilm".into()],
            query_words: vec![3, 5],
            layers: vec![5, 7, 13],
            records: 2000,
            cold: 11,
            kept: Vec::new(),
        }
    }
}

/// What operations are counted for. The defaults are the paper's.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Workload {
    /// Candidates of a query.
    pub(super) documents: u64,
    /// Tokens of a document.
    pub(super) tokens: u64,
    /// Words of the queries.
    pub(super) query_words: Vec<u64>,
    /// Length of the encoder's vectors.
    pub(super) dim: u64,
    /// Its layers without the embeddings.
    pub(super) layers: u64,
    /// Layers kept, that of the embeddings included.
    pub(super) kept: Vec<u64>,
    /// Bits of a footprint.
    pub(super) bits: u64,
    /// Kernels.
    pub(super) kernels: u64,
    /// Largest distance of two words that form a pair.
    pub(super) window: u64,
    /// Length of word vectors.
    pub(super) word_dim: u64,
    /// CONV-KNRM's filters.
    pub(super) filters: u64,
    /// ColBERT's projection.
    pub(super) projection: u64,
    /// ColBERT's query tokens.
    pub(super) query_tokens: u64,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            documents: 150,
            tokens: 857,
            query_words: vec![3, 5],
            dim: 768,
            layers: 12,
            kept: vec![13, 5],
            bits: 256,
            kernels: 11,
            window: 2,
            word_dim: 300,
            filters: 128,
            projection: 128,
            query_tokens: 32,
        }
    }
}

impl Config {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot read", path.display()))?;
        let mut config: Self =
            toml::from_str(&text).with_context(|| format!("{}: not understood", path.display()))?;
        config.check().with_context(|| path.display().to_string())?;
        config.resolve(path.parent().unwrap_or(Path::new("")));
        config.trainings.iter_mut().try_for_each(Training::find)?;
        Ok(config)
    }

    fn check(&self) -> anyhow::Result<()> {
        becr_eval::parse_measures(&self.measures).context("measures")?;
        unique("collections", self.collections.iter().map(|c| &c.name))?;
        unique("tables", self.tables.iter().map(|t| &t.name))?;
        let trained = self.trainings.iter().map(|training| &training.name);
        unique(
            "trainings and models",
            trained.chain(self.models.iter().map(|m| &m.name)),
        )?;
        if let Some(times) = &self.times {
            times.check()?;
        }
        for row in self.tables.iter().flat_map(|table| &table.rows) {
            ensure!(
                row.stats.is_none() || row.run.is_some(),
                "row {:?}: stats belong to a run that is kept; name it as `run`",
                row.name
            );
        }
        for table in &self.tables {
            let rows = || table.rows.iter().map(|row| &row.name);
            unique(&format!("rows of {}", table.name), rows())?;
            for name in &table.against {
                ensure!(
                    rows().any(|row| row == name),
                    "table {}: against names no row {name:?}",
                    table.name
                );
            }
            if let Some(lengths) = &table.lengths {
                let parsed: Result<becr_eval::Buckets, _> = lengths.parse();
                parsed.with_context(|| format!("table {}: lengths", table.name))?;
            }
            ensure!(
                table.lengths.is_some() || table.differences.is_empty(),
                "table {}: differences are by query length; name lengths",
                table.name
            );
            for name in table.differences.iter().flatten() {
                ensure!(
                    rows().any(|row| row == name),
                    "table {}: differences names no row {name:?}",
                    table.name
                );
            }
            for name in &table.collections {
                let known = self.collections.iter().any(|c| c.name == *name);
                ensure!(
                    known,
                    "table {}: there is no collection {name:?}",
                    table.name
                );
            }
            for row in &table.rows {
                let known = |name: &String| self.models.iter().any(|model| model.name == *name);
                ensure!(
                    row.model.as_ref().is_none_or(known),
                    "table {}, row {:?}: there is no model {:?} in [[models]]",
                    table.name,
                    row.name,
                    row.model
                );
                ensure!(
                    row.run.is_none() || (row.model.is_none() && row.baseline.is_none()),
                    "table {}, row {:?}: a run that is kept needs no model; name one of them",
                    table.name,
                    row.name
                );
                if let Some(training) = &row.folds {
                    let known = self.trainings.iter().any(|known| known.name == *training);
                    ensure!(
                        known,
                        "table {}, row {:?}: there is no training {training:?} in [[trainings]]",
                        table.name,
                        row.name
                    );
                    ensure!(
                        row.model.is_none() && row.baseline.is_none() && row.run.is_none(),
                        "table {}, row {:?}: folds need no model and no run; name one of them",
                        table.name,
                        row.name
                    );
                    let collections = match table.collections.is_empty() {
                        true => self.collections.len(),
                        false => table.collections.len(),
                    };
                    ensure!(
                        collections == 1,
                        "table {}, row {:?}: folds are of one collection; name it as `collections`",
                        table.name,
                        row.name
                    );
                }
                ensure!(
                    row.run.is_some() == row.made_by.is_some(),
                    "table {}, row {:?}: a run that is kept goes with made_by, which says how",
                    table.name,
                    row.name
                );
                ensure!(
                    row.model.is_some() || (row.rerank.is_empty() && row.baseline.is_none()),
                    "table {}, row {:?}: name the model whose index has the texts",
                    table.name,
                    row.name
                );
            }
        }
        if let Some(workload) = &self.operations {
            workload.check()?;
        }
        Ok(())
    }

    fn resolve(&mut self, folder: &Path) {
        let absolute = |path: &mut PathBuf| *path = folder.join(&path);
        absolute(&mut self.out);
        for collection in &mut self.collections {
            collection.corpus.iter_mut().for_each(absolute);
            [
                &mut collection.queries,
                &mut collection.qrels,
                &mut collection.run,
            ]
            .into_iter()
            .for_each(absolute);
        }
        let trained: HashSet<PathBuf> = self
            .trainings
            .iter()
            .map(|training| PathBuf::from(&training.name))
            .collect();
        let directory = |path: &mut PathBuf| {
            let is_name =
                path == Path::new("bundled") || path.to_str().is_some_and(|p| p.starts_with("hf:"));
            if !trained.contains(path) && !is_name {
                absolute(path);
            }
        };
        self.trainings
            .iter_mut()
            .for_each(|training| absolute(&mut training.config));
        let kept = self.times.iter_mut().flat_map(|times| &mut times.kept);
        kept.for_each(|kept| absolute(&mut kept.file));
        self.models
            .iter_mut()
            .for_each(|model| directory(&mut model.model));
        let rows = self.tables.iter_mut().flat_map(|table| &mut table.rows);
        for row in rows {
            row.baseline.iter_mut().for_each(directory);
            for kept in [&mut row.run, &mut row.stats].into_iter().flatten() {
                *kept = folder.join(&*kept).display().to_string();
            }
        }
    }
}

impl TimesConfig {
    /// What `becr-lab bench engine` has no row for would be missing without a word.
    fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.query_words.iter().all(|n| (1..=10).contains(n)),
            "[times] query_words: expected 1 to 10"
        );
        ensure!(
            self.layers.iter().all(|layers| [5, 7, 13].contains(layers)),
            "[times] layers: expected 5, 7 or 13"
        );
        Ok(())
    }
}

impl Workload {
    fn check(&self) -> anyhow::Result<()> {
        let numbers = [
            self.documents,
            self.tokens,
            self.dim,
            self.layers,
            self.bits,
            self.kernels,
            self.word_dim,
            self.filters,
            self.projection,
            self.query_tokens,
        ];
        let all = numbers.iter().chain(&self.query_words).chain(&self.kept);
        ensure!(
            all.clone().all(|n| (1..=1 << 20).contains(n)),
            "[operations]: expected numbers from 1 to 2^20"
        );
        Ok(())
    }
}

/// Names become files: letters, digits, and few other characters.
fn unique<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> anyhow::Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        let plain = what.starts_with("rows")
            || name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        ensure!(
            !name.is_empty() && plain,
            "{what}: {name:?} is no name: use letters, digits, - _ and ."
        );
        ensure!(
            seen.insert(name),
            "{what}: there are two of the name {name:?}"
        );
    }
    Ok(())
}
