//! Models of the Hugging Face hub in the place of directories.

use crate::{output, progress};
use becr_hub::{Hub, Name, Observer, PREFIX, Settings};
use indicatif::ProgressBar;
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;

/// The directory of a model: as given, or, for `hf:owner/name`, where its files are kept, once they are there.
pub fn directory(given: &Path) -> anyhow::Result<Cow<'_, Path>> {
    let Some(name) = given.to_str().filter(|name| name.starts_with(PREFIX)) else {
        return Ok(given.into());
    };
    let name: Name = name.parse()?;
    let directory = Hub::new(Settings::from_env()?).fetch(&name, &Bar::default())?;
    Ok(directory.into())
}

/// A bar for each file.
#[derive(Default)]
struct Bar(RefCell<Option<ProgressBar>>);

impl Bar {
    fn with(&self, change: impl FnOnce(&ProgressBar)) {
        if let Some(bar) = &*self.0.borrow() {
            change(bar);
        }
    }
}

impl Observer for Bar {
    fn begin(&self, file: &'static str, size: u64) {
        self.0.replace(Some(progress::download(file, size)));
    }

    fn position(&self, bytes: u64) {
        self.with(|bar| bar.set_position(bytes));
    }

    fn advance(&self, bytes: u64) {
        self.with(|bar| bar.inc(bytes));
    }

    fn end(&self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }

    fn note(&self, message: &str) {
        output::note(message);
    }
}
