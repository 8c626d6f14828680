//! The fault machine: what is left of an index when `becr` is killed, the power fails or the disk does.
//!
//! ```text
//! becr-faults BECR STATES [SEED [COMMAND]]
//! ```
//!
//! The real command runs on a real file system, watched by `strace`; nothing in it is replaced. In turn
//!
//! - a **power cut**: a run's system calls are recorded and replayed on a model of a disk up to some call (`trace.rs`,
//!   `disk.rs`). Of what was not synced by then some is lost, as POSIX allows, and what is left is put into a folder;
//! - an **injection**: a system call of a certain number fails, or its process is killed there, with a disk that syncs
//!   slowly now and then (`inject.rs`).
//!
//! After each the index must be sound, hold what was acknowledged and nothing half, and the same command must succeed and
//! end where it ends undisturbed (`scenario.rs`).
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod disk;
mod inject;
mod scenario;
mod trace;

use anyhow::{Context, ensure};
use becr_basics::SplitMix64 as Random;
use scenario::{Scenario, World};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<bool> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [becr, states, rest @ ..] = &arguments[..] else {
        anyhow::bail!("how to call it: becr-faults BECR STATES [SEED [COMMAND]]");
    };
    let becr = Path::new(becr)
        .canonicalize()
        .with_context(|| format!("no program {becr}"))?;
    let states: usize = states.parse().context("STATES is a number")?;
    let seed: u64 = rest.first().map_or(Ok(1), |seed| seed.parse())?;
    let watched = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=none", "true"])
        .stderr(Stdio::null())
        .status();
    ensure!(
        watched.is_ok_and(|status| status.success()),
        "strace is not there, or may not watch programs here"
    );
    let folder = tempfile::tempdir()?;
    let world = World::new(&becr, &folder.path().canonicalize()?)?;
    let mut scenarios = scenario::all(&world)?;
    if let Some(name) = rest.get(1) {
        scenarios.retain(|scenario| scenario.name == name);
        ensure!(!scenarios.is_empty(), "no command {name} is tried");
    }
    let begun = Instant::now();
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= states {
                        return;
                    }
                    let scenario = &scenarios[number % scenarios.len()];
                    let outcome = state(&world, scenario, seed, number);
                    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                    tally.add(scenario, outcome, number);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (name, tried, failed) in &tally.rows {
        println!("{name:<22} {tried:>5} states, {failed} failed");
    }
    println!(
        "{states} states of seed {seed} in {:.0} s, {} failed",
        begun.elapsed().as_secs_f64(),
        tally.failed()
    );
    if tally.failed() > 0 {
        // For whoever looks into it.
        println!("kept: {}", folder.keep().display());
        return Ok(false);
    }
    Ok(true)
}

#[derive(Default)]
struct Tally {
    rows: Vec<(String, usize, usize)>,
}

impl Tally {
    fn add(
        &mut self,
        scenario: &Scenario,
        outcome: Result<Kind, (Kind, anyhow::Error)>,
        number: usize,
    ) {
        let (kind, failed) = match outcome {
            Ok(kind) => (kind, 0),
            Err((kind, error)) => {
                println!("state {number}, {}, {kind:?}: {error:#}", scenario.name);
                (kind, 1)
            }
        };
        let name = format!("{} {kind:?}", scenario.name);
        match self.rows.iter_mut().find(|row| row.0 == name) {
            Some(row) => (row.1, row.2) = (row.1 + 1, row.2 + failed),
            None => self.rows.push((name, 1, failed)),
        }
    }

    fn failed(&self) -> usize {
        self.rows.iter().map(|row| row.2).sum()
    }
}

/// What happens to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    PowerCut,
    Kill,
    Error,
}

/// One state: made, and checked.
fn state(
    world: &World,
    scenario: &Scenario,
    seed: u64,
    number: usize,
) -> Result<Kind, (Kind, anyhow::Error)> {
    let mut random = Random::new(becr_basics::mix(seed) ^ number as u64);
    let kind = match (number / 16) % 4 {
        _ if scenario.recording.is_none() => [Kind::Kill, Kind::Error][random.below(2)],
        0 | 1 => Kind::PowerCut,
        2 => Kind::Kill,
        _ => Kind::Error,
    };
    let folder = scenario
        .place
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let checked = match kind {
        Kind::PowerCut => power_cut(world, scenario, &folder, number, &mut random),
        _ => inject::state(world, scenario, &folder, number, kind, &mut random),
    };
    match checked {
        Ok(()) => {
            let _ = std::fs::remove_dir_all(&*folder);
            Ok(kind)
        }
        Err(error) => {
            let kept = world.root.join(format!("state-{number}"));
            let _ = std::fs::rename(&*folder, kept);
            Err((kind, error))
        }
    }
}

fn power_cut(
    world: &World,
    scenario: &Scenario,
    folder: &Path,
    number: usize,
    random: &mut Random,
) -> anyhow::Result<()> {
    let Some(recording) = &scenario.recording else {
        return Ok(());
    };
    let last = recording.events.len();
    // Now and then when all is over: then nothing may be missing.
    let cut = match random.below(6) {
        0 => last,
        _ => random.below(last + 1),
    };
    let disk = recording.replay(cut);
    let loss = disk::Loss::any(random);
    disk.materialise(folder, &loss, random)?;
    let said = recording.events[..cut]
        .last()
        .map(|event| format!("{event}"));
    scenario
        .check(world, folder, number, cut == last)
        .with_context(|| format!("power cut after call {cut} of {last} ({said:?}), {loss:?}"))
}
