//! Random damage of every file of an index: `verify` finds whatever changes what the other commands say, and no command
//! ends by a signal, a panic or not at all.
//!
//! `BECR_DAMAGES` sets the number of damages; the default suits a test run.

use crate::dice::{Dice, times};
use crate::full::run;
use crate::ranked::ranked;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PAGE: usize = 4096;
/// Longer than any of the commands takes by far.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a command ended and what it said.
#[derive(Debug, PartialEq)]
struct Said {
    code: i32,
    stdout: String,
    files: Vec<Option<String>>,
}

/// Runs `becr` and refuses signals, panics and endless work. The standard error is returned beside what is compared.
fn said(folder: &Path, arguments: &[&str], what: &str) -> (Said, String) {
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let written = ["search.run", "rerank.run"].map(|name| folder.join(name));
    written.iter().for_each(|file| drop(fs::remove_file(file)));
    let mut child = Command::new(env!("CARGO_BIN_EXE_becr"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{what}: {arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let stderr = text(&err);
    let Some(code) = status.code() else {
        panic!("{what}: {arguments:?} ended with {status}: {stderr}");
    };
    assert!(
        code <= 1 && !stderr.starts_with("thread "),
        "{what}: {arguments:?}: {code} {stderr}"
    );
    // A file that lacks free pages at its end is sound, though shorter: a full disk and a killed writer leave such ones.
    let stdout = text(&out);
    let lines = stdout.split_inclusive('\n');
    let told = lines.filter(|line| !line.starts_with("  store file  "));
    let said = Said {
        code,
        stdout: told.collect(),
        files: written
            .iter()
            .map(|file| fs::read_to_string(file).ok())
            .collect(),
    };
    assert!(
        code == 0 || !stderr.is_empty() || !said.stdout.is_empty(),
        "{what}: {arguments:?} failed without a word"
    );
    (said, stderr)
}

const READING: [&[&str]; 5] = [
    &["stats", "index", "--digest"],
    &["search", "index", "river bank", "--k", "20"],
    &[
        "search",
        "index",
        "--queries",
        "fifty.tsv",
        "--run-out",
        "search.run",
    ],
    &[
        "rerank",
        "index",
        "--queries",
        "fifty.tsv",
        "--run",
        "bm25.run",
        "--out",
        "rerank.run",
    ],
    &["explain", "index", "money of the loan", "d3", "d17"],
];
const WRITING: [&[&str]; 3] = [
    &["delete", "index", "d5"],
    &["add", "index", "more.jsonl"],
    &["compact", "index"],
];

/// All files below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    files
}

/// Damages a file; says how.
fn damage(path: &Path, whole: &[u8], dice: &mut Dice) -> &'static str {
    let mut bytes = whole.to_vec();
    let (length, at) = (bytes.len(), dice.below(whole.len().max(1) as u64) as usize);
    let kind = match dice.below(9) {
        _ if length == 0 => "grown",
        0..3 => "flipped",
        3..5 => "zeroed",
        5 => "cut short",
        6..8 if length >= 2 * PAGE => "a page in the place of another",
        6..8 => "flipped",
        _ => "removed",
    };
    match kind {
        "grown" => bytes.push(1),
        "flipped" => bytes[at] ^= 1 << dice.below(8),
        "zeroed" => {
            let end = length.min(at + 1 + dice.below(64) as usize);
            bytes[at..end].fill(0);
        }
        "cut short" => bytes.truncate(at),
        "removed" => {
            fs::remove_file(path).unwrap();
            return kind;
        }
        _ => {
            let page = |dice: &mut Dice| dice.below((length / PAGE) as u64) as usize * PAGE;
            let (from, to) = (page(dice), page(dice));
            bytes.copy_within(from..from + PAGE, to);
        }
    }
    fs::write(path, bytes).unwrap();
    kind
}

/// The index as it was.
fn restore(index: &Path, whole: &BTreeMap<PathBuf, Vec<u8>>) {
    fs::remove_dir_all(index).unwrap();
    for (path, bytes) in whole {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn verify_finds_whatever_changes_an_answer() {
    let folder = ranked();
    let folder = folder.path();
    let words = crate::full::WORDS;
    let query = |n: usize| format!("{n}\t{} {}\n", words[n % 12], words[(n * 5 + 3) % 12]);
    fs::write(
        folder.join("fifty.tsv"),
        (0..50).map(query).collect::<String>(),
    )
    .unwrap();
    crate::full::corpus(folder, "more.jsonl", 40..43);
    // A life before: deleted, replaced and added documents.
    run(folder, &["delete", "index", "d11", "d12"]);
    run(folder, &["update", "index", "all.jsonl"]);
    run(
        folder,
        &[
            "search",
            "index",
            "--queries",
            "fifty.tsv",
            "--run-out",
            "bm25.run",
            "--first-stage",
        ],
    );
    let index = folder.join("index");
    let whole = files(&index);
    let asked = |what: &str| READING.map(|arguments| said(folder, arguments, what).0);
    let answers = asked("undamaged");
    assert!(answers.iter().all(|said| said.code == 0), "{answers:?}");
    let mut dice = Dice::new(23);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for round in 0..times("BECR_DAMAGES", 100) {
        // The store's file is most of an index; every second damage is elsewhere.
        let any = dice.below(whole.len() as u64) as usize;
        let store = whole.keys().position(|path| path.ends_with("data.mdb"));
        let at = if dice.below(2) == 0 {
            store.unwrap()
        } else {
            any
        };
        let (path, bytes) = whole.iter().nth(at).unwrap();
        let kind = damage(path, bytes, &mut dice);
        let what = format!("round {round}, {} {kind}", path.display());
        let verified = said(folder, &["verify", "index"], &what).0;
        let found = verified.code == 1;
        let now = asked(&what);
        let changed = now != answers;
        let different = now.iter().zip(&answers).find(|(now, before)| now != before);
        assert!(
            found || !changed,
            "{what}: not found. verify: {verified:?}; now and before: {different:?}"
        );
        *counts.entry(kind).or_default() += 1;
        *counts
            .entry(if found { "found" } else { "harmless" })
            .or_default() += 1;
        *counts.entry("changed an answer").or_default() += u64::from(changed);
        said(folder, WRITING[round as usize % WRITING.len()], &what);
        restore(&index, &whole);
    }
    assert_eq!(asked("restored"), answers);
    use std::io::Write;
    writeln!(std::io::stderr(), "damages: {counts:?}").unwrap();
}
