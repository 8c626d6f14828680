//! From a configuration file to a trained model, head or mixer.

use super::Args;
use super::watch::{Bar, Indexing};
use anyhow::Context;
use becr_cli::{hub, output};
use becr_index::manifest::Manifest;
use becr_train::config::{BUNDLED, Config};
use becr_train::data::{Preparation, Prepared};
use becr_train::{Training, forget, mixer};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
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

/// Writes the bundled model to a directory, as training reads models.
fn unpack(directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)?;
    for (name, bytes) in becr::models::bundled_files() {
        let path = directory.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn print(text: &impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = output::stdout();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}
