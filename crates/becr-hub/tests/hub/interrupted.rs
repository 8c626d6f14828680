//! Fetching that is interrupted, in a file or between two, and fetching at the same time.

use crate::server::{Answer, COMMIT, Hub};
use crate::{MODEL, Watcher, fetch, hub, ranges_of_whole_weights, settings, sha256, weights};
use becr_hub::{Name, Settings};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;

#[test]
fn what_stays_cut_off_is_told_and_the_next_try_goes_on() {
    let (hub, folder) = hub(0);
    // The storage gives half of the file and fails from then on.
    let there = "/repos/tiny/bert/model.safetensors?signature=x";
    let whole = whole();
    let failing = Answer {
        status: 503,
        ..Answer::default()
    };
    let half = Answer {
        cuts: 1,
        then: Some(Box::new(failing)),
        ..whole.clone()
    };
    hub.storage.put(there, half);
    let error = fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("model.safetensors was cut off after 100000 of 200000 bytes: cannot reach"),
        "{error}"
    );
    assert!(error.contains("it answers 503"), "{error}");
    assert!(!error.contains("signature"), "{error}");
    assert_eq!(hub.storage.asked().len(), 4, "half, and three in vain");
    let partial = format!(
        "hub/models--tiny--bert/blobs/{}.incomplete",
        sha256(&weights())
    );
    assert_eq!(
        fs::metadata(folder.path().join(partial)).unwrap().len(),
        100_000
    );
    hub.storage.put(there, whole);
    let directory = fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap();
    assert_eq!(hub.storage.asked()[0].headers["range"], "bytes=100000-");
    assert_eq!(
        fs::read(directory.join("model.safetensors")).unwrap(),
        weights()
    );
}

#[test]
fn a_download_that_brings_nothing_is_given_up() {
    let (hub, folder) = hub(0);
    let body = b"x".to_vec();
    hub.large(MODEL, "model.safetensors", &body, &sha256(&body), 99);
    let error = fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("model.safetensors was cut off after 0 of 1 bytes"),
        "{error}"
    );
    assert!(error.contains("the same command goes on"), "{error}");
}

/// A server that fails and whoever comes after it.
fn failing(status: u16, then: Answer) -> Answer {
    Answer {
        status,
        then: Some(Box::new(then)),
        ..Answer::default()
    }
}

#[test]
fn a_server_that_comes_back_is_gone_on_with() {
    let (hub, folder) = hub(0);
    let whole = whole();
    let half = Answer {
        cuts: 1,
        then: Some(Box::new(failing(429, failing(503, whole.clone())))),
        ..whole
    };
    hub.storage
        .put("/repos/tiny/bert/model.safetensors?signature=x", half);
    // The hub itself sends the first who asks where nobody listens.
    let to = |address: &str| Answer {
        status: 302,
        headers: vec![
            (
                "location",
                format!("{address}/repos/tiny/bert/model.safetensors?signature=x"),
            ),
            ("x-repo-commit", COMMIT.into()),
            ("x-linked-etag", format!("\"{}\"", sha256(&weights()))),
            ("x-linked-size", weights().len().to_string()),
        ],
        ..Answer::default()
    };
    let astray = Answer {
        then: Some(Box::new(to(&hub.storage.address))),
        ..to("http://127.0.0.1:9")
    };
    let path = format!("/tiny/bert/resolve/{COMMIT}/model.safetensors");
    hub.hub.put(&path, astray);
    let directory = fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap();
    let ranges = ranges_of_whole_weights(&hub, &directory);
    let rest = Some("bytes=100000-".to_owned());
    assert_eq!(ranges, [None, rest.clone(), rest.clone(), rest]);
}

#[test]
fn redirects_may_leave_out_scheme_and_host() {
    let (hub, folder) = hub(0);
    let host = hub.storage.address.strip_prefix("http:").unwrap();
    let path = format!("/tiny/bert/resolve/{COMMIT}/model.safetensors");
    let answer = Answer {
        status: 302,
        headers: vec![
            (
                "location",
                format!("{host}/repos/tiny/bert/model.safetensors?signature=x"),
            ),
            ("x-repo-commit", COMMIT.into()),
            ("x-linked-etag", sha256(&weights())),
            ("x-linked-size", weights().len().to_string()),
        ],
        ..Answer::default()
    };
    hub.hub.put(&path, answer);
    let directory = fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap();
    assert!(directory.join("model.safetensors").exists());
    let asked = hub.storage.asked();
    assert_eq!(asked.len(), 1);
    assert!(!asked[0].headers.contains_key("authorization"));
}

/// Fetches, and gives what was noted.
fn watched(settings: Settings, name: &str) -> (PathBuf, Vec<String>) {
    let name: Name = name.parse().unwrap();
    let watcher = Watcher::default();
    let directory = becr_hub::Hub::new(settings).fetch(&name, &watcher).unwrap();
    (directory, watcher.notes.into_inner())
}

#[test]
fn an_interruption_between_files_is_no_end() {
    let (hub, folder) = hub(0);
    let name = format!("hf:tiny/bert@{COMMIT}");
    let path = format!("/tiny/bert/resolve/{COMMIT}/vocab.txt");
    let failing = Answer {
        status: 503,
        ..Answer::default()
    };
    hub.hub.put(&path, failing);
    let error = fetch(settings(&hub, folder.path()), &name).unwrap_err();
    assert!(error.to_string().contains("it answers 503"), "{error}");
    assert!(hub.storage.asked().is_empty(), "the weights come last");

    hub.small(MODEL, "vocab.txt", b"[PAD]\n");
    let (directory, notes) = watched(settings(&hub, folder.path()), &name);
    assert_eq!(fs::read(directory.join("vocab.txt")).unwrap(), b"[PAD]\n");
    assert!(directory.join("model.safetensors").exists() && notes.is_empty());
}

/// A snapshot by a tool that cares for configuration and weights alone.
fn snapshot_of_others(hub: &Hub, folder: &Path) -> PathBuf {
    let name = format!("hf:tiny/bert@{COMMIT}");
    let directory = fetch(settings(hub, folder), &name).unwrap();
    fs::remove_file(directory.join("vocab.txt")).unwrap();
    fs::remove_dir_all(folder.join("hub/models--tiny--bert/.no_exist")).unwrap();
    hub.hub.asked();
    hub.storage.asked();
    directory
}

#[test]
fn what_others_left_out_is_asked_for() {
    let (hub, folder) = hub(0);
    let name = format!("hf:tiny/bert@{COMMIT}");
    let kept = snapshot_of_others(&hub, folder.path());
    hub.small(MODEL, "head.json", b"{\"head\": 1}");
    let (directory, notes) = watched(settings(&hub, folder.path()), &name);
    assert_eq!((&directory, notes.len()), (&kept, 0));
    assert!(directory.join("head.json").exists() && directory.join("vocab.txt").exists());
    let asked = hub.hub.asked();
    let of_config = |asked: &crate::server::Asked| asked.path.contains("/config.json");
    assert!(!asked.iter().any(of_config), "it is there: {asked:?}");
    assert!(hub.storage.asked().is_empty(), "they are there");

    // Now all is known, what there is and what there is not.
    watched(settings(&hub, folder.path()), &name);
    assert!(hub.hub.asked().is_empty());
}

#[test]
fn a_404_of_somebody_else_is_not_remembered() {
    let (hub, folder) = hub(0);
    let path = format!("/tiny/bert/resolve/{COMMIT}/head.json");
    let lost = Answer {
        status: 404,
        ..Answer::default()
    };
    hub.hub.put(&path, lost);
    let name = format!("hf:tiny/bert@{COMMIT}");
    fetch(settings(&hub, folder.path()), &name).unwrap();
    hub.small(MODEL, "head.json", b"{\"head\": 1}");
    let directory = fetch(settings(&hub, folder.path()), &name).unwrap();
    assert!(directory.join("head.json").exists());
}

#[test]
fn without_the_hub_what_others_left_will_do() {
    let (hub, folder) = hub(0);
    let name = format!("hf:tiny/bert@{COMMIT}");
    let kept = snapshot_of_others(&hub, folder.path());
    let nobody = Settings {
        endpoint: "http://127.0.0.1:9".into(),
        ..settings(&hub, folder.path())
    };
    let offline = Settings {
        offline: true,
        ..nobody.clone()
    };
    let (directory, notes) = watched(nobody, &name);
    assert_eq!((&directory, notes.len()), (&kept, 1));
    assert!(notes[0].contains("cannot reach"), "{notes:?}");
    let (directory, notes) = watched(offline, &name);
    assert_eq!((&directory, notes.len()), (&kept, 1));
    assert!(
        notes[0].contains("HF_HUB_OFFLINE is set") && notes[0].contains("vocab.txt"),
        "{notes:?}"
    );

    // The hub is there, but not the contents of a file.
    let there = format!("/api/resolve-cache/models/tiny/bert/{COMMIT}/head.json?etag=x");
    hub.small(MODEL, "head.json", b"{\"head\": 1}");
    let cut = Answer {
        status: 200,
        headers: vec![("etag", "abc".into()), ("x-repo-commit", COMMIT.into())],
        body: b"1".to_vec(),
        cuts: 99,
        then: None,
    };
    hub.hub.put(&there, cut);
    let (directory, notes) = watched(settings(&hub, folder.path()), &name);
    assert_eq!((&directory, notes.len()), (&kept, 1));
    assert!(notes[0].contains("head.json was cut off"), "{notes:?}");
}

#[test]
fn two_may_fetch_the_same_model_at_once() {
    for _ in 0..20 {
        let (hub, folder) = hub(0);
        let barrier = Barrier::new(2);
        let one = || {
            barrier.wait();
            fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap()
        };
        let (first, second) = std::thread::scope(|scope| {
            let (first, second) = (scope.spawn(one), scope.spawn(one));
            (first.join().unwrap(), second.join().unwrap())
        });
        assert_eq!(first, second);
        assert_eq!(
            fs::read(first.join("model.safetensors")).unwrap(),
            weights()
        );
        assert!(first.join("config.json").exists() && first.join("vocab.txt").exists());
        assert_eq!(hub.storage.asked().len(), 1, "one waits for the other");
    }
}

/// The weights as the storage has them.
fn whole() -> Answer {
    Answer {
        status: 200,
        body: weights(),
        ..Answer::default()
    }
}
