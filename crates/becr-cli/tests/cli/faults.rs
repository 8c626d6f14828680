//! What attacks on the release build broke, each mended for good.

use crate::becr;
use crate::failures::becr_after;
use crate::full::{corpus, digest, folder, index, run};
use crate::ranked::{ranked, rows};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const BUILD: [&str; 6] = ["index", "all.jsonl", "--out", "X", "--model", "model"];

#[test]
fn what_stands_at_the_place_of_a_build_is_left_alone() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..5);
    fs::create_dir(folder.join("X.partial")).unwrap();
    fs::write(folder.join("X.partial/thesis.txt"), "years of work").unwrap();
    for more in [&[][..], &["--overwrite"], &["--lexical-only"]] {
        let outcome = becr(folder, &[&BUILD[..], more].concat());
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("X.partial"), "{}", outcome.stderr);
    }
    let thesis = fs::read_to_string(folder.join("X.partial/thesis.txt")).unwrap();
    assert_eq!(thesis, "years of work");
}

/// An index is found damaged by the file that is, and what reads it ends in an error.
#[test]
fn every_file_is_verified() {
    let folder = ranked();
    let folder = folder.path();
    let broken = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let path = folder.join("index").join(name);
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        change(&mut bytes);
        for damage in [Some(bytes), None] {
            match damage {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let outcome = becr(folder, &["verify", "index"]);
            assert_eq!(outcome.code, Some(1), "{name}: {}", outcome.stdout);
            let short = name.rsplit('/').next().unwrap();
            assert!(outcome.stdout.contains(short), "{name}: {}", outcome.stdout);
            fs::write(&path, &whole).unwrap();
        }
    };
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    };
    for name in [
        "model/head.json",
        "model/config.json",
        "model/vocab.txt",
        "groups.list",
    ] {
        broken(name, &flip);
    }
    for entry in fs::read_dir(folder.join("index/first-stage")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let extension = name.rsplit_once('.').unwrap().1;
        if ["fieldnorm", "pos", "idx", "term", "store", "fast"].contains(&extension) {
            broken(&format!("first-stage/{name}"), &|bytes| bytes[0] ^= 1);
        }
    }
    run(folder, &["verify", "index"]);
}

/// 1,100 documents and a broken last line: what is in is told, and the retry goes on from there.
#[test]
fn a_failed_add_is_gone_on_with() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "base.jsonl", 0..10);
    corpus(folder, "more.jsonl", 10..1110);
    index(folder, "base.jsonl", "live", &[]);
    let good = fs::read_to_string(folder.join("more.jsonl")).unwrap();
    fs::write(folder.join("more.jsonl"), format!("{good}{{broken\n")).unwrap();
    let outcome = becr(folder, &["add", "live", "more.jsonl"]);
    assert_eq!(outcome.code, Some(1));
    let told = "1100 documents before that are in the index";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("--existing skip"),
        "{}",
        outcome.stderr
    );
    run(folder, &["verify", "live"]);
    fs::write(folder.join("more.jsonl"), &good).unwrap();
    let refused = becr(folder, &["add", "live", "more.jsonl"]).stderr;
    assert!(
        refused.contains("nothing was added before that") && refused.contains("--existing skip"),
        "{refused}"
    );
    let retried = run(folder, &["add", "live", "more.jsonl", "--existing", "skip"]);
    assert_eq!(
        retried.stdout,
        "0 added, 0 replaced, 0 deleted, 1100 skipped\n"
    );
    let replaced = run(
        folder,
        &["add", "live", "base.jsonl", "--existing", "replace"],
    );
    assert_eq!(replaced.stdout, "0 added, 10 replaced, 0 deleted\n");
    assert!(
        run(folder, &["verify", "live"])
            .stdout
            .starts_with("sound: 1110")
    );
}

/// Files that are no documents do not keep a build from going on, and compacting leaves its work.
#[test]
fn an_interrupted_build_is_gone_on_with_beside_other_changes() {
    let folder = folder();
    let folder = folder.path();
    fs::create_dir_all(folder.join("notes/.git")).unwrap();
    corpus(folder, "notes/all.jsonl", 0..300);
    let build = ["index", "notes", "--out", "notes/X", "--model", "model"];
    let full = becr_after(folder, "trap '' XFSZ && ulimit -f 96", &build);
    assert_eq!(full.code, Some(1), "{}", full.stderr);
    let fingerprint = folder.join("notes/X.partial/build.json");
    assert!(fingerprint.is_file(), "{}", full.stderr);
    fs::write(folder.join("notes/.git/HEAD"), "changed").unwrap();
    fs::write(folder.join("notes/picture.png"), "changed").unwrap();
    let built = run(folder, &build);
    assert!(built.stdout.contains("300 documents"), "{}", built.stdout);
    // The folder has its own index now, and can be indexed again.
    let again = ["index", "notes", "--out", "Y", "--model", "model"];
    let built = run(folder, &again);
    assert!(built.stderr.contains("notes/X"), "{}", built.stderr);
    assert_eq!(digest(folder, "Y"), digest(folder, "notes/X"));
    let overwrite = [&build[..], &["--overwrite", "--no-text"]].concat();
    becr_after(folder, "trap '' XFSZ && ulimit -f 96", &overwrite);
    assert!(fingerprint.is_file());
    run(folder, &["compact", "notes/X"]);
    assert!(fingerprint.is_file(), "compacting took the build's work");
}

#[test]
fn links_stay_links() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..20);
    corpus(folder, "more.jsonl", 20..25);
    fs::create_dir(folder.join("disk")).unwrap();
    symlink("disk/real", folder.join("X")).unwrap();
    run(folder, &BUILD);
    run(folder, &[&BUILD[..], &["--overwrite"]].concat());
    run(folder, &["add", "X", "more.jsonl"]);
    run(folder, &["compact", "X"]);
    assert!(folder.join("X").is_symlink());
    assert_eq!(fs::read_dir(folder.join("disk")).unwrap().count(), 1);
    assert_eq!(digest(folder, "X"), digest(folder, "disk/real"));
}

/// `/proc` is a mount point on every Linux.
#[cfg(target_os = "linux")]
#[test]
fn outputs_are_checked_before_the_work() {
    let folder = ranked();
    let folder = folder.path();
    let text = ["--text", "river", "--model", "model", "--out"];
    let rerank = [
        "rerank",
        "index",
        "--queries",
        "queries.tsv",
        "--run",
        "no.run",
    ];
    let cases: [&[&str]; 5] = [
        &[&rerank[..], &["--out", "missing/out.run"]].concat(),
        &[&["encode"], &text[..], &["missing/out.json"]].concat(),
        &[
            "explain",
            "index",
            "river",
            "nobody",
            "--html",
            "missing/x.html",
        ],
        &["groups", "count", "no.jsonl", "--out", "missing/counts"],
        &[
            "search",
            "index",
            "--queries",
            "no.tsv",
            "--run-out",
            "missing/x.run",
        ],
    ];
    for case in cases {
        let outcome = becr(folder, case);
        assert_eq!(outcome.code, Some(1), "{case:?}");
        let told = outcome.stderr.contains("cannot write missing/");
        assert!(told, "{case:?}: {}", outcome.stderr);
    }
    let mounted = Path::new("/dev/shm");
    if mounted.is_dir() && fs::read_dir(mounted).is_ok_and(|mut all| all.next().is_none()) {
        let outcome = becr(folder, &["index", "all.jsonl", "--out", "/dev/shm"]);
        assert_eq!(outcome.code, Some(1));
        assert!(outcome.stderr.contains("is mounted"), "{}", outcome.stderr);
    }
}

#[test]
fn files_have_the_permissions_that_new_files_get() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..10);
    let check = |dir: &Path| {
        let mut waiting = vec![dir.to_owned()];
        while let Some(path) = waiting.pop() {
            let mode = path.metadata().unwrap().permissions().mode() & 0o777;
            let expected = if path.is_dir() { 0o775 } else { 0o664 };
            assert_eq!(mode, expected, "{}: {mode:o}", path.display());
            if path.is_dir() {
                waiting.extend(
                    fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            }
        }
    };
    for (name, more) in [("full", &[][..]), ("words", &["--lexical-only"])] {
        let build = ["index", "all.jsonl", "--out", name, "--model", "model"];
        let outcome = becr_after(folder, "umask 002", &[&build[..], more].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        check(&folder.join(name));
    }
    for command in [
        &["delete", "full", "d1"][..],
        &["compact", "full"],
        &["stats", "full"],
    ] {
        let outcome = becr_after(folder, "umask 002", command);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        check(&folder.join("full"));
    }
}

/// Runs as somebody who owns nothing; `None` where that cannot be set up.
fn as_nobody(folder: &Path, arguments: &[&str]) -> Option<crate::Outcome> {
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let possible = becr_after(folder, &format!("{nobody} true"), &["--version"]);
    if possible.code != Some(0) {
        return None;
    }
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(env!("CARGO_BIN_EXE_becr"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .ok()?;
    Some(crate::Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[test]
fn readers_need_the_lock_file_and_nothing_else() {
    let folder = ranked();
    let folder = folder.path();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    run(
        folder,
        &["index", "all.jsonl", "--out", "words", "--lexical-only"],
    );
    let search = ["search", "index", "river bank"];
    let Some(refused) = as_nobody(folder, &search) else {
        return;
    };
    // Only the owner may write.
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    assert!(
        refused.stderr.contains("lock.mdb") && refused.stderr.contains("write permission"),
        "{}",
        refused.stderr
    );
    let lock = folder.join("index/store/lock.mdb");
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o666)).unwrap();
    let found = as_nobody(folder, &search).unwrap();
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    assert_eq!(found.stdout, run(folder, &search).stdout);
    let words = ["search", "words", "river bank"];
    let found = as_nobody(folder, &words).unwrap();
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    for command in [&["delete", "index", "d1"][..], &["compact", "index"]] {
        let refused = as_nobody(folder, command).unwrap();
        assert_eq!(refused.code, Some(1));
        assert!(
            refused.stderr.contains("ermission denied")
                && refused.stderr.contains("get the permission"),
            "{}",
            refused.stderr
        );
    }
    // A folder and a file that nobody may read.
    fs::create_dir_all(folder.join("notes/secret")).unwrap();
    for name in ["a.md", "b.md", "secret/c.md"] {
        fs::write(folder.join("notes").join(name), "an owl").unwrap();
    }
    for name in ["b.md", "secret"] {
        let hidden = folder.join("notes").join(name);
        fs::set_permissions(hidden, fs::Permissions::from_mode(0o000)).unwrap();
    }
    fs::create_dir(folder.join("out")).unwrap();
    fs::set_permissions(folder.join("out"), fs::Permissions::from_mode(0o777)).unwrap();
    let build = ["index", "notes", "--out", "out/X", "--lexical-only"];
    assert_eq!(as_nobody(folder, &build).unwrap().code, Some(1));
    let skip = [&build[..], &["--on-error", "skip"]].concat();
    let built = as_nobody(folder, &skip).unwrap();
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    assert!(built.stdout.contains("1 document,"), "{}", built.stdout);
    assert!(
        built.stderr.contains("skipped 2: unreadable")
            && built
                .stderr
                .contains("secret: cannot read: Permission denied"),
        "{}",
        built.stderr
    );
}

#[test]
fn ids_do_not_steer_the_terminal_and_are_not_too_long() {
    let folder = ranked();
    let folder = folder.path();
    let id = "\\u001b[2Jowl";
    fs::write(
        folder.join("odd.jsonl"),
        format!("{{\"id\": \"{id}\", \"text\": \"zebra zebra\"}}\n"),
    )
    .unwrap();
    run(folder, &["add", "index", "odd.jsonl"]);
    let plain = "\u{1b}[2Jowl";
    for command in [
        &["search", "index", "zebra"][..],
        &["explain", "index", "zebra", plain, "d1"],
        &["add", "index", "odd.jsonl"],
        &["delete", "index", plain],
        &["delete", "index", plain],
    ] {
        let outcome = becr(folder, command);
        let said = outcome.stdout + &outcome.stderr;
        assert!(!said.contains("\u{1b}[2J"), "{command:?}: {said:?}");
    }
    let long = "x".repeat(65_531);
    let lines = format!("{{\"id\":\"a\",\"text\":\"b\"}}\n{{\"id\":\"{long}\",\"text\":\"b\"}}\n");
    fs::write(folder.join("long.jsonl"), lines).unwrap();
    for command in [
        &["add", "index", "long.jsonl"][..],
        &["index", "long.jsonl", "--out", "words", "--lexical-only"],
    ] {
        let outcome = becr(folder, command);
        assert_eq!(outcome.code, Some(1));
        assert!(
            outcome.stderr.contains("long.jsonl:2"),
            "{}",
            outcome.stderr
        );
    }
    run(folder, &["verify", "index"]);
}

#[test]
fn scores_at_the_end_of_the_scale_stay_numbers() {
    let folder = ranked();
    let folder = folder.path();
    let run_in = "1 Q0 d1 1 3e38 x\n1 Q0 d2 2 1 x\n1 Q0 d3 3 -3e38 x\n";
    fs::write(folder.join("far.run"), run_in).unwrap();
    run(
        folder,
        &[
            "rerank",
            "index",
            "--queries",
            "queries.tsv",
            "--run",
            "far.run",
            "--out",
            "out.run",
        ],
    );
    let rows = rows(&folder.join("out.run"));
    assert_eq!(rows.len(), 3);
    assert!(
        rows.iter().all(|(_, _, score)| score.is_finite()),
        "{rows:?}"
    );
}

#[test]
fn a_file_of_another_encoding_is_refused() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("latin1.txt"), b"river\ncaf\xe9 bank").unwrap();
    let encode = [
        "encode",
        "--model",
        "model",
        "--file",
        "latin1.txt",
        "--out",
        "x.json",
    ];
    let outcome = becr(folder, &encode);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("latin1.txt:2") && outcome.stderr.contains("0xe9"),
        "{}",
        outcome.stderr
    );
}

/// What a shell relies on: exit codes, closed pipes, standard input, and the end of the one with the other.
#[test]
fn the_process_that_reads_is_not_noticed() {
    let folder = ranked();
    let folder = folder.path();
    assert_eq!(becr(folder, &["delete", "index", "nobody"]).code, Some(1));
    assert_eq!(becr(folder, &["search"]).code, Some(2));
    assert_eq!(becr(folder, &["search", "--help"]).code, Some(0));
    let piped = "cat all.jsonl | sed 's/\"d/\"e/' | \"$@\" > added; cat added";
    let output = std::process::Command::new("bash")
        .args(["-c", piped, "bash", env!("CARGO_BIN_EXE_becr")])
        .args(["add", "index", "-"])
        .current_dir(folder)
        .output()
        .unwrap();
    let added = String::from_utf8_lossy(&output.stdout);
    assert_eq!(added, "40 added, 0 replaced, 0 deleted\n");
    let closed = "\"$@\" | true; echo ${PIPESTATUS[0]}";
    let output = std::process::Command::new("bash")
        .args(["-c", closed, "bash", env!("CARGO_BIN_EXE_becr")])
        .args(["stats", "index", "--json"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n");
    assert!(output.stderr.is_empty());
}

/// Whoever mistypes a path, or has to mend a document, types the right command next: nothing is in its way.
#[test]
fn a_build_that_did_nothing_leaves_nothing() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..5);
    fs::write(folder.join("broken.jsonl"), "{broken\n").unwrap();
    fs::write(folder.join("letter.xyz"), "hello").unwrap();
    for more in [&[][..], &["--mode", "encoded"]] {
        for wrong in ["broken.jsonl", "letter.xyz"] {
            let build = ["index", wrong, "--out", "X", "--model", "model"];
            let outcome = becr(folder, &[&build[..], more].concat());
            assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
            assert!(!folder.join("X.partial").exists(), "{wrong} {more:?}");
        }
    }
    run(folder, &BUILD);
    run(folder, &["verify", "X"]);
    // A file where the index should be is somebody's.
    let over = ["index", "all.jsonl", "--out", "letter.xyz", "--overwrite"];
    let refused = becr(folder, &over);
    assert!(
        refused.stderr.contains("it is left alone"),
        "{}",
        refused.stderr
    );
}

/// What cannot be checked is not called damaged: nobody should restore a sound index from a copy.
#[test]
fn an_index_that_cannot_be_checked_is_not_called_damaged() {
    let folder = ranked();
    let folder = folder.path();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(folder.join("Y.partial")).unwrap();
    fs::write(folder.join("Y.partial/becr.build"), "a build of becr: Y\n").unwrap();
    let unfinished = becr(folder, &["verify", "Y"]);
    assert_eq!((unfinished.code, &*unfinished.stdout), (Some(1), ""));
    assert!(
        unfinished.stderr.contains("same `becr index`"),
        "{}",
        unfinished.stderr
    );
    let Some(refused) = as_nobody(folder, &["verify", "index"]) else {
        return;
    };
    assert_eq!((refused.code, &*refused.stdout), (Some(1), ""));
    assert!(refused.stderr.contains("lock.mdb"), "{}", refused.stderr);
    let manifest = folder.join("index/becr.json");
    fs::set_permissions(&manifest, fs::Permissions::from_mode(0o600)).unwrap();
    for command in [&["verify", "index"][..], &["search", "index", "river"]] {
        let refused = as_nobody(folder, command).unwrap();
        assert_eq!((refused.code, &*refused.stdout), (Some(1), ""));
        assert!(
            refused
                .stderr
                .contains("becr.json: cannot read: Permission denied")
                && !refused.stderr.contains("build one"),
            "{}",
            refused.stderr
        );
    }
}
