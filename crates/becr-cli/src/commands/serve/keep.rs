//! Keeps the server up: it runs in a child process, and is started again where a damaged file of an index ended it.

use crate::supervise::{self, Ended};
use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::{Child, ExitCode, ExitStatus};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal as Received, SignalKind, signal};

/// A server that falls this often within that time is given up: nobody is served by it.
const FALLS: usize = 5;
const WITHIN: Duration = Duration::from_secs(60);

/// Runs this command in a child process until it ends by itself. `here` is the command, for where no child can be started.
pub(super) fn alive(
    indexes: &[PathBuf],
    here: impl FnOnce() -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // Before there is a child: no signal may end the parent alone.
    let mut signals = runtime.block_on(async { Signals::new() })?;
    let Ok(mut child) = supervise::start() else {
        return here();
    };
    let mut falls = VecDeque::new();
    loop {
        let (status, stopped) = runtime.block_on(wait(child, &mut signals))?;
        let reason = match supervise::ended(status, indexes) {
            Ended::Told(code) => return Ok(code),
            Ended::Fell(reason) => reason,
        };
        falls.push_back(Instant::now());
        falls.retain(|fall| fall.elapsed() < WITHIN);
        if stopped || falls.len() >= FALLS {
            anyhow::bail!(
                "{reason} (the server fell {} times within a minute)",
                falls.len()
            );
        }
        tracing::error!(reason, "the server fell and is started again");
        child = supervise::start().context("the server cannot be started again")?;
    }
}

/// What ends a server in good order.
struct Signals {
    terminate: Received,
    interrupt: Received,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Waits for the child's end and passes on what asks it to end; says whether something did.
async fn wait(mut child: Child, signals: &mut Signals) -> anyhow::Result<(ExitStatus, bool)> {
    let pid = Pid::from_child(&child);
    let mut ended = tokio::task::spawn_blocking(move || child.wait());
    let mut stopped = false;
    loop {
        tokio::select! {
            status = &mut ended => return Ok((status??, stopped)),
            () = signals.next() => {
                stopped = true;
                // ^C reached the child too, and one signal more does it no harm. It may also have ended just now.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }
}
