//! Fetching from a hub on this machine; nothing outside it is asked.

mod interrupted;
mod server;

use becr_hub::{HubError, Name, Observer, Settings};
use server::{Answer, COMMIT, Hub};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const MODEL: &str = "tiny/bert";

fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn weights() -> Vec<u8> {
    (0..200_000_u32)
        .map(|n| (n.wrapping_mul(n) >> 7) as u8)
        .collect()
}

/// A hub with a model whose weights are cut off so many times.
fn hub(cuts: usize) -> (Hub, TempDir) {
    let hub = Hub::start();
    hub.small(MODEL, "config.json", b"{}");
    hub.small(MODEL, "vocab.txt", b"[PAD]\n");
    hub.large(
        MODEL,
        "model.safetensors",
        &weights(),
        &sha256(&weights()),
        cuts,
    );
    (hub, tempfile::tempdir().unwrap())
}

fn settings(hub: &Hub, folder: &Path) -> Settings {
    Settings {
        endpoint: hub.hub.address.clone(),
        cache: folder.join("hub"),
        token: Some("secret".into()),
        offline: false,
        pause: Duration::from_millis(1),
    }
}

fn fetch(settings: Settings, name: &str) -> Result<PathBuf, HubError> {
    let name: Name = name.parse().unwrap();
    becr_hub::Hub::new(settings).fetch(&name, &())
}

/// Makes sure that the weights are whole, and says which ranges of them the storage was asked for.
fn ranges_of_whole_weights(hub: &Hub, directory: &Path) -> Vec<Option<String>> {
    let found = fs::read(directory.join("model.safetensors")).unwrap();
    assert_eq!(found, weights());
    (hub.storage.asked().iter())
        .map(|asked| asked.headers.get("range").cloned())
        .collect()
}

#[test]
fn a_model_is_fetched_once_into_the_usual_cache() {
    let (hub, folder) = hub(0);
    let directory = fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap();
    let root = folder.path().join("hub/models--tiny--bert");
    assert_eq!(directory, root.join("snapshots").join(COMMIT));
    assert_eq!(
        fs::read(directory.join("model.safetensors")).unwrap(),
        weights()
    );
    assert_eq!(fs::read(directory.join("vocab.txt")).unwrap(), b"[PAD]\n");
    assert!(!directory.join("tokenizer.json").exists());
    let absent = root.join(".no_exist").join(COMMIT);
    assert_eq!(fs::read(absent.join("tokenizer.json")).unwrap(), b"");
    assert_eq!(fs::read_dir(absent).unwrap().count(), 6);
    assert_eq!(fs::read_to_string(root.join("refs/main")).unwrap(), COMMIT);
    assert!(root.join("blobs").join(sha256(&weights())).is_file());

    // The token is for the hub, not for the server of large files.
    let told = |asked: &[server::Asked]| {
        asked
            .iter()
            .all(|a| a.headers.contains_key("authorization"))
    };
    let asked = hub.hub.asked();
    assert!(told(&asked));
    // What comes after the first answer is of the commit that it named.
    let of_main = asked.iter().filter(|asked| asked.path.contains("/main/"));
    assert_eq!(of_main.count(), 1, "{asked:?}");
    let stored = hub.storage.asked();
    assert_eq!(stored.len(), 1, "{stored:?}");
    assert!(stored[0].method == "GET" && !stored[0].headers.contains_key("authorization"));

    // Asked again, the hub tells that nothing has changed; a commit is not asked for at all.
    let again = fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap();
    assert_eq!(again, directory);
    let asked = hub.hub.asked();
    assert!(asked.iter().all(|asked| asked.method == "HEAD"));
    assert!(
        asked
            .iter()
            .all(|asked| asked.path.contains("/config.json"))
    );
    assert!(hub.storage.asked().is_empty());
    let pinned = fetch(
        settings(&hub, folder.path()),
        &format!("hf:tiny/bert@{COMMIT}"),
    )
    .unwrap();
    assert_eq!((pinned, hub.hub.asked().len()), (directory, 0));
}

/// Whatever a model directory can hold comes along: without one of these, a model would rank otherwise than where it was made.
#[test]
fn everything_that_belongs_to_a_model_is_fetched() {
    let (hub, folder) = hub(0);
    let optional = [
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "head.json",
        "mixer.safetensors",
        "words.bin",
    ];
    for name in optional {
        hub.small("tiny/bert", name, name.as_bytes());
    }
    let directory = fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap();
    for name in optional {
        let found = fs::read(directory.join(name));
        assert_eq!(found.unwrap_or_default(), name.as_bytes(), "{name}");
    }
}

#[derive(Default)]
struct Watcher {
    positions: RefCell<Vec<u64>>,
    notes: RefCell<Vec<String>>,
    done: RefCell<u64>,
}

impl Observer for Watcher {
    fn begin(&self, _: &'static str, _: u64) {}
    fn position(&self, bytes: u64) {
        self.positions.borrow_mut().push(bytes);
    }
    fn advance(&self, bytes: u64) {
        *self.done.borrow_mut() += bytes;
    }
    fn end(&self) {}
    fn note(&self, message: &str) {
        self.notes.borrow_mut().push(message.into());
    }
}

#[test]
fn what_was_cut_off_goes_on_where_it_stopped() {
    let (hub, folder) = hub(2);
    let watcher = Watcher::default();
    let name: Name = "hf:tiny/bert".parse().unwrap();
    let settings = settings(&hub, folder.path());
    let directory = becr_hub::Hub::new(settings).fetch(&name, &watcher).unwrap();
    let ranges = ranges_of_whole_weights(&hub, &directory);
    let expected = [
        None,
        Some("bytes=100000-".into()),
        Some("bytes=150000-".into()),
    ];
    assert_eq!(ranges, expected);
    assert_eq!(*watcher.positions.borrow(), [0, 0, 0, 100_000, 150_000]);
    let small = b"{}".len() + b"[PAD]\n".len();
    assert_eq!(*watcher.done.borrow(), (weights().len() + small) as u64);
}

#[test]
fn damage_is_found() {
    let (hub, folder) = hub(0);
    hub.large(MODEL, "model.safetensors", b"damaged", &sha256(b"whole"), 0);
    let error = fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap_err();
    assert!(matches!(error, HubError::Damaged { .. }), "{error}");
    let blobs = folder.path().join("hub/models--tiny--bert/blobs");
    assert_eq!(
        fs::read_dir(blobs).unwrap().count(),
        2,
        "config.json and vocab.txt"
    );
}

#[test]
fn refusals_say_what_to_do() {
    let (hub, folder) = hub(0);
    let answer = |status: u16, code: &str| Answer {
        status,
        headers: vec![("x-error-code", code.into())],
        ..Answer::default()
    };
    hub.hub.put(
        "/a/private/resolve/main/config.json",
        answer(401, "GatedRepo"),
    );
    hub.hub.put(
        "/no/body/resolve/main/config.json",
        answer(404, "RepoNotFound"),
    );
    hub.hub
        .put("/a/mess/resolve/main/config.json", answer(200, ""));
    hub.hub
        .put("/a/broken/resolve/main/config.json", answer(500, ""));
    let circle = Answer {
        headers: vec![("location", "config.json".into())],
        ..answer(302, "")
    };
    hub.hub.put("/a/circle/resolve/main/config.json", circle);
    hub.small("a/torch", "config.json", b"{}");
    for (name, told) in [
        (
            "hf:a/private",
            "answers 401: there is no such model, or it is not for everybody",
        ),
        ("hf:a/private", "set HF_TOKEN"),
        ("hf:a/private", "$HF_HOME/token"),
        (
            "hf:a/circle",
            "/a/circle/resolve/main/config.json: more than 8 redirects; is HF_ENDPOINT a hub?",
        ),
        (
            "hf:no/body",
            "/no/body/resolve/main/config.json is not there; check owner, name and revision",
        ),
        ("hf:a/torch", "save_pretrained"),
        ("hf:a/nothing", "this is no model"),
        (
            "hf:a/mess",
            "names no commit (x-repo-commit); is HF_ENDPOINT a hub?",
        ),
        (
            "hf:a/broken",
            "it answers 500; without a network, download the model elsewhere",
        ),
    ] {
        let error = fetch(settings(&hub, folder.path()), name)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(name) && error.contains(told),
            "{told}: {error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn without_the_hub_the_cache_will_do() {
    let (hub, folder) = hub(0);
    let nobody = Settings {
        // Nothing listens there: a port below 1024 that tests never have.
        endpoint: "http://127.0.0.1:9".into(),
        ..settings(&hub, folder.path())
    };
    let offline = Settings {
        offline: true,
        ..nobody.clone()
    };
    let error = fetch(nobody.clone(), "hf:tiny/bert")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("cannot reach http://127.0.0.1:9/tiny/bert"),
        "{error}"
    );
    assert!(error.contains("give its directory"), "{error}");
    let error = fetch(offline.clone(), "hf:tiny/bert")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("HF_HUB_OFFLINE is set") && error.contains("config.json"),
        "{error}"
    );

    let directory = fetch(settings(&hub, folder.path()), "hf:tiny/bert").unwrap();
    assert_eq!(fetch(offline, "hf:tiny/bert").unwrap(), directory);
    let watcher = Watcher::default();
    let name: Name = "hf:tiny/bert".parse().unwrap();
    let kept = becr_hub::Hub::new(nobody).fetch(&name, &watcher).unwrap();
    assert_eq!(kept, directory);
    assert!(
        watcher.notes.borrow()[0].contains("cannot reach"),
        "{:?}",
        watcher.notes
    );
}
