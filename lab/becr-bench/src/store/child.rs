//! Measurements that need a process of their own.

use crate::Console;
use anyhow::{Context, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a child process is to measure.
#[derive(Serialize, Deserialize)]
pub(super) enum Task {
    /// Open the store and read from all of it.
    Serve { dir: PathBuf, documents: u64 },
    /// Read records through the store.
    Store { dir: PathBuf, numbers: Vec<u64> },
    /// Read ranges of the store's file: (offset, length).
    Pread {
        file: PathBuf,
        ranges: Vec<(u64, usize)>,
        threads: usize,
    },
}

/// Carries out the task in the file.
pub(super) fn run(file: &Path, console: &mut Console<'_>) -> anyhow::Result<()> {
    match serde_json::from_slice(&std::fs::read(file)?)? {
        Task::Serve { dir, documents } => console.json(&super::serve::child(&dir, documents)?),
        Task::Store { dir, numbers } => console.json(&super::cold::through_store(&dir, &numbers)?),
        Task::Pread {
            file,
            ranges,
            threads,
        } => console.json(&super::cold::through_pread(&file, &ranges, threads)?),
    }
}

/// Has a new process carry out the task.
pub(super) fn call<T: DeserializeOwned>(task: &Task) -> anyhow::Result<T> {
    call_bench("store", task)
}

/// Has a new process carry out a task of the benchmark of this name, which takes it as `--task FILE` and prints JSON.
pub(crate) fn call_bench<T: DeserializeOwned>(
    bench: &str,
    task: &impl Serialize,
) -> anyhow::Result<T> {
    let file = tempfile::NamedTempFile::new()?;
    serde_json::to_writer(&file, task)?;
    let child = Command::new(std::env::current_exe()?)
        .args(["bench", bench, "--task"])
        .arg(file.path())
        .output()
        .context("cannot start the process that measures")?;
    ensure!(
        child.status.success(),
        "{}",
        String::from_utf8_lossy(&child.stderr).trim()
    );
    Ok(serde_json::from_slice(&child.stdout)?)
}

/// Drops a file from the page cache, as far as no process has it mapped.
pub(crate) fn drop_from_cache(file: &Path) -> anyhow::Result<()> {
    let handle =
        std::fs::File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    // Pages that are not on disk yet stay.
    handle.sync_all()?;
    rustix::fs::fadvise(&handle, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

/// A number that the system keeps about this process, in the unit it uses; `None` where it keeps none.
pub(super) fn of_process(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/proc/self").join(file)).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let value = line.trim_start_matches(':').trim();
    value.trim_end_matches("kB").trim().parse().ok()
}
