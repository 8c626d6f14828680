//! Steps that are done once: commands of this program, which has those of `becr` too, known by their arguments and by what they read.

use anyhow::{Context, bail, ensure};
use becr_cli::output;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xxhash_rust::xxh3::Xxh3;

const FILE: &str = "steps.json";

/// What was done, by the names of steps.
pub(super) struct Steps {
    folder: PathBuf,
    /// Do nothing.
    check: bool,
    known: BTreeMap<String, DoneStep>,
    fingerprints: BTreeMap<PathBuf, String>,
    /// Steps done now.
    pub(super) done: usize,
    /// Steps that were done before.
    pub(super) kept: usize,
}

/// A step that was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct DoneStep {
    /// A hash of the command and of what it read.
    key: String,
    /// The command, for people.
    command: String,
    /// Figures that were taken when it was done.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    figures: BTreeMap<String, u64>,
}

/// A step to be done.
pub(super) struct Step<'a> {
    /// Its name; a file's path within the folder of the tables.
    pub(super) name: String,
    /// The arguments of this program.
    pub(super) arguments: Vec<String>,
    /// What it reads that no other step makes.
    pub(super) reads: Vec<&'a Path>,
    /// The keys of the steps whose results it reads.
    pub(super) after: Vec<String>,
}

impl Steps {
    pub(super) fn open(folder: &Path, check: bool) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        let known = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).with_context(|| {
                format!(
                    "{}: not understood; remove it to do every step again",
                    path.display()
                )
            })?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(e) => return Err(e).with_context(|| format!("{}: cannot read", path.display())),
        };
        Ok(Self {
            folder: folder.to_owned(),
            check,
            known,
            fingerprints: BTreeMap::new(),
            done: 0,
            kept: 0,
        })
    }

    /// The key of a step.
    pub(super) fn key(&mut self, step: &Step<'_>) -> anyhow::Result<String> {
        let mut hash = Xxh3::new();
        let mut add = |text: &str| {
            hash.update(text.as_bytes());
            hash.update(&[0]);
        };
        step.arguments.iter().for_each(|argument| add(argument));
        step.after.iter().for_each(|key| add(key));
        for path in &step.reads {
            add(&self.fingerprint(path)?);
        }
        Ok(format!("{:032x}", hash.digest128()))
    }

    /// Whether a step was done with this key.
    pub(super) fn is_done(&self, name: &str, key: &str) -> bool {
        self.known.get(name).is_some_and(|done| done.key == key)
    }

    /// The command of a step: the one that did it, where it was done with this key, else the one that would.
    pub(super) fn command(&self, step: &Step<'_>, key: &str) -> String {
        match self.known.get(&step.name) {
            Some(done) if done.key == key => done.command.clone(),
            _ => command(&step.arguments),
        }
    }

    /// Figures that were taken when a step was done.
    pub(super) fn figures(&self, name: &str) -> BTreeMap<String, u64> {
        self.known
            .get(name)
            .map(|done| done.figures.clone())
            .unwrap_or_default()
    }

    /// Counts a step whose result is there.
    pub(super) fn keep(&mut self) {
        self.kept += 1;
    }

    /// Does a step, and remembers it. `take` takes figures from what it left.
    pub(super) fn run(
        &mut self,
        step: &Step<'_>,
        key: String,
        take: impl FnOnce() -> anyhow::Result<BTreeMap<String, u64>>,
    ) -> anyhow::Result<()> {
        let command = command(&step.arguments);
        ensure!(
            !self.check,
            "{} is missing or was made from something else; run without --check: {command}",
            step.name
        );
        output::note(&command);
        let program = std::env::current_exe().context("this program's own file")?;
        let status = Command::new(program)
            .args(&step.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .with_context(|| command.clone())?;
        if !status.success() {
            bail!("{command}: {status}; what it said stands above");
        }
        let figures = take()?;
        let done = DoneStep {
            key,
            command,
            figures,
        };
        self.known.insert(step.name.clone(), done);
        self.done += 1;
        let text = serde_json::to_string_pretty(&self.known)?;
        becr_eval::write_atomically(self.folder.join(FILE), |out| writeln!(out, "{text}"))?;
        Ok(())
    }

    /// A hash of a file; of a folder, of its files' names and contents.
    fn fingerprint(&mut self, path: &Path) -> anyhow::Result<String> {
        if let Some(known) = self.fingerprints.get(path) {
            return Ok(known.clone());
        }
        let mut hash = Xxh3::new();
        update(&mut hash, path).with_context(|| format!("{}: cannot read", path.display()))?;
        let found = format!("{:032x}", hash.digest128());
        self.fingerprints.insert(path.to_owned(), found.clone());
        Ok(found)
    }
}

fn update(hash: &mut Xxh3, path: &Path) -> std::io::Result<()> {
    if !path.is_dir() {
        hash.update(&std::fs::read(path)?);
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)? {
        names.push(entry?.file_name());
    }
    names.sort();
    for name in names {
        hash.update(name.as_encoded_bytes());
        hash.update(&[0]);
        update(hash, &path.join(name))?;
    }
    Ok(())
}

/// A command as one would type it.
fn command(arguments: &[String]) -> String {
    let quoted = arguments.iter().map(|argument| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,".contains(c);
        match !argument.is_empty() && argument.chars().all(plain) {
            true => argument.clone(),
            false => format!("'{}'", argument.replace('\'', r"'\''")),
        }
    });
    format!("becr-lab {}", quoted.collect::<Vec<_>>().join(" "))
}
