//! Another index in the place of the one that is served: what is answered then is what a server answers that was started
//! afterwards.

use crate::client::{get, post, send};
use crate::setup::{Running, documents, own, serve, settings};
use becr::{Build, Document, Index, Model, Precision};
use becr_model::{Config, Feature, Head, Storage, Weights};
use becr_server::Settings;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A model of random weights whose tokenizer knows a few words of the documents.
fn small(folder: &Path) -> Model {
    std::fs::create_dir(folder).unwrap();
    let config = Config::new(14, 16, 2, 2, 24, 40);
    config.write(&folder.join("config.json")).unwrap();
    let words =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\ncrumb\noven\ndough\nbank\nwater\ntea\na\nand\nhot\n";
    std::fs::write(folder.join("vocab.txt"), words).unwrap();
    let weights = Weights::random(&config, 3, 10.0);
    let file = folder.join("model.safetensors");
    weights.write(&file, Storage::F32).unwrap();
    let mut model = Model::read(folder).unwrap();
    let mut head = Head::blank(model.encoder_id(), config.kept_layers().unwrap().len());
    let alpha = head.deep.alpha.iter_mut().flatten();
    alpha.for_each(|weight| *weight = 0.05);
    head.lexical = vec![Feature {
        name: "body_bm25_sum".into(),
        mean: 1.0,
        deviation: 1.0,
        weight: 0.5,
    }];
    head.write(&folder.join("head.json")).unwrap();
    model.head = Some(head);
    model
}

fn writable() -> Settings {
    Settings {
        writable: true,
        ..settings()
    }
}

/// What a server says of the index and of texts, in both modes, without times and ids of requests.
fn answers(server: &Running) -> Vec<Value> {
    let mut answers = Vec::new();
    for mode in ["encoded", "composed"] {
        let search = json!({"query": "dense crumb of dough", "k": 20, "mode": mode});
        let found = post(server.address, "/search", &search);
        assert_eq!(found.status, 200, "{}", found.body);
        answers.push(found.json()["results"].clone());
        let texts = json!({"query": "hot water", "mode": mode, "documents":
            ["Tea wants hot water.", {"id": "bread"}, {"id": "new"}, "The oven was hot and the dough cold."]});
        let ranked = post(server.address, "/v2/rerank", &texts);
        assert_eq!(ranked.status, 200, "{}", ranked.body);
        let ranked = ranked.json()["results"].clone();
        let scores = ranked.as_array().unwrap().iter();
        answers.extend(scores.map(|row| json!([row["index"], row["score"]])));
    }
    answers
}

/// The served index is replaced by one of another encoder, which a server started afterwards knows from the beginning.
fn follows(before: Build, after: Build) {
    let (folder, path) = own();
    before.overwrite(true).run(&path, documents(), &()).unwrap();
    let server = serve(writable(), &path);
    let old = answers(&server);
    after
        .clone()
        .overwrite(true)
        .run(&path, documents(), &())
        .unwrap();
    let fresh = serve(settings(), &path);
    let expected = answers(&fresh);
    assert!(expected != old, "the two cannot be told apart");
    assert!(answers(&server) == expected, "not those of the new index");
    // Documents that come over the old server are encoded as the new index is.
    let new = ("new", "New", "A bank of the river, and a hot oven.");
    let body = json!({"documents": [{"id": new.0, "title": new.1, "text": new.2}]});
    let added = send(server.address, "POST", "/documents", &body);
    assert_eq!(added.status, 200, "{}", added.body);
    let whole = folder.path().join("whole.becr");
    after.run(&whole, documents(), &()).unwrap();
    let whole = Index::open(&whole).unwrap();
    let document = Document::new(new.0, new.1, new.2);
    whole.add([document], becr::Existing::Refuse, &()).unwrap();
    let digest = |index: &Index| index.view().unwrap().digest().unwrap();
    assert_eq!(digest(&Index::open(&path).unwrap()), digest(&whole));
    assert_eq!(get(server.address, "/ready").status, 200);
}

#[test]
fn an_index_of_another_precision_is_asked_with_its_own_encoder() {
    let of = |precision| Build::new().precision(precision);
    follows(of(Precision::Int8), of(Precision::F32));
}

#[test]
fn an_index_of_another_model_is_asked_with_its_own_encoder() {
    let folder = tempfile::tempdir().unwrap();
    let model = small(&folder.path().join("model"));
    follows(Build::new(), Build::new().model(model.clone()));
    follows(Build::new().model(model), Build::new());
}

/// Somebody removes the index and puts another one there, with other documents, while clients ask.
fn is_followed(replace: impl FnOnce(&Path)) {
    let (_folder, path) = own();
    let server = serve(writable(), &path);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ask = || {
            while !stop.load(Ordering::Relaxed) {
                let answer = get(server.address, "/search?q=crumb&k=20");
                assert_eq!(answer.status, 200, "{}", answer.body);
            }
        };
        let clients = [scope.spawn(ask), scope.spawn(ask)];
        replace(&path);
        // First, as a process has one store at a path: a second server finds it let go of.
        let found = get(server.address, "/search?q=crumb&k=20");
        let fresh = serve(settings(), &path);
        let expected = get(fresh.address, "/search?q=crumb&k=20").json()["results"].clone();
        let ready = get(server.address, "/ready").status;
        let body = json!({"documents": [{"id": "late", "text": "A crumb that came late."}]});
        let added = send(server.address, "POST", "/documents", &body);
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().unwrap();
        }
        assert_eq!(found.status, 200, "{}", found.body);
        assert!(found.json()["results"] == expected, "{}", found.body);
        assert_eq!((ready, added.status), (200, 200), "{}", added.body);
    });
    let index = Index::open(&path).unwrap();
    assert!(index.verify().unwrap().problems.is_empty());
}

fn other_documents() -> Vec<Document> {
    let mut documents = documents();
    documents.retain(|document| document.id != "bread");
    documents.push(Document::new("cake", "Cake", "A cake's crumb is fine."));
    documents
}

#[test]
fn an_index_that_was_removed_and_built_again_is_followed() {
    is_followed(|path| {
        std::fs::remove_dir_all(path).unwrap();
        Build::new().run(path, other_documents(), &()).unwrap();
    });
}

#[test]
fn a_restored_copy_is_followed() {
    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path().join("copy.becr");
    Build::new().run(&copy, other_documents(), &()).unwrap();
    is_followed(|path| {
        let aside = path.with_extension("gone");
        // As `cp -a` makes it: beside, with the times of the original, then moved.
        let status = std::process::Command::new("cp")
            .arg("-a")
            .args([&copy, &aside])
            .status();
        assert!(status.unwrap().success());
        std::fs::remove_dir_all(path).unwrap();
        std::fs::rename(&aside, path).unwrap();
    });
}

/// The copy is of the served index itself, from before documents were added: its description is the same, byte for byte.
#[test]
fn a_copy_of_an_earlier_state_is_followed() {
    let (folder, path) = own();
    let copy = folder.path().join("copy.becr");
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([&path, &copy])
        .status();
    assert!(copied.unwrap().success());
    let server = serve(writable(), &path);
    let body = json!({"documents": [{"id": "late", "text": "A crumb that came late."}]});
    assert_eq!(
        send(server.address, "POST", "/documents", &body).status,
        200
    );
    let has_late = |server: &Running| {
        let found = get(server.address, "/search?q=late&k=20");
        assert_eq!(found.status, 200, "{}", found.body);
        let found = found.json();
        let results = found["results"].as_array().unwrap();
        results.iter().any(|result| result["id"] == "late")
    };
    assert!(has_late(&server));
    // Of the store alone, as a tool does that leaves alone what has not changed.
    std::fs::remove_dir_all(path.join("store")).unwrap();
    std::fs::remove_dir_all(path.join("first-stage")).unwrap();
    std::fs::rename(copy.join("first-stage"), path.join("first-stage")).unwrap();
    std::fs::rename(copy.join("store"), path.join("store")).unwrap();
    assert!(!has_late(&server));
    assert_eq!(get(server.address, "/ready").status, 200);
}
