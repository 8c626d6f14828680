//! What was passed over, and why.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::error::{CorpusError, Place};

/// What to do with an input that is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Return the error and read no further.
    #[default]
    Stop,
    /// Leave the document or query out, count it, go on.
    Skip,
}

/// How many files are shown of each rule by which they were left out.
const SHOWN: usize = 20;
/// How many are remembered.
const NAMES: usize = 100_000;
/// How many faults are remembered word for word.
const EXAMPLES: usize = 5;

/// Counts of what was passed over: faults skipped under [`OnError::Skip`], and what a rule left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkipReport {
    /// Faults by reason.
    pub faults: BTreeMap<&'static str, u64>,
    /// How many of these cost a whole file.
    pub whole_files: u64,
    /// The first few faults and empty documents, each with file, line and cause.
    pub examples: Vec<String>,
    /// Documents that were kept though neither title nor text has anything in it.
    pub empty: u64,
    /// Files whose text was converted to UTF-8, by the encoding that they have.
    pub converted: BTreeMap<&'static str, u64>,
    /// What was left out on purpose, by rule: documents under the spam threshold, web records that are no pages,
    /// files of a folder that hold no documents.
    pub left_out: BTreeMap<&'static str, u64>,
    /// The files among these, by rule or encoding. A report as text names the first twenty of each.
    pub files: BTreeMap<&'static str, Vec<String>>,
}

impl SkipReport {
    /// All faults together.
    pub fn total_faults(&self) -> u64 {
        self.faults.values().sum()
    }

    fn write_names(&self, f: &mut fmt::Formatter<'_>, rule: &str, count: u64) -> fmt::Result {
        let names = self.files.get(rule).map_or(&[][..], Vec::as_slice);
        let shown = &names[..names.len().min(SHOWN)];
        for name in shown {
            writeln!(f, "  {name}")?;
        }
        if !shown.is_empty() && (shown.len() as u64) < count {
            writeln!(f, "  and {} more", count - shown.len() as u64)?;
        }
        Ok(())
    }

    /// Whether the text of the report leaves names out.
    pub fn is_cut(&self) -> bool {
        self.files.values().any(|names| names.len() > SHOWN)
    }

    pub(crate) fn add_fault(&mut self, error: &CorpusError) {
        *self.faults.entry(error.kind.reason()).or_default() += 1;
        self.whole_files += u64::from(error.place == Place::File);
        if self.examples.len() < EXAMPLES {
            self.examples.push(error.to_string());
        }
    }

    pub(crate) fn add_empty(&mut self, remark: &CorpusError) {
        self.empty += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(remark.to_string());
        }
    }

    /// Counts a file that was left out, and names it.
    pub(crate) fn add_file(&mut self, rule: &'static str, path: &Path) {
        self.add_left_out(rule, 1);
        self.name(rule, path);
    }

    /// Counts a file that was converted, and names it.
    pub(crate) fn add_converted(&mut self, encoding: &'static str, path: &Path) {
        *self.converted.entry(encoding).or_default() += 1;
        self.name(encoding, path);
    }

    fn name(&mut self, rule: &'static str, path: &Path) {
        let names = self.files.entry(rule).or_default();
        if names.len() < NAMES {
            names.push(path.display().to_string());
        }
    }

    pub(crate) fn add_left_out(&mut self, rule: &'static str, count: u64) {
        if count > 0 {
            *self.left_out.entry(rule).or_default() += count;
        }
    }
}

/// One line per reason, then the examples; nothing at all if nothing was passed over.
impl fmt::Display for SkipReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (reason, count) in &self.faults {
            writeln!(f, "skipped {count}: {reason}")?;
        }
        if self.empty > 0 {
            writeln!(f, "kept {}: empty, no search will find them", self.empty)?;
        }
        for example in &self.examples {
            writeln!(f, "  {example}")?;
        }
        if self.whole_files > 0 {
            writeln!(f, "  (a line in .becrignore leaves a file out for good)")?;
        }
        for (encoding, count) in &self.converted {
            writeln!(f, "converted {count} to UTF-8: {encoding}")?;
            self.write_names(f, encoding, *count)?;
        }
        for (rule, count) in &self.left_out {
            writeln!(f, "left out {count}: {rule}")?;
            self.write_names(f, rule, *count)?;
        }
        Ok(())
    }
}
