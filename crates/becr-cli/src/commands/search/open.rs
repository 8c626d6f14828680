//! Opening the file of a result.

use super::ResultRow;
use crate::{output, supervise};
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::process::Command;

/// Names the program that opens files.
const VARIABLE: &str = "BECR_OPENER";

pub(super) fn file(results: &[ResultRow], rank: usize) -> anyhow::Result<()> {
    let Some(result) = results.iter().find(|result| result.rank == rank) else {
        let found = output::several(results.len() as u64, "result");
        bail!("--open {rank}: the search has {found}");
    };
    let Some(path) = &result.path else {
        bail!(
            "--open {rank}: \"{}\" is no file that this index knows of; `becr sync` has an index follow folders",
            result.id
        );
    };
    let opener = std::env::var_os(VARIABLE).unwrap_or_else(default);
    let named = || format!("cannot open {} with {}", path.display(), opener.display());
    let status = Command::new(&opener)
        .arg(path)
        .env_remove(supervise::VARIABLE)
        .status();
    let status = status.with_context(|| format!("{}; {VARIABLE} names a program", named()))?;
    if !status.success() {
        bail!("{}: {status}", named());
    }
    Ok(())
}

fn default() -> OsString {
    match cfg!(target_os = "macos") {
        true => "open".into(),
        false => "xdg-open".into(),
    }
}
