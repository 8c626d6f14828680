//! Documents that come and go while others search.

use crate::client::{get, send};
use crate::setup::{own, serve, settings};
use becr_server::Settings;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn writable() -> Settings {
    Settings {
        writable: true,
        ..settings()
    }
}

#[test]
fn documents_are_added_replaced_and_deleted() {
    let (_folder, path) = own();
    let server = serve(writable(), &path);
    let at = server.address;
    let scone = json!({"documents": [{"id": "scone", "title": "Scone", "text": "A scone has a crumb of butter."}]});
    let added = send(at, "POST", "/documents", &scone);
    assert_eq!(added.status, 200, "{}", added.body);
    assert_eq!(added.json()["added"], 1);
    let ids = |query: &str| -> Vec<String> {
        let answer = get(at, &format!("/search?q={query}&k=20&candidates=words")).json();
        let results = answer["results"].as_array().unwrap();
        results
            .iter()
            .map(|result| result["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(ids("butter").contains(&"scone".to_owned()));
    let again = send(at, "POST", "/documents", &scone);
    assert_eq!(again.status, 409);
    assert!(again.json()["message"].as_str().unwrap().contains("scone"));
    let other = json!({"documents": [{"id": "scone", "text": "Now about jam."}]});
    assert_eq!(send(at, "PUT", "/documents", &other).json()["replaced"], 1);
    assert!(ids("butter").is_empty() && ids("jam") == ["scone"]);
    let gone = send(
        at,
        "DELETE",
        "/documents",
        &json!({"ids": ["scone", "nobody"]}),
    )
    .json();
    assert_eq!(
        (&gone["deleted"], &gone["unknown"]),
        (&json!(1), &json!(["nobody"]))
    );
    assert!(ids("jam").is_empty());
    for wrong in [
        json!({"documents": [{"id": "", "text": "x"}]}),
        json!({"documents": [{"id": "x"}]}),
    ] {
        assert_eq!(
            send(at, "POST", "/documents", &wrong).status,
            422,
            "{wrong}"
        );
    }
}

/// Pairs of documents are added and deleted together: every answer has both of a pair or none.
#[test]
fn every_answer_is_of_some_committed_state() {
    let (_folder, path) = own();
    let server = serve(writable(), &path);
    let stop = AtomicBool::new(false);
    let (both, none) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let answer = get(server.address, "/search?q=marzipan&k=20&candidates=words");
                    assert_eq!(answer.status, 200, "{}", answer.body);
                    let answer = answer.json();
                    let found = answer["results"].as_array().unwrap();
                    assert!(
                        found
                            .iter()
                            .all(|result: &Value| result["parts"].is_object())
                    );
                    match found.len() {
                        0 => none.fetch_add(1, Ordering::Relaxed),
                        2 => both.fetch_add(1, Ordering::Relaxed),
                        other => panic!("{other} of a pair"),
                    };
                }
            });
        }
        let pair = json!({"documents": [{"id": "one", "text": "marzipan one"}, {"id": "two", "text": "marzipan two"}]});
        for _ in 0..15 {
            let added = send(server.address, "PUT", "/documents", &pair);
            assert_eq!(added.status, 200, "{}", added.body);
            let deleted = send(
                server.address,
                "DELETE",
                "/documents",
                &json!({"ids": ["one", "two"]}),
            );
            assert_eq!(deleted.json()["deleted"], 2);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(both.load(Ordering::Relaxed) > 0 && none.load(Ordering::Relaxed) > 0);
}
