//! An index that follows folders.

use crate::becr;
use crate::full::{digest, folder, run};
use std::fs;
use std::path::Path;

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A folder with a model, and notes.
fn notes() -> tempfile::TempDir {
    let folder = folder();
    for (name, text) in [
        ("notes/bank.md", "# Bank\nmoney of the bank"),
        ("notes/river.md", "river water"),
        ("notes/sub/boat.txt", "the boat of the river"),
    ] {
        write(folder.path(), name, text);
    }
    folder
}

const SYNC: [&str; 5] = ["sync", "live", "notes", "--model", "model"];

fn summary(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let outcome = run(folder, &[arguments, &["--json"]].concat());
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn ids(folder: &Path) -> Vec<String> {
    crate::kill::ids(&folder.join("live")).into_iter().collect()
}

/// An index of the same files, built from nothing.
fn built(folder: &Path) -> String {
    run(
        folder,
        &[
            "index",
            "notes",
            "--out",
            "whole",
            "--model",
            "model",
            "--overwrite",
        ],
    );
    digest(folder, "whole")
}

#[test]
fn only_what_changed_is_encoded_and_what_vanished_is_removed() {
    let folder = notes();
    let folder = folder.path();
    let first = summary(folder, &SYNC);
    assert_eq!(first["built"], true);
    assert_eq!(first["added"].as_array().unwrap().len(), 3);
    assert_eq!(ids(folder), ["bank.md", "river.md", "sub/boat.txt"]);
    assert_eq!(
        run(folder, &["sync", "live"]).stdout,
        "live: 0 added, 0 changed, 0 removed, 3 unchanged\n"
    );

    write(folder, "notes/river.md", "spring water");
    write(folder, "notes/fish.md", "fish of the river");
    fs::remove_file(folder.join("notes/bank.md")).unwrap();
    let before = digest(folder, "live");
    let dry = run(folder, &["sync", "live", "--dry-run"]).stdout;
    assert_eq!(
        dry,
        "+ fish.md\n~ river.md\n- bank.md\n\
         live: 1 would be added, 1 would be changed, 1 would be removed, 1 unchanged\n"
    );
    assert_eq!(digest(folder, "live"), before, "a dry run changes nothing");

    let done = summary(folder, &["sync", "live"]);
    assert_eq!(done["added"], serde_json::json!(["fish.md"]));
    assert_eq!(done["changed"], serde_json::json!(["river.md"]));
    assert_eq!(done["vanished"], serde_json::json!(["bank.md"]));
    assert_eq!(done["removed"], 1);
    assert_eq!(ids(folder), ["fish.md", "river.md", "sub/boat.txt"]);
    run(folder, &["verify", "live"]);
    let found = run(folder, &["search", "live", "spring", "--first-stage"]).stdout;
    assert!(found.contains("river.md"), "{found}");

    // Remembered through a compaction, from any working directory; touched files are the same files.
    run(folder, &["compact", "live"]);
    write(folder, "notes/fish.md", "fish of the river");
    let done = summary(&folder.join("notes"), &["sync", "../live"]);
    assert_eq!(done["unchanged"], 3);
    assert!(!folder.join("live/becr.sync").exists());
}

#[test]
fn an_index_of_folders_is_kept_in_step_too() {
    let folder = notes();
    let folder = folder.path();
    run(
        folder,
        &["index", "notes", "--out", "live", "--model", "model"],
    );
    write(folder, "notes/new.md", "a new loan");
    assert_eq!(
        summary(folder, &["sync", "live"])["added"],
        serde_json::json!(["new.md"])
    );
    // The token groups of the two are different, the documents are not.
    built(folder);
    let documents = |index: &str| {
        let found = run(
            folder,
            &["search", index, "river", "--first-stage", "--json"],
        )
        .stdout;
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        found["results"].clone()
    };
    assert_eq!(documents("live"), documents("whole"));
}

#[test]
fn a_missing_or_emptied_folder_is_no_mass_deletion() {
    let folder = notes();
    let folder = folder.path();
    run(folder, &SYNC);
    let before = digest(folder, "live");
    let refused = |arguments: &[&str], said: &[&str]| {
        let outcome = becr(folder, arguments);
        assert_eq!(outcome.code, Some(1), "{}", outcome.stdout);
        for part in said {
            assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
        }
        assert_eq!(digest(folder, "live"), before);
    };
    fs::rename(folder.join("notes"), folder.join("away")).unwrap();
    refused(&["sync", "live"], &["notes", "No such file"]);
    refused(
        &["sync", "live", "--allow-empty"],
        &["notes", "No such file"],
    );
    fs::create_dir(folder.join("notes")).unwrap();
    refused(&["sync", "live"], &["notes", "--allow-empty"]);
    write(folder, "notes/data.json", "[1, 2]");
    refused(&["sync", "live"], &["--allow-empty", "3"]);
    assert_eq!(
        summary(folder, &["sync", "live", "--allow-empty"])["removed"],
        3
    );
    assert!(ids(folder).is_empty());
    fs::remove_dir_all(folder.join("notes")).unwrap();
    fs::rename(folder.join("away"), folder.join("notes")).unwrap();
    assert_eq!(
        summary(folder, &["sync", "live"])["added"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn documents_from_elsewhere_are_not_removed_by_surprise() {
    let folder = notes();
    let folder = folder.path();
    crate::full::corpus(folder, "all.jsonl", 0..4);
    crate::full::index(folder, "all.jsonl", "live", &[]);
    let outcome = becr(folder, &["sync", "live"]);
    assert!(outcome.stderr.contains("name them"), "{}", outcome.stderr);
    let outcome = becr(folder, &["sync", "live", "notes"]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome
            .stderr
            .contains("4 of its documents, such as \"d0\""),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("--remove-others"),
        "{}",
        outcome.stderr
    );
    assert_eq!(ids(folder).len(), 4);
    let done = summary(folder, &["sync", "live", "notes", "--remove-others"]);
    assert_eq!((&done["removed"], ids(folder).len()), (&4.into(), 3));
    // Another list of folders would remove what the first one held.
    write(folder, "other/a.md", "a boat");
    assert_eq!(becr(folder, &["sync", "live", "other"]).code, Some(1));
    let noted = run(folder, &["add", "live", "all.jsonl"]).stderr;
    assert!(noted.contains("follows"), "{noted}");
    // An index without texts cannot tell.
    run(
        folder,
        &[
            "index",
            "all.jsonl",
            "--out",
            "bare",
            "--model",
            "model",
            "--no-text",
        ],
    );
    fs::create_dir(folder.join("same")).unwrap();
    fs::copy(folder.join("all.jsonl"), folder.join("same/all.jsonl")).unwrap();
    let outcome = becr(folder, &["sync", "bare", "same"]);
    assert!(
        outcome.stderr.contains("keeps no texts"),
        "{}",
        outcome.stderr
    );
}

/// Each of several folders may hold a README.md; one that comes later leaves the ids of before alone.
#[test]
fn ids_of_several_folders_carry_the_folder() {
    let folder = notes();
    let folder = folder.path();
    for (name, text) in [
        ("a/README.md", "the river"),
        ("b/README.md", "the bank"),
        ("c/README.md", "the zebra"),
    ] {
        write(folder, name, text);
    }
    run(folder, &["sync", "live", "a", "b/", "--model", "model"]);
    assert_eq!(ids(folder), ["a/README.md", "b/README.md"]);
    run(
        folder,
        &["index", "a", "b", "--out", "both", "--model", "model"],
    );
    assert_eq!(digest(folder, "both"), digest(folder, "live"));
    let more = summary(folder, &["sync", "live", "a", "b", "c"]);
    assert_eq!(more["unchanged"], 2);
    assert_eq!(ids(folder), ["a/README.md", "b/README.md", "c/README.md"]);
    let fewer = ["sync", "live", "a", "c"];
    assert_eq!(becr(folder, &fewer).code, Some(1));
    run(folder, &[&fewer[..], &["--remove-others"]].concat());
    assert_eq!(ids(folder), ["a/README.md", "c/README.md"]);

    // One folder has no name; a second one does not rename its documents.
    run(folder, &["sync", "one", "notes", "--model", "model"]);
    let two = summary(folder, &["sync", "one", "notes", "a"]);
    assert_eq!(two["unchanged"], 3);
    assert_eq!(two["added"], serde_json::json!(["a/README.md"]));
}

#[test]
fn what_ignore_files_name_is_left_out() {
    let folder = notes();
    let folder = folder.path();
    write(folder, "notes/.gitignore", "drafts/\n*.tmp.md\n");
    write(folder, "notes/.becrignore", "!drafts/good.md\nprivate.md\n");
    write(folder, "notes/drafts/bad.md", "no");
    write(folder, "notes/x.tmp.md", "no");
    write(folder, "notes/private.md", "no");
    run(folder, &SYNC);
    let three = ["bank.md", "river.md", "sub/boat.txt"];
    assert_eq!(ids(folder), three);
    // What is ignored from now on vanishes.
    write(folder, "notes/.becrignore", "private.md\nriver.md\n");
    assert_eq!(
        summary(folder, &["sync", "live"])["vanished"],
        serde_json::json!(["river.md"])
    );
    run(
        folder,
        &["index", "notes", "--out", "again", "--model", "model"],
    );
    run(folder, &["add", "again", "notes", "--existing", "skip"]);
    let stats = run(folder, &["stats", "again", "--json"]).stdout;
    assert!(stats.contains("\"documents\": 2"), "{stats}");
}

/// A file that cannot be read is not one that is gone, and keeps nothing else from being brought in step.
#[test]
fn only_what_cannot_be_read_stays_as_it_was() {
    let folder = notes();
    let folder = folder.path();
    write(
        folder,
        "notes/more.jsonl",
        "{\"id\": \"m1\", \"text\": \"a loan\"}\n",
    );
    run(folder, &SYNC);
    fs::write(folder.join("notes/bank.md"), b"\x7fELF\0\0\xff").unwrap();
    fs::rename(
        folder.join("notes/river.md"),
        folder.join("notes/stream.md"),
    )
    .unwrap();
    fs::write(
        folder.join("notes/sub/boat.txt"),
        b"the b\xf4at of the river",
    )
    .unwrap();
    let outcome = becr(folder, &["sync", "live", "--on-error", "stop"]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("bank.md") && outcome.stderr.contains(".becrignore"),
        "{}",
        outcome.stderr
    );
    let dry = run(folder, &["sync", "live", "--dry-run"]).stdout;
    assert!(
        dry.contains("- river.md\n") && !dry.contains("- bank.md"),
        "{dry}"
    );
    let outcome = run(folder, &["sync", "live"]);
    assert_eq!(
        outcome.stdout,
        "live: 1 added, 1 changed, 1 removed, 1 unchanged\n"
    );
    for said in [
        "1 document of files that could not be read",
        "bank.md: not text",
        "converted 1 to UTF-8: windows-1252",
    ] {
        assert!(outcome.stderr.contains(said), "{said}: {}", outcome.stderr);
    }
    assert_eq!(ids(folder), ["bank.md", "m1", "stream.md", "sub/boat.txt"]);
    // Of a collection with a fault, any document may be in the line that was skipped; of a file that is gone, none.
    fs::write(
        folder.join("notes/more.jsonl"),
        "{\"id\": \"m2\", \"text\": \"x\"}\n{\n",
    )
    .unwrap();
    fs::remove_file(folder.join("notes/stream.md")).unwrap();
    let done = summary(folder, &["sync", "live"]);
    assert_eq!(done["kept"], serde_json::json!(["bank.md", "m1"]));
    assert_eq!(ids(folder), ["bank.md", "m1", "m2", "sub/boat.txt"]);
    write(
        folder,
        "notes/more.jsonl",
        "{\"id\": \"m2\", \"text\": \"x\"}\n",
    );
    fs::remove_file(folder.join("notes/bank.md")).unwrap();
    assert_eq!(summary(folder, &["sync", "live"])["removed"], 2);
}

/// What is below a folder that cannot be listed stays, too.
#[cfg(unix)]
#[test]
fn a_locked_folder_keeps_its_documents() {
    use std::os::unix::fs::PermissionsExt;
    let folder = notes();
    let folder = folder.path();
    run(folder, &SYNC);
    let set = |mode| {
        let rights = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.join("notes/sub"), rights).unwrap();
    };
    set(0);
    // The superuser lists any folder.
    if fs::read_dir(folder.join("notes/sub")).is_err() {
        fs::remove_file(folder.join("notes/river.md")).unwrap();
        let done = summary(folder, &["sync", "live"]);
        assert_eq!(done["kept"], serde_json::json!(["sub/boat.txt"]));
        assert_eq!(ids(folder), ["bank.md", "sub/boat.txt"]);
    }
    set(0o755);
}

/// An unmounted subfolder looks like one whose files were all deleted.
#[test]
fn an_emptied_subfolder_is_asked_about() {
    let folder = notes();
    let folder = folder.path();
    for n in 0..4 {
        write(
            folder,
            &format!("notes/disk/deep/{n}.md"),
            &format!("loan {n}"),
        );
    }
    run(folder, &SYNC);
    let before = digest(folder, "live");
    let away = |from: &str, to: &str| fs::rename(folder.join(from), folder.join(to)).unwrap();
    away("notes/disk/deep", "away");
    let outcome = becr(folder, &["sync", "live"]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stdout);
    for said in ["4 of its 7 documents", "\"disk\"", "--allow-removal"] {
        assert!(outcome.stderr.contains(said), "{said}: {}", outcome.stderr);
    }
    assert_eq!(digest(folder, "live"), before);
    let dry = run(folder, &["sync", "live", "--dry-run"]).stdout;
    assert!(dry.contains("- disk/deep/0.md"), "{dry}");
    // Moved is not lost.
    away("away", "notes/elsewhere");
    let done = summary(folder, &["sync", "live"]);
    assert_eq!((&done["removed"], ids(folder).len()), (&4.into(), 7));
    // A single file, or a folder of one, may go without a question.
    fs::remove_dir_all(folder.join("notes/sub")).unwrap();
    assert_eq!(summary(folder, &["sync", "live"])["removed"], 1);
    fs::remove_dir_all(folder.join("notes/elsewhere")).unwrap();
    assert_eq!(becr(folder, &["sync", "live"]).code, Some(1));
    assert_eq!(
        summary(folder, &["sync", "live", "--allow-removal"])["removed"],
        4
    );
    assert_eq!(ids(folder), ["bank.md", "river.md"]);
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_followed_when_asked_for_and_as_long() {
    let folder = notes();
    let folder = folder.path();
    write(folder, "secret.txt", "password of the bank");
    std::os::unix::fs::symlink(folder.join("secret.txt"), folder.join("notes/pw.txt")).unwrap();
    run(folder, &SYNC);
    assert_eq!(ids(folder), ["bank.md", "river.md", "sub/boat.txt"]);
    run(folder, &["sync", "live", "--follow-links"]);
    let followed = ["bank.md", "pw.txt", "river.md", "sub/boat.txt"];
    assert_eq!(ids(folder), followed);
    run(folder, &["sync", "live"]);
    assert_eq!(ids(folder), followed, "it is remembered");
    run(folder, &["sync", "live", "--follow-links=false"]);
    assert_eq!(ids(folder).len(), 3);
}

/// With a program in place of the real one, which may not be installed.
#[cfg(unix)]
#[test]
fn pdf_files_are_read_where_pdftotext_is_installed_and_named_otherwise() {
    use std::os::unix::fs::PermissionsExt;
    let folder = notes();
    let folder = folder.path();
    write(folder, "notes/-paper.pdf", "%PDF-1.4");
    write(folder, "notes/broken.pdf", "%PDF-1.5");
    write(
        folder,
        "bin/pdftotext",
        "#!/bin/sh\nfor last; do path=$before; before=$last; done\ncase $path in\n*broken*) echo 'no trailer' >&2; exit 1;;\n*) echo 'a spring loan';;\nesac\n",
    );
    let program = folder.join("bin/pdftotext");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let sync = |path: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_becr"))
            .args(SYNC)
            .current_dir(folder)
            .env("BECR_CONFIG", "off")
            .env("PATH", path)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said
    };
    let without = sync(&folder.join("empty").display().to_string());
    assert!(
        without.contains("poppler-utils") && without.contains("-paper.pdf"),
        "{without}"
    );
    assert_eq!(ids(folder).len(), 3);
    let with = sync(&format!("{}:/usr/bin:/bin", folder.join("bin").display()));
    assert!(
        with.contains("broken.pdf") && with.contains("no trailer"),
        "{with}"
    );
    assert_eq!(
        ids(folder),
        ["-paper.pdf", "bank.md", "river.md", "sub/boat.txt"]
    );
    let found = run(folder, &["search", "live", "spring", "--first-stage"]).stdout;
    assert!(found.contains("-paper.pdf"), "{found}");
    // Without the program, a paper that was read stays as it was.
    let without = sync(&folder.join("empty").display().to_string());
    assert!(
        without.contains("1 document of files that could not be read"),
        "{without}"
    );
    assert_eq!(ids(folder).len(), 4);
}
