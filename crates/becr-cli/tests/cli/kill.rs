//! kill −9 at random moments: nothing that was committed is lost, and nothing is half there.
//!
//! `BECR_KILLS` sets the number of kills; the default suits a test run.

use crate::dice::{Dice, times};
use crate::full::{corpus, digest, folder, index, run};
use becr_index::manifest::Manifest;
use becr_lmdb::Store;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn kills() -> u64 {
    times("BECR_KILLS", 20)
}

pub(crate) fn ids(dir: &Path) -> BTreeSet<String> {
    let store = Store::open(&Manifest::read(dir).unwrap().store(dir)).unwrap();
    let snapshot = store.snapshot().unwrap();
    snapshot
        .documents()
        .unwrap()
        .map(|row| row.unwrap().1.to_owned())
        .collect()
}

/// Starts `becr` and kills it after `delay`; true if it had ended by itself, as it should.
fn kill_after(folder: &Path, arguments: &[&str], delay: Duration) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_becr"))
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(delay);
    let ended = child.try_wait().unwrap();
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    // The process that did the work ends with the one that was killed; it may take a moment.
    if let Ok(lock) = std::fs::File::open(folder.join("live/writer.lock")) {
        lock.lock().unwrap();
    }
    if let Some(status) = ended {
        assert!(
            status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    ended.is_some()
}

/// How long a command takes when it is left alone.
fn time(folder: &Path, arguments: &[&str]) -> Duration {
    let started = Instant::now();
    run(folder, arguments);
    started.elapsed()
}

#[test]
fn changes_are_all_or_nothing() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "base.jsonl", 0..40);
    corpus(folder, "more.jsonl", 40..60);
    index(folder, "base.jsonl", "live", &[]);
    let more: BTreeSet<String> = (40..60).map(|n| format!("d{n}")).collect();
    let add = ["add", "live", "more.jsonl"];
    let names: Vec<&str> = more.iter().map(String::as_str).collect();
    let delete = [&["delete", "live"], &names[..]].concat();
    let compact = ["compact", "live"];
    let update = ["update", "live", "base.jsonl"];
    let again = [
        "index",
        "base.jsonl",
        "--out",
        "live",
        "--model",
        "model",
        "--overwrite",
    ];
    let base = ids(&folder.join("live"));
    let typical = [
        time(folder, &add),
        time(folder, &delete),
        time(folder, &compact),
        time(folder, &update),
        time(folder, &again),
    ];
    let whole: BTreeSet<String> = base.union(&more).cloned().collect();
    let mut dice = Dice::new(7);
    let mut here = base.clone();
    for round in 0..kills() {
        // Add when the documents are absent, delete when they are there; compact, update and build anew now and then.
        let (command, span): (&[&str], _) = match (dice.below(6), here == base) {
            (0, _) => (&compact, typical[2]),
            (1, _) => (&update, typical[3]),
            (2, _) => (&again, typical[4]),
            (_, true) => (&add, typical[0]),
            (_, false) => (&delete, typical[1]),
        };
        let delay = span.mul_f64(dice.below(1000) as f64 / 1000.0);
        let ended = kill_after(folder, command, delay);
        let now = ids(&folder.join("live"));
        let after = match command[0] {
            "compact" | "update" => &here,
            "add" => &whole,
            _ => &base,
        };
        assert!(
            now == here || now == *after,
            "round {round}: {} ids after {command:?}",
            now.len()
        );
        assert!(
            !ended || now == *after,
            "round {round}: an ended {command:?} left no trace"
        );
        run(folder, &["verify", "live"]);
        here = now;
    }
}

#[test]
fn an_interrupted_build_resumes_to_the_same_index() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..150);
    let build = ["index", "all.jsonl", "--out", "killed", "--model", "model"];
    let whole = time(
        folder,
        &["index", "all.jsonl", "--out", "whole", "--model", "model"],
    );
    let mut dice = Dice::new(11);
    for _ in 0..kills() / 4 {
        let _ = std::fs::remove_dir_all(folder.join("killed"));
        // Several interruptions of one build, then its end.
        while dice.below(3) > 0 {
            let ended = kill_after(
                folder,
                &build,
                whole.mul_f64(dice.below(1000) as f64 / 1000.0),
            );
            assert_eq!(
                ended || folder.join("killed").exists(),
                folder.join("killed").exists()
            );
            if folder.join("killed").exists() {
                break;
            }
        }
        if !folder.join("killed").exists() {
            run(folder, &build);
        }
        assert_eq!(digest(folder, "killed"), digest(folder, "whole"));
        run(folder, &["verify", "killed"]);
        assert!(!folder.join("killed.partial").exists());
    }
}

/// A folder changes to and fro, and each sync of it is killed: the index has documents of the one state or the other, and
/// the next sync goes on.
#[test]
fn a_killed_sync_is_gone_on_with() {
    let folder = folder();
    let folder = folder.path();
    let notes = folder.join("notes");
    std::fs::create_dir(&notes).unwrap();
    let write = |round: u64| {
        for number in 0..30 {
            let path = notes.join(format!("{number}.md"));
            match (number % 3, round % 2) {
                // Always there, there in turn, and changed in turn.
                (0, _) => std::fs::write(path, format!("river bank {number}")).unwrap(),
                (1, 0) => std::fs::write(path, format!("money {number}")).unwrap(),
                (1, _) => std::fs::remove_file(path).unwrap(),
                (_, round) => {
                    let text = "fish boat spring ".repeat(5 + number as usize * 3);
                    std::fs::write(path, format!("{text} {round}")).unwrap();
                }
            }
        }
    };
    let sync = ["sync", "live"];
    write(0);
    run(folder, &["sync", "live", "notes", "--model", "model"]);
    let mut states = [digest(folder, "live"), String::new()];
    let mut sets = [ids(&folder.join("live")), BTreeSet::new()];
    write(1);
    let span = time(folder, &sync);
    states[1] = digest(folder, "live");
    sets[1] = ids(&folder.join("live"));
    let all: BTreeSet<String> = sets[0].union(&sets[1]).cloned().collect();
    let both: BTreeSet<String> = sets[0].intersection(&sets[1]).cloned().collect();
    let mut dice = Dice::new(13);
    for round in 2..2 + kills() / 2 {
        write(round);
        let delay = span.mul_f64(dice.below(1000) as f64 / 1000.0);
        let ended = kill_after(folder, &sync, delay);
        let now = ids(&folder.join("live"));
        assert!(now.is_subset(&all) && both.is_subset(&now), "round {round}");
        run(folder, &["verify", "live"]);
        if !ended {
            run(folder, &sync);
        }
        let expected = &states[round as usize % 2];
        assert_eq!(&digest(folder, "live"), expected, "round {round}");
        let left = ["becr.sync", "becr.unfinished"].map(|name| folder.join("live").join(name));
        assert!(left.iter().all(|path| !path.exists()), "round {round}");
    }
}

/// A build of a folder by its first sync.
#[test]
fn a_killed_first_sync_is_gone_on_with() {
    let folder = folder();
    let folder = folder.path();
    std::fs::create_dir(folder.join("notes")).unwrap();
    corpus(&folder.join("notes"), "all.jsonl", 0..100);
    let whole = time(folder, &["sync", "whole", "notes", "--model", "model"]);
    let sync = ["sync", "killed", "notes", "--model", "model"];
    let mut dice = Dice::new(17);
    for _ in 0..kills() / 8 {
        let _ = std::fs::remove_dir_all(folder.join("killed"));
        let ended = kill_after(
            folder,
            &sync,
            whole.mul_f64(dice.below(1000) as f64 / 1000.0),
        );
        if !ended && !folder.join("killed").exists() && folder.join("killed.partial").exists() {
            let outcome = crate::becr(folder, &["search", "killed", "river"]);
            assert_eq!(outcome.code, Some(1));
            let said = outcome.stderr;
            assert!(
                said.contains("was interrupted") || said.contains("not a BECR"),
                "{said}"
            );
        }
        run(folder, &sync);
        assert_eq!(digest(folder, "killed"), digest(folder, "whole"));
    }
}
