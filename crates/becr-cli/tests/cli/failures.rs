//! What the world does to an index: a full disk, a read-only medium, files cut short or gone.

use crate::full::{corpus, digest, folder, index, run};
use crate::{Outcome, becr};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Runs `becr` from a shell that first does `before`.
pub(crate) fn becr_after(folder: &Path, before: &str, arguments: &[&str]) -> Outcome {
    let output = Command::new("bash")
        .args(["-c", &format!("{before} && exec \"$@\""), "bash"])
        .arg(env!("CARGO_BIN_EXE_becr"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("bash starts");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "some.jsonl", 0..40);
    corpus(folder, "more.jsonl", 40..900);
    index(folder, "some.jsonl", "index", &[]);
    let before = digest(folder, "index");
    // No file may grow beyond what the store has now, in KiB.
    let store = fs::metadata(folder.join("index/store/data.mdb"))
        .unwrap()
        .len();
    let limit = format!("trap '' XFSZ && ulimit -f {}", store.div_ceil(1024));
    let full = becr_after(folder, &limit, &["add", "index", "more.jsonl"]);
    assert_eq!(full.code, Some(1), "{}{}", full.stdout, full.stderr);
    assert!(
        full.stderr.contains("no room is left") && full.stderr.contains("is safe"),
        "{}",
        full.stderr
    );
    run(folder, &["verify", "index"]);
    // Batches that were committed before the disk was full stay; adding again starts from there.
    let kept = run(folder, &["stats", "index", "--json"]).stdout;
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let kept = kept["store"]["totals"]["documents"].as_u64().unwrap();
    assert!((40..900).contains(&kept), "{kept} documents");
    if kept == 40 {
        assert_eq!(digest(folder, "index"), before);
    }
    run(folder, &["update", "index", "more.jsonl"]);
    assert!(
        run(folder, &["verify", "index"])
            .stdout
            .starts_with("sound: 900 documents")
    );
}

#[test]
fn a_build_on_a_full_disk_can_be_resumed() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..300);
    let build = ["index", "all.jsonl", "--out", "index", "--model", "model"];
    let full = becr_after(folder, "trap '' XFSZ && ulimit -f 96", &build);
    assert_eq!(full.code, Some(1), "{}{}", full.stdout, full.stderr);
    assert!(!full.stderr.contains("panicked"), "{}", full.stderr);
    assert!(
        !folder.join("index").exists(),
        "no half of an index is published"
    );
    run(folder, &build);
    assert!(
        run(folder, &["verify", "index"])
            .stdout
            .starts_with("sound: 300 documents")
    );
}

/// A shell command after which `index` lies on a read-only file system, for the commands that follow.
const READ_ONLY: &str = "mount --bind index index && mount -o remount,ro,bind index";

/// Runs `becr` where `index` is read-only; `None` if this system lets nobody set that up.
fn becr_read_only(folder: &Path, arguments: &[&str]) -> Option<Outcome> {
    let in_namespace = |command: &str, arguments: &[&str]| {
        let output = Command::new("unshare")
            .args(["--map-root-user", "--mount", "bash", "-c", command, "bash"])
            .arg(env!("CARGO_BIN_EXE_becr"))
            .args(arguments)
            .current_dir(folder)
            .output()
            .ok()?;
        Some(Outcome {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    };
    in_namespace(READ_ONLY, &[]).filter(|outcome| outcome.code == Some(0))?;
    in_namespace(&format!("{READ_ONLY} && exec \"$@\""), arguments)
}

#[test]
fn a_read_only_index_is_read() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "some.jsonl", 0..20);
    corpus(folder, "more.jsonl", 20..25);
    index(folder, "some.jsonl", "index", &[]);
    let Some(verified) = becr_read_only(folder, &["verify", "index"]) else {
        let mut stderr = std::io::stderr();
        writeln!(
            stderr,
            "not tested: mounting read-only needs user namespaces"
        )
        .unwrap();
        return;
    };
    assert!(
        verified.stdout.starts_with("sound: 20 documents"),
        "{}{}",
        verified.stdout,
        verified.stderr
    );
    for command in [
        &["stats", "index"][..],
        &["search", "index", "river bank", "--first-stage"],
    ] {
        let outcome = becr_read_only(folder, command).unwrap();
        assert_eq!(outcome.code, Some(0), "{command:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, run(folder, command).stdout);
    }
    for command in [
        &["add", "index", "more.jsonl"][..],
        &["delete", "index", "d1"],
        &["compact", "index"],
    ] {
        let outcome = becr_read_only(folder, command).unwrap();
        assert_eq!(outcome.code, Some(1), "{command:?}: {}", outcome.stdout);
        let reason = "cannot open for writing: Read-only file system";
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.matches("Read-only").count(), 1, "said once");
    }
    assert!(
        run(folder, &["verify", "index"])
            .stdout
            .starts_with("sound: 20 documents")
    );
}

#[test]
fn files_that_are_gone_are_named() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "some.jsonl", 0..5);
    index(folder, "some.jsonl", "index", &[]);
    for (file, named) in [("becr.json", "becr.json"), ("first-stage", "first-stage")] {
        let (whole, hidden) = (folder.join("index").join(file), folder.join("hidden"));
        fs::rename(&whole, &hidden).unwrap();
        for command in [
            &["stats", "index"][..],
            &["verify", "index"],
            &["search", "index", "river", "--first-stage"],
            &["delete", "index", "d1"],
        ] {
            let outcome = becr(folder, command);
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            assert_eq!(outcome.code, Some(1), "{command:?} without {file}: {said}");
            assert!(said.contains(named), "{command:?} without {file}: {said}");
        }
        fs::rename(&hidden, &whole).unwrap();
    }
    // A lexical index has no store; this one had.
    fs::remove_file(folder.join("index/store/data.mdb")).unwrap();
    let outcome = becr(folder, &["verify", "index"]);
    assert_eq!(
        outcome.code,
        Some(1),
        "{}{}",
        outcome.stdout,
        outcome.stderr
    );
    assert!(outcome.stdout.contains("store"), "{}", outcome.stdout);
}

#[test]
fn what_is_no_index_is_said_to_be_none() {
    let folder = folder();
    let folder = folder.path();
    fs::create_dir(folder.join("empty")).unwrap();
    fs::write(folder.join("file"), "text").unwrap();
    for place in ["empty", "nowhere", "file", "model"] {
        for command in [
            &["stats", place][..],
            &["verify", place],
            &["search", place, "river", "--first-stage"],
            &["delete", place, "d1"],
            &["compact", place],
        ] {
            let outcome = becr(folder, command);
            assert_eq!(outcome.code, Some(1), "{command:?}: {}", outcome.stderr);
            assert!(
                outcome.stderr.contains("not a BECR index"),
                "{command:?}: {}",
                outcome.stderr
            );
        }
    }
    assert_eq!(fs::read_dir(folder.join("empty")).unwrap().count(), 0);
}
