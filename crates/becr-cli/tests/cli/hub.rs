//! Models by their names on the Hugging Face hub; the hub is on this machine.

#[path = "../../../becr-hub/tests/hub/server.rs"]
#[allow(dead_code)]
pub(crate) mod server;

use crate::full::folder;
use server::{COMMIT, Hub};
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_becr"));
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
fn a_name_of_the_hub_stands_for_a_directory() {
    let folder = folder();
    let folder = folder.path();
    let hub = hub(folder);
    let run = |arguments: &[&str]| -> String {
        let output = becr(folder, &hub.hub.address, arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {told}");
        String::from_utf8(output.stdout).unwrap()
    };
    let id = |told: &str| told.rsplit_once("encoder_id ").unwrap().1.to_owned();
    let convert = ["model", "convert", "--dtype", "f32", "--out"];
    let here = run(&[&convert[..], &["a", "model"]].concat());
    let there = run(&[&convert[..], &["b", "hf:tiny/bert"]].concat());
    assert_eq!(id(&here), id(&there));
    assert_eq!(hub.storage.asked().len(), 2, "cut off, and gone on with");
    run(&[
        "model",
        "prepare",
        "hf:tiny/bert",
        "--out",
        "c",
        "--bits",
        "64",
    ]);
    assert!(hub.storage.asked().is_empty(), "it is in the cache");

    // An index remembers where the model lies, not its name: it stays the same model.
    fs::write(
        folder.join("c.jsonl"),
        "{\"id\": \"1\", \"text\": \"river bank\"}\n",
    )
    .unwrap();
    run(&[
        "index",
        "c.jsonl",
        "--out",
        "ix",
        "--model",
        "hf:tiny/bert@main",
    ]);
    let manifest = fs::read_to_string(folder.join("ix/becr.json")).unwrap();
    assert!(
        manifest.contains(&format!("models--tiny--bert/snapshots/{COMMIT}")),
        "{manifest}"
    );

    let refused = |endpoint: &str, name: &str, told: &str| {
        let output = becr(folder, endpoint, &[&convert[..], &["d", name]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr.contains(told), "{stderr}");
    };
    refused(
        &hub.hub.address,
        "hf:tiny/bird",
        "check owner, name and revision",
    );
    refused(
        &hub.hub.address,
        "hf:tiny/bert/large",
        "expected hf:owner/name",
    );
    refused("http://127.0.0.1:9", "hf:tiny/bird", "give its directory");
}
