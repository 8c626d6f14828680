//! What is refused, how, and what hostile clients get.

use crate::client::{ask, connect, get, parse, post, raw};
use crate::setup::{serve, settings, shared};
use becr_server::Settings;
use serde_json::json;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn failures_have_one_shape_and_the_right_status() {
    let server = serve(settings(), shared());
    let at = server.address;
    let long = "x".repeat(5000);
    let many: Vec<&str> = vec!["a"; 1001];
    let cases = [
        ("POST", "/v2/rerank", "{", 400),
        ("POST", "/v2/rerank", "", 400),
        ("POST", "/v2/rerank", "[]", 422),
        ("POST", "/v2/rerank", r#"{"query": "a"}"#, 422),
        (
            "POST",
            "/v2/rerank",
            r#"{"query": 7, "documents": []}"#,
            422,
        ),
        (
            "POST",
            "/v2/rerank",
            r#"{"query": "a", "documents": [7]}"#,
            422,
        ),
        (
            "POST",
            "/v2/rerank",
            r#"{"query": "a", "documents": [{}]}"#,
            422,
        ),
        (
            "POST",
            "/v2/rerank",
            r#"{"query": "a", "documents": [{"id": 7}]}"#,
            422,
        ),
        (
            "POST",
            "/v2/rerank",
            r#"{"query": "a", "documents": [{"id": "b", "score": 1e60}]}"#,
            422,
        ),
        (
            "POST",
            "/v2/rerank",
            r#"{"query": "a", "documents": ["b"], "top_n": 0}"#,
            422,
        ),
        (
            "POST",
            "/v2/rerank",
            r#"{"query": "a", "documents": ["b"], "top_n": -1}"#,
            422,
        ),
        (
            "POST",
            "/v2/rerank",
            &json!({"query": long, "documents": []}).to_string(),
            422,
        ),
        (
            "POST",
            "/v2/rerank",
            &json!({"query": "a", "documents": many}).to_string(),
            422,
        ),
        (
            "POST",
            "/rerank",
            &json!({"query": "a", "texts": many}).to_string(),
            422,
        ),
        ("POST", "/search", r#"{"query": "a", "k": 0}"#, 422),
        ("POST", "/search", r#"{"query": "a", "k": 100000}"#, 422),
        ("POST", "/search", r#"{"query": "a", "unknown": 1}"#, 422),
        ("POST", "/search", r#"{"query": "a", "mode": "guess"}"#, 422),
        (
            "POST",
            "/search",
            r#"{"query": "a", "index": "other"}"#,
            404,
        ),
        ("GET", "/search", "", 422),
        ("GET", "/search?q=a&k=x", "", 422),
        (
            "POST",
            "/explain",
            r#"{"query": "a", "documents": []}"#,
            422,
        ),
        (
            "POST",
            "/explain",
            r#"{"query": "a", "documents": ["nobody"]}"#,
            404,
        ),
        ("POST", "/documents", r#"{"documents": []}"#, 403),
        ("GET", "/nowhere", "", 404),
        ("GET", "/v2/rerank", "", 405),
        ("PATCH", "/search", "", 405),
    ];
    for (method, path, body, status) in cases {
        let answer = ask(at, method, path, &[JSON], body);
        let case = format!("{method} {path} {}", &body[..body.len().min(80)]);
        assert_eq!(answer.status, status, "{case}: {}", answer.body);
        let told = answer.json();
        assert!(
            told["message"]
                .as_str()
                .is_some_and(|message| message.len() > 8),
            "{case}"
        );
        assert!(told["error"].as_str().is_some(), "{case}");
        assert_eq!(
            told["request_id"].as_str(),
            answer.header("x-request-id"),
            "{case}"
        );
    }
    assert_eq!(get(at, "/health").status, 200);
}

#[test]
fn requests_keep_the_ids_they_come_with() {
    let server = serve(settings(), shared());
    let of = |id: &str| {
        let answer = ask(
            server.address,
            "GET",
            "/health",
            &[("X-Request-Id", id)],
            "",
        );
        answer.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(of("abc-1.2_3"), "abc-1.2_3");
    for unfit in ["with space", "\"quoted\"", &"x".repeat(65)] {
        assert_eq!(of(unfit).len(), 16, "{unfit}");
    }
}

#[test]
fn bodies_are_json_and_not_too_large() {
    let server = serve(
        Settings {
            body_bytes: 1000,
            ..settings()
        },
        shared(),
    );
    let body = json!({"query": "a", "documents": ["x".repeat(2000)]}).to_string();
    let answer = ask(server.address, "POST", "/v2/rerank", &[JSON], &body);
    assert_eq!(answer.status, 413);
    // What a page of another site can send without asking first is not taken.
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
    ] {
        let small = r#"{"query": "a", "documents": []}"#;
        let answer = ask(
            server.address,
            "POST",
            "/v2/rerank",
            &[("Content-Type", kind)],
            small,
        );
        assert_eq!(answer.status, 415, "{kind}");
    }
    let with_charset = [("Content-Type", "application/json; charset=utf-8")];
    let answer = ask(
        server.address,
        "POST",
        "/v2/rerank",
        &with_charset,
        r#"{"query": "a", "documents": []}"#,
    );
    assert_eq!(answer.status, 200);
}

#[test]
fn tokens_are_asked_for() {
    let tokens = Settings {
        read_token: Some("for-reading".into()),
        write_token: Some("for-writing".into()),
        writable: true,
        ..settings()
    };
    let (_folder, path) = crate::setup::own();
    let server = serve(tokens, &path);
    let of = |path: &str, method: &str, token: &str, body: &str| {
        let value = format!("Bearer {token}");
        ask(
            server.address,
            method,
            path,
            &[JSON, ("Authorization", &value)],
            body,
        )
        .status
    };
    let none = get(server.address, "/search?q=a");
    assert_eq!(none.status, 401);
    assert_eq!(none.header("www-authenticate"), Some("Bearer"));
    assert_eq!(of("/search?q=a", "GET", "for-readinG", ""), 401);
    assert_eq!(of("/search?q=a", "GET", "for-reading", ""), 200);
    assert_eq!(of("/metrics", "GET", "for-writing", ""), 200);
    let delete = r#"{"ids": ["tea"]}"#;
    assert_eq!(of("/documents", "DELETE", "for-reading", delete), 403);
    assert_eq!(of("/documents", "DELETE", "", delete), 401);
    assert_eq!(of("/documents", "DELETE", "for-writing", delete), 200);
    // The page and the checks of whoever runs the server need no token.
    for path in ["/", "/health", "/ready", "/openapi.json"] {
        assert_eq!(get(server.address, path).status, 200, "{path}");
    }
}

#[test]
fn other_sites_cannot_ask() {
    let server = serve(settings(), shared());
    let host = |host: &str| ask(server.address, "GET", "/search?q=a", &[("Host", host)], "").status;
    assert_eq!(host("evil.example"), 403);
    assert_eq!(host("127.0.0.1:1234"), 200);
    let origin = ("Origin", "https://site.example");
    let closed = ask(server.address, "GET", "/search?q=a", &[origin], "");
    assert_eq!(closed.header("access-control-allow-origin"), None);
    let allowed = Settings {
        origins: vec!["https://site.example".into()],
        ..settings()
    };
    let open = serve(allowed, shared());
    let answer = ask(open.address, "GET", "/search?q=a", &[origin], "");
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://site.example")
    );
    let other = ask(
        open.address,
        "GET",
        "/search?q=a",
        &[("Origin", "https://other.example")],
        "",
    );
    assert_eq!(other.header("access-control-allow-origin"), None);
}

#[test]
fn hostile_clients_are_survived() {
    let quick = Settings {
        head_limit: Duration::from_millis(400),
        time_limit: Duration::from_millis(600),
        ..settings()
    };
    let server = serve(quick, shared());
    let at = server.address;
    // Garbage, by a generator whose seed is fixed.
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    for length in [1, 16, 300, 5000, 100_000] {
        let garbage: Vec<u8> = (0..length)
            .map(|_| {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                seed as u8
            })
            .collect();
        let _ = raw(at, &garbage);
        let mut request = b"POST /v2/rerank HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n".to_vec();
        request.extend(format!("Content-Length: {length}\r\n\r\n").bytes());
        request.extend(&garbage);
        assert_eq!(parse(&raw(at, &request)).status, 400);
    }
    let huge = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: {}\r\n\r\n",
        "x".repeat(200_000)
    );
    let _ = raw(at, huge.as_bytes());
    // Heads and bodies that never end are cut off in time.
    for begun in [
        &b"GET /sear"[..],
        b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ] {
        let started = Instant::now();
        let mut stream = connect(at);
        stream.write_all(begun).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(started.elapsed() < Duration::from_secs(20));
        let text = String::from_utf8_lossy(&answer);
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 408"), "{text}");
    }
    // Half-closed, and closed without waiting for the answer.
    for _ in 0..20 {
        let mut stream = connect(at);
        stream
            .write_all(b"GET /search?q=crumb HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        drop(connect(at));
    }
    let metrics = get(at, "/metrics").body;
    assert!(!metrics.contains("status=\"500\""), "{metrics}");
}

#[test]
fn hostile_contents_are_survived() {
    let server = serve(settings(), shared());
    let at = server.address;
    let nested = "[".repeat(100_000);
    let deep = format!("{{\"query\": \"a\", \"documents\": {nested}");
    assert_eq!(ask(at, "POST", "/v2/rerank", &[JSON], &deep).status, 400);
    for query in [
        "\0",
        "\u{202e}",
        "🦀🦀",
        "' OR 1=1 --",
        "../../etc/passwd",
        "{{query}}",
        &"a ".repeat(2000),
    ] {
        for documents in [
            json!([query]),
            json!([{"id": query}]),
            json!([{"id": query, "text": query}]),
        ] {
            let answer = post(
                at,
                "/v2/rerank",
                &json!({"query": query, "documents": documents}),
            );
            assert_eq!(answer.status, 200, "{query:?} {}", answer.body);
        }
        let answer = post(at, "/search", &json!({"query": query}));
        assert_eq!(answer.status, 200, "{query:?} {}", answer.body);
    }
    let metrics = get(at, "/metrics").body;
    assert!(!metrics.contains("status=\"500\""), "{metrics}");
}
