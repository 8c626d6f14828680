//! The table and the JSON.

use crate::Console;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
pub(super) struct EngineRow {
    pub(super) system: &'static str,
    pub(super) implementation: String,
    /// What the query's terms are made of: `composed` or `single`.
    pub(super) groups: &'static str,
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
pub(super) struct EngineReport {
    rows: Vec<EngineRow>,
}

impl EngineReport {
    /// Takes a row, and says so: a full run takes minutes.
    pub(super) fn push(&mut self, row: EngineRow, console: &Console<'_>) {
        console.note(format_args!(
            "{} {} {} n={} layers={} bits={} threads={}: {:.3} ms",
            row.system,
            row.implementation,
            row.groups,
            row.n,
            row.layers,
            row.bits,
            row.threads,
            row.ms
        ));
        self.rows.push(row);
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        writeln!(
            out,
            "{:<8} {:<18} {:<8} {:>2} {:>6} {:>4} {:>7} {:>10} {:>9} {:>8}",
            "system",
            "implementation",
            "groups",
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
                "{:<8} {:<18} {:<8} {:>2} {:>6} {:>4} {:>7} {:>10.3}",
                row.system,
                row.implementation,
                row.groups,
                row.n,
                row.layers,
                row.bits,
                row.threads,
                row.ms
            )?;
            match row.floor_ms {
                Some(floor) => writeln!(out, " {floor:>9.3} {:>8.2}", row.ms / floor)?,
                None => writeln!(out, " {:>9} {:>8}", "-", "-")?,
            }
        }
        Ok(())
    }
}
