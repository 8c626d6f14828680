//! `becr train`: from a configuration file to a trained model.

mod watch;

use crate::{backend, hub, output};
use anyhow::Context;
use becr_index::manifest::Manifest;
use becr_train::config::{BUNDLED, Config};
use becr_train::data::{Preparation, Prepared};
use becr_train::{Training, forget, mixer};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use watch::{Bar, Indexing};

/// Train a model
///
/// Reads a TOML file that says which model to start from, which data to learn
/// from and where to put the result: a model directory that `becr index --model`
/// takes at once. Documents are indexed with the model's encoder first; what is
/// learned is how to rank, in minutes on a CPU.
///
/// A training can be interrupted at any time: the same command goes on where it
/// stopped, and ends with the same weights.
///
/// Examples:
///
///   becr train own.toml
///
///   becr train own.toml --prepare          read the data, build the index, stop
///
///   becr train own.toml --seed 2 --out second-model
///
/// A file with a section [mixer] trains the mixer of composed queries instead, on
/// the encoder as it is and without judgements; that wants a GPU.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The configuration; the folder crates/becr-train/configs of the sources has examples with comments.
    config: PathBuf,
    /// Read the data, build the index, report, and stop before training.
    #[arg(long)]
    prepare: bool,
    /// Start anew: drop what an earlier training with this seed left, and replace an index of other data.
    #[arg(long)]
    restart: bool,
    /// Another seed than that of the configuration; trainings with several seeds share the work directory.
    #[arg(long, value_name = "N", env = "BECR_TRAIN_SEED")]
    seed: Option<u64>,
    /// Another directory for the trained model than that of the configuration; the work directory stays.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    backend: backend::Args,
    /// Print the report and the outcome as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let config = args.configuration()?;
    if config.mixer.is_some() {
        return args.mixer(&config);
    }
    if !args.prepare {
        config.train.device.check()?;
    }
    let prepared = args.prepare(&config)?;
    if args.prepare {
        match args.json {
            true => output::json(&serde_json::json!({ "data": prepared.report }))?,
            false => print(&prepared.report)?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !args.json {
        print(&prepared.report)?;
    }
    if args.restart {
        forget(&config)?;
    }
    let bar = Bar::default();
    let training = Training {
        config: &config,
        prepared: &prepared,
    };
    let outcome = training.run(&mut &bar);
    bar.clear();
    let outcome = outcome?;
    match args.json {
        true => output::json(&serde_json::json!({ "data": prepared.report, "outcome": outcome }))?,
        false => print(&format_args!("\n{outcome}\n{}", outcome.output.display()))?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// The configuration, with what the command line says otherwise.
    fn configuration(&self) -> anyhow::Result<Config> {
        let mut config = Config::read(&self.config)?;
        config.output.work = Some(config.work());
        if let Some(seed) = self.seed {
            config.train.seed = seed;
            if let Some(mixer) = &mut config.mixer {
                mixer.seed = seed;
            }
        }
        if let Some(out) = &self.out {
            config.output.model = out.clone();
        }
        if starts_from_bundled(&config)? {
            let base = config.work().join("bundled");
            unpack(&base)?;
            config.model.base = Some(base);
        } else if let Some(base) = &config.model.base {
            config.model.base = Some(hub::directory(base)?.into_owned());
        }
        Ok(config)
    }

    /// Trains a mixer instead.
    fn mixer(&self, config: &Config) -> anyhow::Result<ExitCode> {
        if self.prepare {
            let report = mixer::read_texts(config)?;
            match self.json {
                true => output::json(&serde_json::json!({ "data": report }))?,
                false => print(&report)?,
            }
            return Ok(ExitCode::SUCCESS);
        }
        if self.restart {
            mixer::forget(config)?;
        }
        let bar = Bar::default();
        let outcome = mixer::train(config, &mut &bar);
        bar.clear();
        let outcome = outcome?;
        match self.json {
            true => output::json(&serde_json::json!({ "outcome": outcome }))?,
            false => print(&outcome)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn prepare(&self, config: &Config) -> anyhow::Result<Prepared> {
        let bar = Bar::default();
        let indexing = Indexing::default();
        let preparation = Preparation {
            config,
            restart: self.restart,
            encoder: &|model| Ok(self.backend.open(model)?),
            indexing: &indexing,
            watch: &bar,
        };
        let prepared = preparation.run();
        bar.clear();
        Ok(prepared?)
    }
}

/// Whether the model to start from is the one in this program: because it was named, or by the index.
fn starts_from_bundled(config: &Config) -> anyhow::Result<bool> {
    match (&config.model.base, &config.index.path) {
        (Some(base), _) => Ok(base == Path::new(BUNDLED)),
        (None, Some(index)) => {
            let model = Manifest::read(index)?.model;
            Ok(model.is_some_and(|model| model.directory == Path::new(becr::models::BUNDLED)))
        }
        (None, None) => Ok(false),
    }
}

fn print(text: &impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = output::stdout();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}

/// Writes the bundled model to a directory, as training reads models.
fn unpack(directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)?;
    for (name, bytes) in becr::models::bundled_files() {
        let path = directory.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
