//! The commands of the documents: those of the README, of the model's card and of every `--help` run as they stand there, or
//! there is a reason why not.

use crate::full::{corpus, folder, run};
use crate::hub::server::Hub;
use crate::ranked::head;
use becr_model::{Config, Storage, Weights};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What cannot be run here: a part of the command, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("redis://", "takes a cluster; .ci/scale/run has one"),
    (
        "hf:cross-encoder/",
        "takes a model of 130 MB from the network",
    ),
    (
        "becr tune fine-tune.toml",
        "its file names the reader's judgements; tests/cli/tune.rs runs such a file",
    ),
    ("wiki=/data/wiki.becr", "names an index of the reader's"),
    (
        "own.becr --head own-head.json …",
        "is cut short in the text",
    ),
    ("becr manual - | man", "takes a reader of manuals"),
];

/// What stands for something that the reader has.
const STANDS_FOR: &[(&str, &str)] = &[("ID…", "d3"), ("--model DIR", "--model minilm")];

/// The commands of a document, by the block they stand in: those of a block follow each other.
struct Block {
    from: String,
    commands: Vec<String>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Lines that begin with `becr `, with those that they are continued on, where `is_in` says that the line is of a block.
fn blocks(from: &str, lines: impl Iterator<Item = (bool, String)>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut commands: Vec<String> = Vec::new();
    let mut is_open = false;
    let mut end = |commands: &mut Vec<String>| {
        if !commands.is_empty() {
            blocks.push(Block {
                from: from.to_owned(),
                commands: std::mem::take(commands),
            });
        }
    };
    for (is_in, line) in lines {
        if !is_in {
            end(&mut commands);
            is_open = false;
            continue;
        }
        let text = line.trim();
        if is_open && let Some(last) = commands.last_mut() {
            last.push_str(text);
        } else if text.starts_with("becr ") {
            commands.push(text.to_owned());
        } else {
            continue;
        }
        is_open = match commands.last_mut() {
            Some(last) if last.ends_with('\\') => last.pop().is_some(),
            _ => false,
        };
    }
    end(&mut commands);
    blocks
}

/// Those between fences of a document.
fn of_markdown(path: &str) -> Vec<Block> {
    let text = fs::read_to_string(repository().join(path)).unwrap();
    let mut is_in = false;
    let lines = text.lines().map(|line| {
        if line.starts_with("```") {
            is_in = !is_in;
            return (false, String::new());
        }
        (is_in, line.to_owned())
    });
    blocks(path, lines)
}

/// Those of help texts, which are documentation of the commands' arguments.
fn of_help(folder: &Path) -> Vec<Block> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(of_help(&path));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| match line.trim_start().strip_prefix("///") {
                Some(line) => (true, line.to_owned()),
                None => (false, String::new()),
            });
        found.extend(blocks(&path.display().to_string(), lines));
    }
    found
}

/// A model of twelve small layers, as the hub has it.
fn hub(folder: &Path) -> Hub {
    let model = folder.join("twelve");
    fs::create_dir(&model).unwrap();
    fs::copy(folder.join("model/vocab.txt"), model.join("vocab.txt")).unwrap();
    let config = Config::new(15, 16, 12, 2, 24, 40);
    config.write(&model.join("config.json")).unwrap();
    let weights = Weights::random(&config, 3, 1.0);
    weights
        .write(&model.join("model.safetensors"), Storage::F32)
        .unwrap();
    let hub = Hub::start();
    let read = |name: &str| fs::read(model.join(name)).unwrap();
    let name = "thenlper/gte-small";
    hub.small(name, "config.json", &read("config.json"));
    hub.small(name, "vocab.txt", &read("vocab.txt"));
    hub.large(
        name,
        "model.safetensors",
        &read("model.safetensors"),
        "abc",
        0,
    );
    hub
}

/// What the documents take for granted: notes at home, corpora, queries, judgements, runs, models and indexes.
fn prepare(folder: &Path) {
    let notes = folder.join("home/notes");
    fs::create_dir_all(folder.join("home/work/docs")).unwrap();
    fs::create_dir_all(&notes).unwrap();
    for directory in [".zfunc", ".local/share/bash-completion/completions"] {
        fs::create_dir_all(folder.join("home").join(directory)).unwrap();
    }
    for (name, text) in [
        (
            "bread.md",
            "# Bread\nA dense crumb means that the sourdough was proved too briefly.",
        ),
        (
            "rolls.md",
            "# Rolls\nTheir crumb is light where the sourdough had time.",
        ),
        ("cake.md", "# Cake\nA dense cake wants no sourdough."),
    ] {
        fs::write(notes.join(name), text).unwrap();
    }
    fs::write(folder.join("home/work/docs/plan.md"), "# Plan\nWork.").unwrap();
    let layers = folder.join("minilm");
    fs::create_dir(&layers).unwrap();
    fs::copy(folder.join("model/vocab.txt"), layers.join("vocab.txt")).unwrap();
    let config = Config::new(15, 16, 6, 2, 24, 40);
    config.write(&layers.join("config.json")).unwrap();
    let weights = Weights::random(&config, 3, 1.0);
    weights
        .write(&layers.join("model.safetensors"), Storage::F32)
        .unwrap();
    fs::create_dir(folder.join("minilm-l6")).unwrap();
    for file in ["vocab.txt", "config.json", "model.safetensors"] {
        fs::copy(layers.join(file), folder.join("minilm-l6").join(file)).unwrap();
    }
    let model = folder.join("model");
    head(&model).write(&model.join("head.json")).unwrap();
    fs::copy(model.join("head.json"), folder.join("own-head.json")).unwrap();
    for (name, numbers) in [
        ("corpus.jsonl", 0..30),
        ("new.jsonl", 30..33),
        ("changed.jsonl", 2..5),
        ("huge.jsonl", 0..5),
    ] {
        corpus(folder, name, numbers);
    }
    for name in ["corpus.jsonl.zst", "centre.jsonl.zst"] {
        let plain = fs::File::open(folder.join("corpus.jsonl")).unwrap();
        fs::write(folder.join(name), zstd::encode_all(plain, 0).unwrap()).unwrap();
    }
    let queries =
        "1\triver bank\n2\tmoney of the loan\n3\tzebra quay fish\n4\tspring water\n5\tfish boat\n";
    for name in ["queries.tsv", "topics.txt"] {
        fs::write(folder.join(name), queries).unwrap();
    }
    let run_file: String = (1..6)
        .flat_map(|query| {
            (0..9).map(move |n| format!("{query} Q0 d{n} {} {}.5 t\n", n + 1, 20 - n))
        })
        .collect();
    let judged: String = (1..6)
        .map(|query| format!("{query} 0 d{query} 1\n"))
        .collect();
    for name in ["candidates.run", "bm25.run", "mine.run"] {
        fs::write(folder.join(name), &run_file).unwrap();
    }
    fs::write(folder.join("qrels.txt"), judged).unwrap();
    fs::write(folder.join("clicks.tsv"), "1\td1\tclicks\t2\n").unwrap();
    let built = [
        "index",
        "corpus.jsonl",
        "--out",
        "corpus.becr",
        "--model",
        "model",
    ];
    run(folder, &built);
    let synced = "home/notes";
    run(folder, &["sync", "notes.becr", synced, "--model", "model"]);
}

/// Runs a command line as a shell does; a server is ended once it has said where it listens.
fn runs(folder: &Path, home: &Path, endpoint: &str, line: &str) -> Result<(), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // What is written anew is not there before.
    for pair in words
        .windows(2)
        .filter(|pair| pair[0] == "--out" || pair[0] == "--keep")
    {
        let _ = fs::remove_dir_all(folder.join(pair[1]));
    }
    if words.get(1) == Some(&"sync") && words.len() > 3 && !words[3].starts_with('-') {
        let _ = fs::remove_dir_all(folder.join(words[2]));
    }
    let program = Path::new(env!("CARGO_BIN_EXE_becr")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let is_server = words.get(1) == Some(&"serve");
    let mut command = Command::new("bash");
    for name in ["HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE"] {
        command.env_remove(name);
    }
    command
        .arg("-c")
        .arg(if is_server {
            format!("exec {line}")
        } else {
            line.to_owned()
        })
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", program.display()))
        .env("HOME", home)
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env("HF_HOME", folder.join("cache"))
        .env("HF_ENDPOINT", endpoint)
        .env("BECR_CONFIG", "off")
        .env("BECR_SERVE_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    if is_server {
        let stdout = child.stdout.take().unwrap();
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address).unwrap();
        // It hears signals once it answers.
        let address = address.trim().strip_prefix("http://").unwrap_or_default();
        if let Ok(mut stream) = TcpStream::connect(address) {
            let asked = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(asked.as_bytes());
            let _ = stream.read_to_end(&mut Vec::new());
        }
        let pid = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    let output = child.wait_with_output().unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn copied(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(status.unwrap().success());
}

#[test]
fn the_commands_of_the_documents_run() {
    let all = folder();
    let prepared = all.path();
    prepare(prepared);
    let hub = hub(prepared);
    let mut found = of_markdown("README.md");
    found.extend(of_markdown("models/becr-small/MODEL_CARD.md"));
    found.extend(of_help(&repository().join("crates/becr-cli/src")));
    let count: usize = found.iter().map(|block| block.commands.len()).sum();
    assert!(count > 45, "only {count} commands were found");
    let mut used = vec![false; LEFT_OUT.len()];
    let mut failures = Vec::new();
    for Block { from, commands } in found {
        // What a block does, others do not see.
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("here");
        copied(prepared, &folder);
        for command in commands {
            let reasons = LEFT_OUT.iter().zip(&mut used);
            let mut reasons = reasons.filter(|((part, _), _)| command.contains(part));
            if let Some((_, used)) = reasons.next() {
                *used = true;
                continue;
            }
            let mut line = command.clone();
            for (written, meant) in STANDS_FOR {
                line = line.replace(written, meant);
            }
            let home = prepared.join("home");
            if let Err(said) = runs(&folder, &home, &hub.hub.address, &line) {
                failures.push(format!("{from}: {command}\n{said}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for ((part, reason), used) in LEFT_OUT.iter().zip(used) {
        assert!(used, "no document has {part:?} any more: {reason}");
    }
}
