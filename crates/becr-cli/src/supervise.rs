//! Commands that read an index do so in a child process.
//!
//! An index is mapped into memory, and a damaged page of it can end whoever reads it with a signal. The child has the
//! same arguments, standard streams and terminal; its exit status is passed on; what ends it by a signal or a panic
//! becomes an error that names the index and says what to do.

use crate::{interrupt, output};
use becr_index::manifest::Manifest;
use rustix::process::Signal;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::{Mutex, PoisonError};

/// Tells the child that it is one. What the child starts itself is none: it is taken away from that.
pub(crate) const VARIABLE: &str = "BECR_SUPERVISED";

/// The signals that end a process because of what it read, not because somebody sent them.
const FAULTS: [(Signal, &str); 5] = [
    (Signal::ILL, "SIGILL"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::SEGV, "SIGSEGV"),
];

/// How a command in a child process ended.
pub(crate) enum Ended {
    /// With this status, everything said.
    Told(ExitCode),
    /// By what it read: the reason.
    Fell(String),
}

/// Whether this process is the child.
pub(crate) fn is_child() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Runs this command again, in a child process.
pub(crate) fn run(index: &Path) -> io::Result<Ended> {
    Ok(ended(start()?.wait()?, &[index]))
}

/// Starts this command again, as a child process.
pub(crate) fn start() -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(VARIABLE, std::process::id().to_string())
        .spawn()
}

/// What the end of a child means that read these indexes.
pub(crate) fn ended(status: ExitStatus, indexes: &[impl AsRef<Path>]) -> Ended {
    if let Some(code) = status.code() {
        return Ended::Told(ExitCode::from(u8::try_from(code).unwrap_or(1)));
    }
    let signal = status.signal().unwrap_or_default();
    match FAULTS.iter().find(|(fault, _)| fault.as_raw() == signal) {
        Some((_, name)) => Ended::Fell(format!(
            "{}: reading it ended with {name}: a file of the index is damaged, most likely the store's; `becr verify` \
             tells which; restore the index from a copy or build it again",
            named(indexes)
        )),
        // ^C is for both of us, and the child was the first to end.
        None if signal == Signal::INT.as_raw() => {
            interrupt::say();
            Ended::Told(ExitCode::from(interrupt::STATUS))
        }
        // As a shell tells it.
        None => Ended::Told(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))),
    }
}

/// Their stores' files, where there are such.
fn named(indexes: &[impl AsRef<Path>]) -> String {
    let named = indexes.iter().map(|index| {
        let index = index.as_ref();
        let store = Manifest::read(index).map(|manifest| manifest.store(index).join("data.mdb"));
        let named = store.ok().filter(|file| file.is_file());
        named.as_deref().unwrap_or(index).display().to_string()
    });
    named.collect::<Vec<_>>().join(" or ")
}

/// What the child does: the work, with the parent's end as its own, and panics as errors.
pub(crate) fn child(
    index: &Path,
    work: impl FnOnce() -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    end_with_parent();
    static PANIC: Mutex<Option<String>> = Mutex::new(None);
    let held = || PANIC.lock().unwrap_or_else(PoisonError::into_inner);
    panic::set_hook(Box::new(move |info| {
        let mut first = held();
        if first.is_none() {
            *first = Some(info.to_string().replace('\n', " "));
        }
    }));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    let panicked = held().take();
    match (done, panicked) {
        (Ok(Ok(code)), None) => Ok(code),
        (Ok(Ok(code)), Some(panic)) => {
            // A thread that nobody waited for.
            output::note(panic);
            Ok(code)
        }
        (Ok(Err(error)), None) => Err(error),
        (Ok(Err(error)), _) if output::is_closed_pipe(&error) => Err(error),
        (Ok(Err(_)) | Err(_), panic) => anyhow::bail!(
            "{}: reading it failed inside of the program ({}); where `becr verify` finds the index damaged, restore it \
             from a copy or build it again, otherwise please report this",
            index.display(),
            panic.unwrap_or_default()
        ),
    }
}

/// Whoever kills the command means the work.
#[cfg(target_os = "linux")]
pub(crate) fn end_with_parent() {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // The parent may have ended before that.
    let parent = std::env::var(VARIABLE).unwrap_or_default();
    if parent != std::os::unix::process::parent_id().to_string() {
        std::process::exit(1);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn end_with_parent() {}
