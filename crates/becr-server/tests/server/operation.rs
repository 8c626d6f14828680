//! Shedding, shutdown, new states of an index, and what is counted.

use crate::client::{ask, connect, get, parse, post};
use crate::setup::{documents, own, serve, settings, shared};
use becr::{Build, Document, Index};
use becr_server::{Server, Settings};
use serde_json::json;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A request that keeps a thread busy for a while: texts that must be encoded, different each time.
fn busy(number: usize) -> String {
    let text = |at: usize| {
        format!(
            "text {number} {at} {}",
            "many words about rivers and banks ".repeat(12)
        )
    };
    let texts: Vec<String> = (0..40).map(text).collect();
    json!({"query": "river", "texts": texts}).to_string()
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn what_does_not_fit_the_queue_is_refused_at_once() {
    let narrow = Settings {
        threads: 1,
        queue: 1,
        ..settings()
    };
    let server = serve(narrow, shared());
    let until = |metric: &str| {
        while !get(server.address, "/metrics").body.contains(metric) {
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    let send = |number: usize| ask(server.address, "POST", "/rerank", &[JSON], &busy(number));
    std::thread::scope(|scope| {
        let send = &send;
        let runs = scope.spawn(move || send(0));
        until("becr_running 1");
        let waits = scope.spawn(move || send(1));
        until("becr_queue_depth 1");
        for number in 2..6 {
            let answer = send(number);
            assert_eq!(answer.status, 429, "{}", answer.body);
            assert!(answer.header("retry-after").is_some());
            assert_eq!(answer.json()["error"], "overloaded");
        }
        for answer in [runs, waits] {
            assert_eq!(answer.join().unwrap().status, 200);
        }
    });
    // Afterwards it answers as before.
    assert_eq!(get(server.address, "/search?q=crumb").status, 200);
    assert!(
        get(server.address, "/metrics")
            .body
            .contains("becr_failures_total{kind=\"overloaded\"}")
    );
}

#[test]
fn requests_over_their_time_are_answered_all_the_same() {
    let short = Settings {
        threads: 1,
        time_limit: Duration::from_millis(5),
        ..settings()
    };
    let server = serve(short, shared());
    let answer = ask(server.address, "POST", "/rerank", &[JSON], &busy(0));
    assert_eq!(answer.status, 503);
    assert!(answer.header("retry-after").is_some());
}

#[test]
fn a_stop_finishes_what_is_running() {
    let mut server = serve(settings(), shared());
    let mut stream = connect(server.address);
    let body = busy(0);
    let head = format!(
        "POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let begun = Instant::now();
    while !get(server.address, "/metrics")
        .body
        .contains("becr_running 1")
    {
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
    server.stopper.stop();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(parse(&answer).status, 200);
    server.ended();
    assert!(std::net::TcpStream::connect(server.address).is_err());
}

/// A request that takes many times as long as a stop may take.
#[test]
fn a_stop_ends_within_its_time_whatever_runs() {
    let short = Settings {
        threads: 1,
        drain: Duration::from_millis(300),
        text_tokens: 1_000_000,
        ..settings()
    };
    let mut server = serve(short, shared());
    let text = |at: usize| format!("{at} {}", "rivers and banks, oven and dough, ".repeat(1500));
    let texts: Vec<String> = (0..4).map(text).collect();
    let body = json!({"query": "river", "texts": texts}).to_string();
    let mut stream = connect(server.address);
    let head = format!(
        "POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    while !get(server.address, "/metrics")
        .body
        .contains("becr_running 1")
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    let begun = Instant::now();
    server.stopper.stop();
    server.ended();
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

/// Somebody builds the index anew, at the same place, while clients search: every answer is of the old or the new one.
#[test]
fn a_rebuilt_index_is_followed_without_dropping_a_request() {
    let (_folder, path) = own();
    let server = serve(settings(), &path);
    let stop = AtomicBool::new(false);
    let (old, new) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let answer = get(server.address, "/search?q=crumb&k=20");
                    assert_eq!(answer.status, 200, "{}", answer.body);
                    let answer = answer.json();
                    let ids: Vec<&str> = answer["results"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|r| r["id"].as_str().unwrap())
                        .collect();
                    let is_new = ids.contains(&"cake");
                    assert_eq!(ids.contains(&"bread"), !is_new, "{ids:?}");
                    if is_new { &new } else { &old }.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut documents: Vec<Document> = documents()
            .into_iter()
            .filter(|document| document.id != "bread")
            .collect();
        documents.push(Document::new("cake", "Cake", "A cake's crumb is fine."));
        Build::new()
            .overwrite(true)
            .run(&path, documents, &())
            .unwrap();
        let begun = Instant::now();
        while new.load(Ordering::Relaxed) < 20 && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(old.load(Ordering::Relaxed) > 0 && new.load(Ordering::Relaxed) >= 20);
    // Texts that were encoded for the old one are of no use to the new one, and are not taken for it.
    let body = json!({"query": "crumb", "documents": [{"id": "cake"}, {"id": "bread"}]});
    let answer = post(server.address, "/v2/rerank", &body).json();
    assert_eq!(answer["results"][1]["path"], "unknown");
}

#[test]
fn what_happened_is_counted() {
    let server = serve(settings(), shared());
    for _ in 0..3 {
        get(server.address, "/search?q=dense+crumb&mode=composed");
    }
    get(server.address, "/nowhere/at/all");
    let answer = get(server.address, "/metrics");
    assert!(
        answer
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    for expected in [
        "becr_requests_total{route=\"/search\",method=\"GET\",status=\"200\"} 3",
        "becr_requests_total{route=\"unknown\",method=\"GET\",status=\"404\"} 1",
        "becr_stage_duration_seconds_count{stage=\"deep\"} 3",
        "becr_stage_duration_seconds_count{stage=\"queue\"} 3",
        "becr_request_duration_seconds_count{route=\"/search\"} 3",
        "becr_failures_total{kind=\"not_found\"} 1",
        "becr_token_groups_total{kind=\"word\",found=\"true\"} 6",
        "becr_index_documents{index=\"kitchen\"} 6",
    ] {
        assert!(
            answer.body.lines().any(|line| line == expected),
            "{expected} in\n{}",
            answer.body
        );
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let open = || vec![("a".to_owned(), Index::open(shared()).unwrap())];
    let refused = |settings, indexes| match Server::bind(settings, indexes) {
        Ok(_) => panic!("served"),
        Err(error) => error.to_string(),
    };
    assert!(refused(settings(), Vec::new()).contains("no index"));
    let twice = [open(), open()].concat();
    assert!(refused(settings(), twice).contains("named a"));
    let everybody = Settings {
        listen: "0.0.0.0:0".parse().unwrap(),
        writable: true,
        ..settings()
    };
    assert!(refused(everybody, open()).contains("token"));
    let taken = serve(settings(), shared());
    let same = Settings {
        listen: taken.address,
        ..settings()
    };
    assert!(refused(same, open()).contains(&taken.address.to_string()));
}
