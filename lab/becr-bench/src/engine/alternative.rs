//! What the alternative costs: ColBERT-style MaxSim over documents of the same length, in Python's fastest form.

use super::report::EngineRow;
use super::work::{DOCUMENTS, TOKENS};
use anyhow::{Context, bail, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

const SCRIPT: &str = include_str!("maxsim.py");

/// Vectors of a ColBERT query, whatever its length: it is padded with mask tokens.
const QUERY_VECTORS: usize = 32;

/// A measured alternative.
pub(super) struct MaxSimTiming {
    package: String,
    ms: f64,
}

impl MaxSimTiming {
    pub(super) fn row(self) -> EngineRow {
        EngineRow {
            system: "maxsim",
            implementation: self.package,
            groups: "single",
            n: QUERY_VECTORS,
            layers: 1,
            // 128 dimensions in 32-bit floats.
            bits: 4096,
            threads: 1,
            documents: DOCUMENTS,
            tokens: TOKENS,
            store_bytes: 1200 * TOKENS * 512,
            ms: self.ms,
            floor_ms: None,
        }
    }
}

/// Runs the script with `python`.
pub(super) fn maxsim(python: &Path) -> anyhow::Result<MaxSimTiming> {
    let output = Command::new(python)
        .args(["-c", SCRIPT])
        .args([DOCUMENTS, TOKENS, QUERY_VECTORS].map(|n| n.to_string()))
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", python.display()))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{}: {} (install numpy, or maxsim-cpu, or name another Python with --python)",
            python.display(),
            error.lines().last().unwrap_or("failed without a word")
        );
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut fields = text.split_whitespace();
    let (package, ms) = (fields.next(), fields.next().and_then(|f| f.parse().ok()));
    ensure!(
        ms.is_some(),
        "{} printed `{}`",
        python.display(),
        text.trim()
    );
    Ok(MaxSimTiming {
        package: package.unwrap_or_default().to_owned(),
        ms: ms.unwrap_or_default(),
    })
}
