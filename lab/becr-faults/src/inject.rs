//! System calls that fail, processes that are killed in them, and a disk that takes its time.

use crate::Kind;
use crate::scenario::{Scenario, World, copy};
use anyhow::{Context, ensure};
use becr_basics::SplitMix64 as Random;
use std::path::Path;
use std::process::{Command, Stdio};

/// Calls in which a process may be killed.
const KILLED: &[&str] = &[
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "openat",
    "close",
    "fsync",
    "fdatasync",
    "rename",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "rmdir",
    "ftruncate",
    "lseek",
    "sendto",
    "recvfrom",
];
/// Calls that fail, and how.
const FAILING: &[(&str, &[&str])] = &[
    ("write", &["EIO", "ENOSPC"]),
    ("pwrite64", &["EIO", "ENOSPC"]),
    ("writev", &["EIO", "ENOSPC"]),
    ("pwritev", &["EIO", "ENOSPC"]),
    ("openat", &["EIO", "ENOSPC", "EMFILE"]),
    ("fsync", &["EIO", "ENOSPC"]),
    ("fdatasync", &["EIO", "ENOSPC"]),
    ("rename", &["EIO", "ENOSPC"]),
    ("renameat2", &["EIO", "ENOSPC"]),
    ("unlink", &["EIO"]),
    ("unlinkat", &["EIO"]),
    ("mkdir", &["EIO", "ENOSPC"]),
    ("rmdir", &["EIO"]),
    ("ftruncate", &["EIO", "ENOSPC"]),
    ("sendto", &["ECONNRESET"]),
    ("recvfrom", &["ECONNRESET"]),
    ("connect", &["ECONNREFUSED"]),
];
/// A sync of a slow disk, or a write to the store, in microseconds.
const SLOW: usize = 20_000;
/// The store alone writes at places of files: while its commit takes its time, merges of the first stage come to their end.
pub(crate) const SLOW_STORE: &str = "inject=pwrite64,pwritev:delay_enter=100000";

/// Runs a command with something in its way, and checks what it left.
pub(crate) fn state(
    world: &World,
    scenario: &Scenario,
    folder: &Path,
    number: usize,
    kind: Kind,
    random: &mut Random,
) -> anyhow::Result<()> {
    copy(&scenario.template, folder)?;
    let mut faults = Vec::new();
    match random.below(4) {
        0 => faults.push(format!("inject=fsync,fdatasync:delay_enter={SLOW}")),
        1 => faults.push(SLOW_STORE.to_owned()),
        _ => {}
    }
    faults.push(match kind {
        Kind::Error => {
            let known: Vec<_> = FAILING
                .iter()
                .filter(|(call, _)| scenario.counts.contains_key(*call))
                .collect();
            let (call, errors) = known[random.below(known.len())];
            let error = errors[random.below(errors.len())];
            // Once, or from then on.
            let more = ["", "+"][random.below(2)];
            let when = 1 + random.below(scenario.counts[*call]);
            format!("inject={call}:error={error}:when={when}{more}")
        }
        _ => {
            let known: Vec<_> = KILLED
                .iter()
                .filter(|call| scenario.counts.contains_key(**call))
                .collect();
            let call = known[random.below(known.len())];
            let when = 1 + random.below(scenario.counts[*call]);
            format!("inject={call}:signal=KILL:when={when}")
        }
    });
    let command = Scenario::named(&scenario.command, number);
    let output = Command::new("timeout")
        .args(["-k", "5", "120", "strace", "-f", "-qq", "-o", "/dev/null"])
        .args(faults.iter().flat_map(|fault| ["-e", fault]))
        .arg(&world.becr)
        .args(&command)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let what = || {
        format!(
            "{}: {faults:?}: {:?} {said}",
            command.join(" "),
            output.status.code()
        )
    };
    ensure!(!said.contains("panicked"), "{}", what());
    ensure!(
        output.status.code() != Some(124),
        "it does not end: {}",
        what()
    );
    scenario
        .check(world, folder, number, output.status.success())
        .with_context(what)
}
