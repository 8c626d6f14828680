//! No room left at random moments: the index is sound and whole, and the same command succeeds once there is room.
//!
//! No privileges are needed: the largest size of a file is limited, so that writes fail as on a full disk.
//! `BECR_FULL_DISKS` sets the number of runs; the default suits a test run.

use crate::becr;
use crate::dice::{Dice, times};
use crate::failures::becr_after;
use crate::full::{corpus, digest, folder, index, run};
use std::fs;
use std::path::Path;

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn a_change_succeeds_once_there_is_room() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "base.jsonl", 0..60);
    corpus(folder, "more.jsonl", 60..200);
    index(folder, "base.jsonl", "whole", &[]);
    fs::create_dir(folder.join("folder")).unwrap();
    corpus(&folder.join("folder"), "some.jsonl", 20..140);
    let build = ["index", "more.jsonl", "--out", "live", "--model", "model"];
    let overwrite = [&build[..], &["--overwrite"]].concat();
    // A command, and the one that tries it again.
    let sync = ["sync", "live", "folder", "--remove-others"];
    let commands: [(&[&str], &[&str]); 6] = [
        (&sync, &["sync", "live"]),
        (
            &["add", "live", "more.jsonl"],
            &["add", "live", "more.jsonl", "--existing", "skip"],
        ),
        (
            &["update", "live", "base.jsonl"],
            &["update", "live", "base.jsonl"],
        ),
        (
            &["delete", "live", "d1", "d7", "d30"],
            &["delete", "live", "d1", "d7", "d30"],
        ),
        (&["compact", "live"], &["compact", "live"]),
        (&overwrite, &overwrite),
    ];
    let before = digest(folder, "whole");
    let expected = commands.map(|(command, _)| {
        copy(&folder.join("whole"), &folder.join("live"));
        run(folder, command);
        digest(folder, "live")
    });
    let largest = fs::metadata(folder.join("live/store/data.mdb"))
        .or_else(|_| fs::metadata(folder.join("live/store-1/data.mdb")))
        .unwrap()
        .len()
        / 1024;
    let mut dice = Dice::new(5);
    let mut failed = 0;
    for round in 0..times("BECR_FULL_DISKS", 6) {
        let at = round as usize % commands.len();
        let (command, again) = commands[at];
        let _ = fs::remove_dir_all(folder.join("live.partial"));
        copy(&folder.join("whole"), &folder.join("live"));
        let limit = 1 + dice.below(largest * 5 / 4);
        let limited = format!("trap '' XFSZ && ulimit -f {limit}");
        let outcome = becr_after(folder, &limited, command);
        let what = format!(
            "round {round}, {command:?}, {limit} KiB: {}",
            outcome.stderr
        );
        assert!(matches!(outcome.code, Some(0 | 1)), "{what}");
        assert!(!outcome.stderr.contains("panicked"), "{what}");
        run(folder, &["verify", "live"]);
        let now = digest(folder, "live");
        match outcome.code {
            Some(0) => assert_eq!(now, expected[at], "{what}"),
            _ => {
                failed += 1;
                // A batch of documents may be in; everything else is all or nothing.
                assert!(
                    now == before || ["add", "sync"].contains(&command[0]),
                    "{what}"
                );
                // Without its folders, unless it failed before they were remembered.
                match becr(folder, again).code {
                    Some(0) => {}
                    _ => drop(run(folder, command)),
                }
                assert_eq!(digest(folder, "live"), expected[at], "{what}");
                run(folder, &["verify", "live"]);
            }
        }
    }
    assert!(failed > 0, "nothing was ever full");
}

/// Few file handles are left: an error, and nothing is lost.
#[test]
fn running_out_of_file_handles_loses_nothing() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "base.jsonl", 0..30);
    corpus(folder, "more.jsonl", 30..60);
    index(folder, "base.jsonl", "live", &[]);
    let before = digest(folder, "live");
    let mut failures = 0;
    for handles in [8, 10, 12, 14, 16, 18, 20, 24, 28, 32] {
        let few = format!("ulimit -n {handles}");
        for command in [
            &["add", "live", "more.jsonl"][..],
            &["delete", "live", "d1"],
        ] {
            let outcome = becr_after(folder, &few, command);
            assert!(
                matches!(outcome.code, Some(0 | 1)),
                "{handles} {command:?}: {:?} {}",
                outcome.code,
                outcome.stderr
            );
            run(folder, &["verify", "live"]);
            if outcome.code == Some(0) {
                // Back to where it began, for the next limit.
                match command[0] {
                    "add" => {
                        let ids: Vec<String> = (30..60).map(|n| format!("d{n}")).collect();
                        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                        run(folder, &[&["delete", "live"], &ids[..]].concat());
                    }
                    _ => drop(run(
                        folder,
                        &["add", "live", "base.jsonl", "--existing", "skip"],
                    )),
                }
            } else {
                failures += 1;
            }
            assert_eq!(digest(folder, "live"), before, "{handles} {command:?}");
        }
    }
    assert!(failures > 0, "handles were never short");
    run(folder, &["add", "live", "more.jsonl"]);
}
