//! Another engine for the first stage: one that answers as the published examples do.

use crate::client::get;
use crate::setup::{serve, settings, shared};
use becr_server::{Settings, UpstreamSettings};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

/// Answers every request with the same, and hands on what was asked.
fn engine(answer: String, status: &'static str) -> (SocketAddr, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
            loop {
                let read = stream.read(&mut buffer).unwrap_or(0);
                request.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&request);
                let length = text.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse::<usize>().unwrap())
                });
                let body = text.split_once("\r\n\r\n").map(|(_, body)| body.len());
                if read == 0 || body >= length && body.is_some() {
                    break;
                }
            }
            let _ = send.send(String::from_utf8_lossy(&request).into_owned());
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(answer.as_bytes()));
        }
    });
    (address, receive)
}

fn with(address: SocketAddr) -> Settings {
    Settings {
        upstream: Some(UpstreamSettings {
            url: format!("http://{address}/articles"),
            template: UpstreamSettings::TEMPLATE.to_owned(),
            authorization: Some("ApiKey abc".into()),
            id_field: None,
            time_limit: Duration::from_secs(5),
        }),
        ..settings()
    }
}

#[test]
fn candidates_of_another_engine_are_re_ranked() {
    let hit = |id: &str, score: f64| json!({"_index": "articles", "_id": id, "_score": score});
    let answer = json!({"took": 2, "timed_out": false, "hits": {
        "total": {"value": 3, "relation": "eq"}, "max_score": 3.0,
        "hits": [hit("tea", 3.0), hit("elsewhere", 2.5), hit("bread", 1.0)]}});
    let (address, asked) = engine(answer.to_string(), "200 OK");
    let server = serve(with(address), shared());
    let found = get(server.address, "/search?q=dense+%22crumb%22&k=5").json();
    let request = asked.recv().unwrap();
    assert!(
        request.starts_with("POST /articles/_search HTTP/1.1"),
        "{request}"
    );
    assert!(
        request.to_lowercase().contains("authorization: apikey abc"),
        "{request}"
    );
    assert!(
        request.contains(r#"dense \"crumb\""#) && request.contains(r#""size": 150"#),
        "{request}"
    );
    let ids: Vec<&str> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["bread", "tea"]);
    assert_eq!(found["results"][0]["first_stage_rank"], 3);
    assert_eq!(found["results"][0]["title"], "Bread");
    assert_eq!(
        get(server.address, "/info").json()["first_stage"],
        "upstream"
    );
}

#[test]
fn an_engine_that_fails_is_told_as_such() {
    let (failing, _asked) = engine("{}".into(), "500 Internal Server Error");
    let (strange, _asked) = engine(r#"{"hits": 7}"#.into(), "200 OK");
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for address in [failing, strange, nobody] {
        let server = serve(with(address), shared());
        let answer = get(server.address, "/search?q=crumb");
        assert_eq!(answer.status, 503);
        assert!(
            answer.json()["message"]
                .as_str()
                .unwrap()
                .contains("search engine")
        );
    }
}
