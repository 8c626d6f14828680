//! Commands side by side on one index: each does what it says or says that it did not, and the index is sound.

use crate::becr;
use crate::dice::{Dice, times};
use crate::full::{corpus, digest, folder, index, run};
use crate::kill::ids;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn start(folder: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_becr"))
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Whether a command did its work; if it did not, it says that another was in its way.
fn succeeded(child: Child, what: &str) -> bool {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => true,
        Some(1) => {
            let told = ["another process is writing", "another build of this index"];
            assert!(
                told.iter().any(|told| said.contains(told)),
                "{what}: {said}"
            );
            false
        }
        code => panic!("{what}: {code:?} {said}"),
    }
}

/// `BECR_BESIDE` sets the number of rounds.
#[test]
fn a_new_build_beside_changes_of_the_old_index() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "old.jsonl", 0..60);
    corpus(folder, "new.jsonl", 100..180);
    corpus(folder, "more.jsonl", 60..80);
    index(folder, "old.jsonl", "old", &[]);
    index(folder, "new.jsonl", "new", &[]);
    index(folder, "more.jsonl", "more", &[]);
    let new_ids = ids(&folder.join("new"));
    let overwrites: [&[&str]; 2] = [
        &[
            "index",
            "new.jsonl",
            "--out",
            "live",
            "--model",
            "model",
            "--overwrite",
        ],
        &["merge", "new", "--out", "live", "--overwrite"],
    ];
    let changes: [&[&str]; 3] = [
        &["compact", "live"],
        &["add", "live", "more.jsonl", "--existing", "skip"],
        &["delete", "live", "d1", "d2", "d3"],
    ];
    let begun = Instant::now();
    index(folder, "old.jsonl", "live", &[]);
    run(folder, overwrites[0]);
    let span = begun.elapsed() / 2;
    let mut dice = Dice::new(29);
    for round in 0..times("BECR_BESIDE", 12) {
        let _ = fs::remove_dir_all(folder.join("live"));
        run(folder, &["merge", "old", "--out", "live"]);
        let overwrite = overwrites[dice.below(2) as usize];
        let change = changes[dice.below(3) as usize];
        let what = format!("round {round}: {overwrite:?} beside {change:?}");
        let building = start(folder, overwrite);
        // Changes one after the other while the build goes on, so that some meet its end.
        let until = Instant::now() + span + Duration::from_millis(dice.below(200));
        while Instant::now() < until {
            let outcome = becr(folder, change);
            let is_second_time = change[0] == "delete" && outcome.stderr.contains("d1");
            let told = outcome.stderr.contains("another process is writing");
            assert!(
                outcome.code == Some(0) || told || is_second_time,
                "{what}: {}",
                outcome.stderr
            );
        }
        let is_new = succeeded(building, &what);
        let now = ids(&folder.join("live"));
        run(folder, &["verify", "live"]);
        // A document of the old index is in the new one only if it was added after that was in place.
        match is_new {
            true => {
                assert!(now.is_superset(&new_ids), "{what}");
                assert!(!now.contains("d10"), "{what}: documents of the old index");
            }
            false => assert!(now.is_disjoint(&new_ids), "{what}"),
        }
        let left = folder.join("live.partial");
        assert!(!is_new || !left.exists(), "{what}");
        let _ = fs::remove_dir_all(left);
    }
}

/// Files of the first stage that are gone: every command says what mends it, and that does.
#[test]
fn a_first_stage_that_is_lost_is_written_anew() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "base.jsonl", 0..40);
    index(folder, "base.jsonl", "live", &[]);
    let before = digest(folder, "live");
    for entry in fs::read_dir(folder.join("live/first-stage")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|ending| ending == "term" || ending == "store")
        {
            fs::remove_file(path).unwrap();
        }
    }
    for command in [
        &["search", "live", "river"][..],
        &["delete", "live", "d3"],
        &["update", "live", "base.jsonl"],
    ] {
        let outcome = becr(folder, command);
        assert_eq!(outcome.code, Some(1), "{command:?}: {}", outcome.stdout);
        assert!(
            outcome.stderr.contains("becr compact"),
            "{command:?}: {}",
            outcome.stderr
        );
    }
    let outcome = becr(folder, &["verify", "live"]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stdout.contains("becr compact"),
        "{}",
        outcome.stdout
    );
    assert!(
        !outcome.stdout.contains("build it again"),
        "{}",
        outcome.stdout
    );
    run(folder, &["compact", "live"]);
    run(folder, &["verify", "live"]);
    assert_eq!(digest(folder, "live"), before);
    let found = run(folder, &["search", "live", "river", "--first-stage"]);
    assert!(found.stdout.contains("d"), "{}", found.stdout);
}
