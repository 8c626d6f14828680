//! The runs that tables are made of, and what they need: trainings, models, indexes.

use super::config::{Collection, Config, ModelEntry, RowConfig};
use super::steps::{Step, Steps};
use anyhow::Context;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a training with folds leaves in its directory.
const FOLDS_RUN: &str = "cross-validated.run";

/// Makes runs, and what they need.
pub(super) struct Making<'a> {
    pub(super) config: &'a Config,
    pub(super) steps: &'a mut Steps,
    /// What was done, or would be, for the footer.
    pub(super) commands: Vec<String>,
}

impl<'a> Making<'a> {
    /// The run of a row, and the bytes of its index if they are wanted.
    pub(super) fn run(
        &mut self,
        collection: &Collection,
        row: &RowConfig,
        bytes: bool,
    ) -> anyhow::Result<(PathBuf, Option<(u64, u64)>)> {
        if let Some(run) = row.stored(&collection.name) {
            let made = row.made_by.iter().flat_map(|made| made.lines());
            made.for_each(|line| self.say_line(line.trim().to_owned()));
            let stats = row.stored_stats(&collection.name).filter(|_| bytes);
            return Ok((run, stats.map(|path| told_bytes(&path)).transpose()?));
        }
        if let Some(training) = row.folds.as_deref().map(Path::new) {
            self.directory(training)?;
            let (directory, _) = self.made(training)?;
            return Ok((Path::new(&directory).join(FOLDS_RUN), None));
        }
        let Some(model) = row.model.as_ref() else {
            return Ok((collection.run.clone(), None));
        };
        let model = self.config.models.iter().find(|entry| entry.name == *model);
        let model = model.context("a model that was checked")?;
        let index = self.index_step(collection, model)?;
        let index_key = self.steps.key(&index)?;
        let mut arguments = strings(["rerank"]);
        arguments.push(self.place(&index.name));
        let files = [
            ("--queries", &collection.queries),
            ("--run", &collection.run),
        ];
        for (flag, path) in files {
            arguments.extend([flag.to_owned(), shown(path)]);
        }
        let mut after = vec![index_key.clone()];
        let mut reads = vec![collection.queries.as_path(), &collection.run];
        if let Some(depth) = self.config.depth {
            arguments.extend(["--k".to_owned(), depth.to_string()]);
        }
        arguments.extend(row.rerank.iter().cloned());
        if let Some(baseline) = &row.baseline {
            let (directory, key) = self.directory(baseline)?;
            match key {
                Some(key) => after.push(key),
                None => reads.push(baseline),
            }
            arguments.extend(["--baseline".to_owned(), directory]);
        }
        // Rows of several tables that are the same are one run, whatever they are called.
        let mut step = Step {
            name: String::new(),
            arguments,
            reads,
            after,
        };
        let key = self.steps.key(&step)?;
        step.name = format!(
            "runs/{}-{}-{}.run.zst",
            collection.name,
            model.name,
            &key[..8]
        );
        let run = self.config.out.join(&step.name);
        step.arguments.extend(["--out".to_owned(), shown(&run)]);
        self.say(&index, &index_key);
        self.say(&step, &key);
        if self.steps.is_done(&step.name, &key) && run.is_file() {
            self.steps.keep();
        } else {
            self.index(collection, model, &index, index_key)?;
            if let Some(baseline) = &row.baseline {
                self.made(baseline)?;
            }
            make_folder(&run)?;
            self.steps.run(&step, key, || Ok(BTreeMap::new()))?;
        }
        let figures = self.steps.figures(&index.name);
        let figure = |name: &str| figures.get(name).copied();
        let bytes = bytes.then(|| Some((figure("records")?, figure("token groups")?)));
        Ok((run, bytes.flatten()))
    }

    /// Builds an index unless it is there as it should be.
    fn index(
        &mut self,
        collection: &Collection,
        model: &ModelEntry,
        step: &Step<'_>,
        key: String,
    ) -> anyhow::Result<()> {
        let directory = self.config.out.join(&step.name);
        if self.steps.is_done(&step.name, &key) && directory.is_dir() {
            self.steps.keep();
            return Ok(());
        }
        self.model(model, true)?;
        if directory.is_dir() {
            std::fs::remove_dir_all(&directory)
                .with_context(|| format!("{}: an old index", directory.display()))?;
        }
        make_folder(&directory)?;
        self.steps
            .run(step, key, || bytes_of(&directory))
            .with_context(|| format!("collection {}", collection.name))
    }

    fn index_step<'c>(
        &mut self,
        collection: &'c Collection,
        model: &'c ModelEntry,
    ) -> anyhow::Result<Step<'c>> {
        let (directory, key) = self.model(model, false)?;
        let name = format!("indexes/{}-{}", collection.name, model.name);
        let mut arguments = strings(["index"]);
        arguments.extend(collection.corpus.iter().map(|path| shown(path)));
        arguments.extend(["--out".to_owned(), self.place(&name)]);
        if directory != "bundled" {
            arguments.extend(["--model".to_owned(), directory]);
        }
        arguments.extend(model.index.iter().cloned());
        let mut reads: Vec<&Path> = collection.corpus.iter().map(PathBuf::as_path).collect();
        if key.is_none() && model.model.is_dir() {
            reads.push(&model.model);
        }
        Ok(Step {
            name,
            arguments,
            reads,
            after: key.into_iter().collect(),
        })
    }

    /// The directory of a model, and the key of the step that makes it if there is one. With `make` it is made.
    fn model(
        &mut self,
        model: &ModelEntry,
        make: bool,
    ) -> anyhow::Result<(String, Option<String>)> {
        let (base, base_key) = match make {
            true => self.made(&model.model)?,
            false => self.directory(&model.model)?,
        };
        if model.prepare.is_empty() {
            return Ok((base, base_key));
        }
        let name = format!("models/{}", model.name);
        let directory = self.config.out.join(&name);
        let mut arguments = strings(["model", "prepare"]);
        arguments.extend([base, "--out".to_owned(), shown(&directory)]);
        arguments.extend(model.prepare.iter().cloned());
        let reads = match base_key.is_none() && model.model.is_dir() {
            true => vec![model.model.as_path()],
            false => Vec::new(),
        };
        let step = Step {
            name,
            arguments,
            reads,
            after: base_key.into_iter().collect(),
        };
        let key = self.steps.key(&step)?;
        self.say(&step, &key);
        if make && !(self.steps.is_done(&step.name, &key) && directory.is_dir()) {
            if directory.is_dir() {
                std::fs::remove_dir_all(&directory)
                    .with_context(|| format!("{}: an old model", directory.display()))?;
            }
            make_folder(&directory)?;
            self.steps.run(&step, key.clone(), || Ok(BTreeMap::new()))?;
        }
        Ok((shown(&directory), Some(key)))
    }

    /// A directory that was named, or that a training makes; with the key of that training.
    fn directory(&mut self, named: &Path) -> anyhow::Result<(String, Option<String>)> {
        match self.training(named)? {
            Some((step, key)) => {
                self.say(&step, &key);
                Ok((self.place(&step.name), Some(key)))
            }
            None => Ok((shown(named), None)),
        }
    }

    /// The same, trained if need be.
    fn made(&mut self, named: &Path) -> anyhow::Result<(String, Option<String>)> {
        let Some((step, key)) = self.training(named)? else {
            return Ok((shown(named), None));
        };
        let directory = self.config.out.join(&step.name);
        if !(self.steps.is_done(&step.name, &key) && directory.is_dir()) {
            make_folder(&directory)?;
            self.steps.run(&step, key.clone(), || Ok(BTreeMap::new()))?;
        }
        Ok((self.place(&step.name), Some(key)))
    }

    fn training(&mut self, named: &Path) -> anyhow::Result<Option<(Step<'a>, String)>> {
        let config = self.config;
        let found = config
            .trainings
            .iter()
            .find(|training| Path::new(&training.name) == named);
        let Some(training) = found else {
            return Ok(None);
        };
        let name = format!("models/{}", training.name);
        let step = Step {
            arguments: vec![
                "train".into(),
                shown(&training.config),
                "--seed".into(),
                training.seed.to_string(),
                "--out".into(),
                self.place(&name),
            ],
            name,
            reads: training.reads.iter().map(PathBuf::as_path).collect(),
            after: Vec::new(),
        };
        let key = self.steps.key(&step)?;
        Ok(Some((step, key)))
    }

    fn place(&self, name: &str) -> String {
        shown(&self.config.out.join(name))
    }

    /// Keeps a command for the footer, once.
    fn say(&mut self, step: &Step<'_>, key: &str) {
        self.say_line(self.steps.command(step, key));
    }

    fn say_line(&mut self, command: String) {
        if !self.commands.contains(&command) {
            self.commands.push(command);
        }
    }
}

fn strings<const N: usize>(list: [&str; N]) -> Vec<String> {
    list.map(String::from).to_vec()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(())
}

/// Bytes of records and of token groups, as `becr stats --json` told them.
fn told_bytes(path: &Path) -> anyhow::Result<(u64, u64)> {
    let what = "expected what `becr stats --json` prints of an index with footprints";
    let text = std::fs::read(path).with_context(|| format!("{}: cannot read", path.display()))?;
    let stats: serde_json::Value = serde_json::from_slice(&text)
        .with_context(|| format!("{}: no JSON; {what}", path.display()))?;
    let tables = stats["store"]["tables"].as_array();
    let bytes = |name: &str| {
        let table = tables.and_then(|tables| tables.iter().find(|table| table["name"] == name));
        let bytes = table.and_then(|table| table["bytes"].as_u64());
        bytes.with_context(|| format!("{}: no bytes of {name}; {what}", path.display()))
    };
    Ok((bytes("records")?, bytes("token groups")?))
}

/// Bytes of an index's tables, by name.
fn bytes_of(index: &Path) -> anyhow::Result<BTreeMap<String, u64>> {
    let stats = becr::Index::open(index)?.stats()?;
    let tables = stats.store.iter().flat_map(|store| &store.tables);
    Ok(tables
        .map(|table| (table.name.to_string(), table.bytes))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_from_kept_statistics() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats.json");
        let tables = r#"[{"name": "records", "bytes": 3}, {"name": "token groups", "bytes": 5}]"#;
        std::fs::write(&path, format!(r#"{{"store": {{"tables": {tables}}}}}"#)).unwrap();
        assert_eq!(told_bytes(&path).unwrap(), (3, 5));
        std::fs::write(&path, r#"{"store": null}"#).unwrap();
        let error = format!("{:#}", told_bytes(&path).unwrap_err());
        assert!(
            error.contains("records") && error.contains("becr stats --json"),
            "{error}"
        );
    }
}
