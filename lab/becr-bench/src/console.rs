//! Where a benchmark says what it found.

use anyhow::Context;
use indicatif::ProgressBar;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

/// How the command that runs a benchmark shows results, remarks and progress.
pub struct Console<'a> {
    /// Takes the results.
    pub out: &'a mut dyn Write,
    /// Says something to the user while a benchmark runs.
    pub note: fn(&dyn Display),
    /// A progress bar over that many things of that name.
    pub bar: fn(u64, &'static str) -> ProgressBar,
}

impl Console<'_> {
    pub(crate) fn note(&self, message: impl Display) {
        (self.note)(&message);
    }

    /// Prints `value` as indented JSON.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        serde_json::to_writer_pretty(&mut *self.out, value).map_err(io::Error::from)?;
        writeln!(self.out)?;
        Ok(())
    }
}

/// Writes `value` as indented JSON to the file that `--json` names.
pub(crate) fn write_json(path: &Path, value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    if path == Path::new("-") {
        io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(());
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
