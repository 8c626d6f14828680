//! What an index that was measured predicts for another collection.

use super::units::{bytes, operations};
use crate::commands::measured::components;
use becr::Index;
use becr_groups::cost::predict::{Measured, Prediction, Target, predict};
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// An index, a collection, and what the one says of the other.
#[derive(Serialize)]
pub(super) struct Forecast {
    index: PathBuf,
    measured: Measured,
    target: Target,
    prediction: Prediction,
}

impl Forecast {
    /// Measures the index in `dir`.
    pub(super) fn new(dir: &Path, target: Target) -> anyhow::Result<Self> {
        let sizes = Index::open(dir)?.stats()?.store;
        let sizes = sizes.ok_or_else(|| becr::Error::Lexical(dir.to_owned()))?;
        let measured = components(&sizes, dir)?;
        if measured.documents == 0 {
            anyhow::bail!(
                "{}: an index without documents predicts nothing; add some",
                dir.display()
            );
        }
        Ok(Self {
            index: dir.to_owned(),
            prediction: predict(&measured, &target),
            measured,
            target,
        })
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (measured, target) = (&self.measured, &self.target);
        let per_document = measured.tokens as f64 / measured.documents as f64;
        let tokens = target.tokens_per_document.unwrap_or(per_document);
        let groups = target.groups.unwrap_or(measured.groups);
        writeln!(
            out,
            "measured   {} documents of {per_document:.1} tokens, {} token groups: {}",
            operations(measured.documents as f64),
            operations(measured.groups as f64),
            self.index.display(),
        )?;
        writeln!(
            out,
            "predicted  {} documents of {tokens:.1} tokens, {} token groups",
            operations(target.documents as f64),
            operations(groups as f64),
        )?;
        writeln!(out)?;
        writeln!(out, "{:<30} {:>13} {:>13}", "", "measured", "predicted")?;
        let parts = measured.components.iter();
        for (now, then) in parts.zip(&self.prediction.components) {
            writeln!(
                out,
                "{:<30} {:>13} {:>13}",
                now.name,
                bytes(now.bytes),
                bytes(then.bytes)
            )?;
        }
        let total = measured.components.iter().map(|part| part.bytes).sum();
        writeln!(
            out,
            "{:<30} {:>13} {:>13}",
            "all",
            bytes(total),
            bytes(self.prediction.bytes)
        )?;
        writeln!(
            out,
            "{} a document, without token groups. Words are taken to grow with the tokens, which is more than they do.",
            bytes(self.prediction.bytes_per_document)
        )
    }
}
