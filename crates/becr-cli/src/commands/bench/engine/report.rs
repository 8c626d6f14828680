//! The table and the JSON.

use crate::output;
use anyhow::Context;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

#[derive(Serialize)]
pub(super) struct Row {
    pub(super) system: &'static str,
    pub(super) implementation: String,
    pub(super) n: usize,
    pub(super) layers: usize,
    pub(super) bits: usize,
    pub(super) threads: usize,
    pub(super) documents: usize,
    pub(super) tokens: usize,
    pub(super) store_bytes: usize,
    pub(super) ms: f64,
    /// The time to read the same footprints; none where a system reads something else.
    pub(super) floor_ms: Option<f64>,
}

#[derive(Default, Serialize)]
pub(super) struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Takes a row, and says so: a full run takes minutes.
    pub(super) fn push(&mut self, row: Row) {
        output::note(format_args!(
            "{} {} n={} layers={} bits={} threads={}: {:.3} ms",
            row.system, row.implementation, row.n, row.layers, row.bits, row.threads, row.ms
        ));
        self.rows.push(row);
    }

    pub(super) fn print(&self) -> anyhow::Result<()> {
        let mut out = output::stdout();
        writeln!(
            out,
            "{:<8} {:<18} {:>2} {:>6} {:>4} {:>7} {:>10} {:>9} {:>8}",
            "system",
            "implementation",
            "n",
            "layers",
            "bits",
            "threads",
            "ms",
            "floor ms",
            "x floor"
        )?;
        for row in &self.rows {
            write!(
                out,
                "{:<8} {:<18} {:>2} {:>6} {:>4} {:>7} {:>10.3}",
                row.system, row.implementation, row.n, row.layers, row.bits, row.threads, row.ms
            )?;
            match row.floor_ms {
                Some(floor) => writeln!(out, " {floor:>9.3} {:>8.2}", row.ms / floor)?,
                None => writeln!(out, " {:>9} {:>8}", "-", "-")?,
            }
        }
        out.flush()?;
        Ok(())
    }

    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(file, text + "\n")
            .with_context(|| format!("cannot write {}", file.display()))
    }
}
