//! A training of a model of the Hugging Face hub; the hub is on this machine.

#[path = "../../../../crates/becr-hub/tests/hub/server.rs"]
#[allow(dead_code)]
mod server;

use crate::full::folder;
use server::Hub;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A hub with the model of a folder.
fn hub(folder: &Path) -> Hub {
    let hub = Hub::start();
    let read = |name: &str| fs::read(folder.join("model").join(name)).unwrap();
    hub.small("tiny/bert", "config.json", &read("config.json"));
    hub.small("tiny/bert", "vocab.txt", &read("vocab.txt"));
    // Its etag is no SHA-256 and is not compared.
    hub.large(
        "tiny/bert",
        "model.safetensors",
        &read("model.safetensors"),
        "abc",
        1,
    );
    hub
}

fn becr(folder: &Path, endpoint: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becr-lab"));
    for name in ["HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE"] {
        command.env_remove(name);
    }
    command
        .args(arguments)
        .env("HF_ENDPOINT", endpoint)
        .env("HF_HOME", folder.join("cache"))
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn train_starts_from_a_name_of_the_hub() {
    let folder = folder();
    let folder = folder.path();
    let hub = hub(folder);
    let line = |n: usize| {
        let word = crate::full::WORDS[n % 10];
        format!(r#"{{"id": "{n}", "query": "{word} {n}", "title": "", "text": "{word} boat {n}"}}"#)
            + "\n"
    };
    let pairs: String = (0..20).map(line).collect();
    fs::write(folder.join("pairs.jsonl"), pairs).unwrap();
    let config = "[model]\nbase = 'hf:tiny/bert'\n[output]\nmodel = 'trained'\n[validation]\nshare = 0.2\n\
        [[data.sets]]\nname = 'pairs'\npairs = 'pairs.jsonl'\n";
    fs::write(folder.join("c.toml"), config).unwrap();
    let output = becr(folder, &hub.hub.address, &["train", "c.toml", "--prepare"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let read = |path: &str| fs::read(folder.join(path)).unwrap();
    let weights = read("trained.training/model/model.safetensors");
    assert_eq!(weights, read("model/model.safetensors"));
}
