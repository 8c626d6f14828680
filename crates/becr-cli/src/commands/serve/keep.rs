//! Keeps the server up: it runs in a child process, and is started again where a damaged file of an index ended it, or the
//! system did for lack of memory.

use crate::supervise::{self, Ended};
use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitCode, ExitStatus};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal as Received, SignalKind, signal};

/// A server that falls this often within that time is given up: nobody is served by it.
const FALLS: usize = 5;
const WITHIN: Duration = Duration::from_secs(60);
/// Before it is started again for the first time within that; each further time it is so many times as long. What took its
/// memory may have to end first.
const PAUSE: Duration = Duration::from_millis(100);
const GROWTH: u32 = 3;
/// From a signal to the server's end. Its own limit is shorter: one that is past this hears nothing any more.
const STOP: Duration = Duration::from_secs(35);

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
        let reason = match fall(status, indexes) {
            // Asked to end before it could hear that: it had nothing to finish.
            Ok(_) if stopped && status.signal() == Some(Signal::TERM.as_raw()) => {
                return Ok(ExitCode::SUCCESS);
            }
            Ok(code) => return Ok(code),
            Err(_) if stopped && is_killed(status) => anyhow::bail!(
                "the server did not end within {} s of the signal and was killed",
                STOP.as_secs()
            ),
            Err(reason) => reason,
        };
        falls.push_back(Instant::now());
        falls.retain(|fall| fall.elapsed() < WITHIN);
        if stopped || falls.len() >= FALLS {
            anyhow::bail!(
                "{reason} (the server fell {} times within a minute)",
                falls.len()
            );
        }
        let pause = PAUSE * GROWTH.pow(falls.len() as u32 - 1);
        tracing::error!(reason, ?pause, "the server fell and is started again");
        let is_asked_to_end = runtime.block_on(async {
            tokio::select! {
                () = tokio::time::sleep(pause) => false,
                () = signals.next() => true,
            }
        });
        if is_asked_to_end {
            return Ok(ExitCode::SUCCESS);
        }
        child = supervise::start().context("the server cannot be started again")?;
    }
}

fn is_killed(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::KILL.as_raw())
}

/// The status of a server that has ended, or why it fell.
fn fall(status: ExitStatus, indexes: &[PathBuf]) -> Result<ExitCode, String> {
    if is_killed(status) {
        return Err(
            "the server was ended with SIGKILL, most likely by the system for lack of memory; fewer --threads, a smaller \
             --cache-bytes or fewer --text-tokens take less"
                .to_owned(),
        );
    }
    match supervise::ended(status, indexes) {
        Ended::Told(code) => Ok(code),
        Ended::Fell(reason) => Err(reason),
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
    let mut late = std::pin::pin!(tokio::time::sleep(STOP));
    loop {
        tokio::select! {
            status = &mut ended => return Ok((status??, stopped)),
            () = &mut late, if stopped => {
                let _ = kill_process(pid, Signal::KILL);
                return Ok((ended.await??, stopped));
            }
            () = signals.next() => {
                if !stopped {
                    late.as_mut().reset(tokio::time::Instant::now() + STOP);
                }
                stopped = true;
                // ^C reached the child too, and one signal more does it no harm. It may also have ended just now.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }
}
