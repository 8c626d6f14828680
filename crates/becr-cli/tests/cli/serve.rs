//! `becr serve` as a process: its settings, its end, and kill −9 while it writes.

use crate::becr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server and where it listens.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, &[("BECR_CONFIG", "off")])
    }

    fn start_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_becr"))
            .arg("serve")
            .args(arguments)
            .env("BECR_SERVE_LISTEN", "127.0.0.1:0")
            .current_dir(folder)
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .env("BECR_SERVE_DEPTH", "7")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://");
        let address = address.unwrap_or_else(|| panic!("no address: {line:?}"));
        Self {
            address: address.to_owned(),
            child,
        }
    }

    /// Status and body of an answer; `None` if there was none.
    fn ask(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).ok()?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }
}

impl Served {
    /// Asserts that all of these documents are in the index.
    fn has(&self, ids: &[String]) {
        for id in ids {
            let body = format!(r#"{{"query": "crumb", "documents": [{{"id": "{id}"}}]}}"#);
            let (status, answer) = self.ask("POST", "/v2/rerank", &body).unwrap();
            let is_there = status == 200 && answer.contains(r#""path":"index""#);
            assert!(is_there, "{id}: {answer}");
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn kitchen(folder: &Path) {
    let documents = r#"{"id": "bread", "title": "Bread", "text": "A dense crumb means that the dough was proved too briefly."}
{"id": "tea", "title": "Tea", "text": "Green tea wants water that no longer boils."}
"#;
    std::fs::write(folder.join("kitchen.jsonl"), documents).unwrap();
    let built = becr(folder, &["index", "kitchen.jsonl", "--out", "kitchen.becr"]);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
}

#[test]
fn settings_come_from_flags_and_variables_and_a_signal_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    kitchen(folder.path());
    let mut served = Served::start(folder.path(), &["food=kitchen.becr", "--log", "json"]);
    let (status, info) = served.ask("GET", "/info", "").unwrap();
    assert_eq!(status, 200);
    assert!(
        info.contains(r#""name":"food""#) && info.contains(r#""depth":7"#),
        "{info}"
    );
    assert!(info.contains(r#""writable":false"#), "{info}");
    let (status, found) = served.ask("GET", "/search?q=crumb", "").unwrap();
    assert!(status == 200 && found.contains("bread"), "{found}");
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(served.child.wait().unwrap().success());
    let mut log = String::new();
    served
        .child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut log)
        .unwrap();
    let line = log.lines().find(|line| line.contains("/search")).unwrap();
    assert!(
        line.starts_with('{') && line.contains(r#""status":200"#) && line.contains("first_stage="),
        "{line}"
    );
}

/// One file for the command and the server; variables win over it, flags over both.
#[test]
fn one_configuration_file_serves_command_and_server() {
    let folder = tempfile::tempdir().unwrap();
    kitchen(folder.path());
    let file = "[search]\nk = 1\n[serve]\nindex = [\"food=kitchen.becr\", \"kitchen.becr\"]\ndepth = 9\ncandidates = 55\n\
                queue = 3\nlog = \"off\"\nlisten = \"127.0.0.1:1\"\n";
    std::fs::write(folder.path().join("becr.toml"), file).unwrap();
    let config = ("BECR_CONFIG", "becr.toml");
    let info = |arguments: &[&str], variables: &[(&str, &str)]| {
        let served = Served::start_with(folder.path(), arguments, variables);
        served.ask("GET", "/info", "").unwrap().1
    };
    let from_file = info(&["--depth", "8"], &[config]);
    for part in [
        r#""name":"food""#,
        r#""name":"kitchen""#,
        r#""depth":8"#,
        r#""candidates":55"#,
    ] {
        assert!(from_file.contains(part), "{part} in {from_file}");
    }
    let variable = ("BECR_SERVE_INDEX", "one=kitchen.becr;two=kitchen.becr");
    let from_variable = info(&[], &[config, variable]);
    for part in [r#""name":"one""#, r#""name":"two""#, r#""depth":7"#] {
        assert!(from_variable.contains(part), "{part} in {from_variable}");
    }
    assert!(!from_variable.contains("food"), "{from_variable}");
    let searched = Command::new(env!("CARGO_BIN_EXE_becr"))
        .args(["search", "kitchen.becr", "crumb", "tea", "--json"])
        .current_dir(folder.path())
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env("BECR_CONFIG", "becr.toml")
        .output()
        .unwrap();
    let found = String::from_utf8(searched.stdout).unwrap();
    assert_eq!(found.matches("\"id\"").count(), 1, "{found}");
}

/// The process that answers: a child of the one that was started.
fn worker(served: &Served) -> Option<rustix::process::Pid> {
    let pid = served.child.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let child = children.split_whitespace().next()?.parse().ok()?;
    rustix::process::Pid::from_raw(child)
}

/// A page of a mapped file that is gone ends whoever reads it with SIGBUS.
#[test]
fn a_damaged_page_does_not_end_the_server() {
    use rustix::process::{Signal, kill_process};
    let folder = tempfile::tempdir().unwrap();
    kitchen(folder.path());
    // A port of its own, which is the same again after a fall.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap().to_string();
    drop(port);
    let mut served = Served::start(folder.path(), &["kitchen.becr", "--listen", &address]);
    let answers = |served: &Served| {
        let found = served.ask("GET", "/search?q=crumb", "");
        found.is_some_and(|(status, found)| status == 200 && found.contains("bread"))
    };
    assert!(answers(&served));
    let fall = |served: &Served| {
        let before = worker(served).unwrap();
        // The first takes away the handler with which Rust looks for stack overflows; a real fault comes again by itself.
        while kill_process(before, Signal::BUS).is_ok() && worker(served) == Some(before) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let limit = std::time::Instant::now() + Duration::from_secs(60);
        while std::time::Instant::now() < limit {
            let now = worker(served);
            if now.is_some_and(|now| now != before && answers(served)) {
                return true;
            }
            if now.is_none()
                && std::fs::metadata(format!("/proc/{}/exe", served.child.id())).is_err()
            {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    };
    for _ in 0..4 {
        assert!(fall(&served), "it is started again");
    }
    // What falls again and again serves nobody.
    assert!(!fall(&served));
    assert_eq!(served.child.wait().unwrap().code(), Some(1));
    let mut log = String::new();
    let mut stderr = served.child.stderr.take().unwrap();
    stderr.read_to_string(&mut log).unwrap();
    let again = log.lines().filter(|line| line.contains("started again"));
    assert_eq!(again.count(), 4, "{log}");
    assert!(
        log.contains("SIGBUS") && log.contains("becr verify"),
        "{log}"
    );
    assert!(log.contains("data.mdb"), "{log}");
}

/// The system ends the process that takes most memory with SIGKILL.
#[test]
fn a_killed_worker_is_started_again() {
    use rustix::process::{Signal, kill_process};
    let folder = tempfile::tempdir().unwrap();
    kitchen(folder.path());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap().to_string();
    drop(port);
    let mut served = Served::start(folder.path(), &["kitchen.becr", "--listen", &address]);
    for _ in 0..2 {
        let before = worker(&served).unwrap();
        kill_process(before, Signal::KILL).unwrap();
        let limit = std::time::Instant::now() + Duration::from_secs(60);
        while worker(&served).is_none_or(|now| now == before)
            || served
                .ask("GET", "/ready", "")
                .is_none_or(|(status, _)| status != 200)
        {
            assert!(std::time::Instant::now() < limit, "it is not started again");
            assert!(served.child.try_wait().unwrap().is_none(), "it ended");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    // A pause is no time in which it cannot be ended.
    kill_process(worker(&served).unwrap(), Signal::KILL).unwrap();
    while worker(&served).is_some() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = rustix::process::Pid::from_child(&served.child);
    kill_process(pid, Signal::TERM).unwrap();
    let begun = std::time::Instant::now();
    served.child.wait().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    let mut log = String::new();
    let mut stderr = served.child.stderr.take().unwrap();
    stderr.read_to_string(&mut log).unwrap();
    assert!(log.contains("SIGKILL") && log.contains("memory"), "{log}");
}

/// Resident memory of a process that is no file's, in bytes.
fn anonymous(pid: rustix::process::Pid) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    let status = status.unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse::<usize>().ok()).unwrap_or(0) << 10
}

/// Bodies within the limit whose contents, read naively, take many times their bytes. A worker's memory stays within one and a
/// half of its idle size, the cache, and for each request twice the body and a batch of the encoder.
#[test]
fn a_requests_memory_is_bounded_by_its_body() {
    const BODY: usize = 4 << 20;
    const REQUESTS: usize = 4;
    let fill = |unit: &str| unit.repeat((BODY - 400) / unit.len());
    let list = |unit: &str| {
        let mut list = fill(unit);
        list.pop();
        list
    };
    let fields = list("\"a\",");
    let many = fields.len() / 2;
    let bodies = [
        (
            "/v2/rerank",
            format!(
                r#"{{"query":"a","documents":[{{"a":"{}"}}],"rank_fields":[{}"a"]}}"#,
                "x ".repeat(BODY / 4 - 200),
                &fields[..many / 4 * 4]
            ),
        ),
        (
            "/v2/rerank",
            format!(
                r#"{{"query":"a","documents":[{{"text":"a","x":[{}]}}],"return_documents":true}}"#,
                list("0,")
            ),
        ),
        (
            "/v2/rerank",
            format!(r#"{{"query":"a","documents":[{}]}}"#, list("{},")),
        ),
        (
            "/v2/rerank",
            format!(r#"{{"query":"a","documents":[{}]}}"#, list("\"\",")),
        ),
        (
            "/v1/rerank",
            format!(r#"{{"query":"a","documents":["{}"]}}"#, fill("hot oven ")),
        ),
        (
            "/rerank",
            format!(r#"{{"query":"a","texts":[{}]}}"#, list("\"\",")),
        ),
        (
            "/rerank",
            format!(r#"{{"query":"a","texts":["{}"]}}"#, fill("a ")),
        ),
        (
            "/explain",
            format!(r#"{{"query":"a","documents":[{}]}}"#, list("\"\",")),
        ),
        ("/search", format!(r#"{{"query":"{}"}}"#, fill("a "))),
        (
            "/documents",
            format!(
                r#"{{"documents":[{}]}}"#,
                list("{\"id\":\"a\",\"text\":\"\"},")
            ),
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    kitchen(folder.path());
    let served = Served::start(
        folder.path(),
        &[
            "kitchen.becr",
            "--writable",
            "--threads",
            "2",
            "--log",
            "off",
        ],
    );
    let warm = r#"{"query":"a","texts":["a dense crumb"]}"#;
    assert_eq!(served.ask("POST", "/rerank", warm).unwrap().0, 200);
    let worker = worker(&served).unwrap();
    let idle = anonymous(worker);
    assert!(idle > 0);
    const BATCH: usize = 32 << 20;
    let most = idle * 3 / 2 + (64 << 20) + REQUESTS * (2 * BODY + BATCH);
    let done = std::sync::atomic::AtomicBool::new(false);
    for (path, body) in &bodies {
        assert!(body.len() <= BODY, "{}", body.len());
        std::thread::scope(|scope| {
            done.store(false, std::sync::atomic::Ordering::Relaxed);
            let watched = scope.spawn(|| {
                let mut highest = 0;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    highest = highest.max(anonymous(worker));
                    std::thread::sleep(Duration::from_millis(2));
                }
                highest
            });
            let clients: Vec<_> = (0..REQUESTS)
                .map(|_| scope.spawn(|| served.ask("POST", path, body).map(|(status, _)| status)))
                .collect();
            let answered: Vec<_> = clients
                .into_iter()
                .map(|client| client.join().unwrap())
                .collect();
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            let highest = watched.join().unwrap();
            let start = &body[..60];
            assert!(
                highest <= most,
                "{path} {start}: {} MiB, idle {} MiB, at most {} MiB",
                highest >> 20,
                idle >> 20,
                most >> 20
            );
            let is_answer = |status: &Option<u16>| status.is_some_and(|status| status < 500);
            assert!(
                answered.iter().all(is_answer),
                "{path} {start}: {answered:?}"
            );
        });
    }
    assert_eq!(served.ask("GET", "/ready", "").unwrap().0, 200);
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["serve"][..], "becr serve --demo"),
        (&["serve", "nowhere.becr"], "nowhere.becr"),
        (&["serve", "--listen", "here"], "--listen"),
        (&["serve", "--upstream-id", "x"], "--upstream"),
    ] {
        let outcome = becr(folder.path(), arguments);
        assert_ne!(outcome.code, Some(0));
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

#[test]
fn what_was_acknowledged_outlives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    kitchen(folder.path());
    let mut acknowledged = vec!["bread".to_owned(), "tea".to_owned()];
    for round in 0..4 {
        let mut served = Served::start(
            folder.path(),
            &["kitchen.becr", "--writable", "--log", "off"],
        );
        served.has(&acknowledged);
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let server = &served;
            let writer = scope.spawn(move || {
                for number in 0.. {
                    let id = format!("r{round}n{number}");
                    let body = format!(
                        r#"{{"documents": [{{"id": "{id}", "text": "crumb number {number}"}}]}}"#
                    );
                    match server.ask("PUT", "/documents", &body) {
                        Some((200, _)) => tell.send(id).unwrap(),
                        _ => break,
                    }
                }
            });
            // The first write has been acknowledged; the kill comes somewhere in those after it.
            acknowledged.extend(told.recv());
            std::thread::sleep(Duration::from_millis(130 * round));
            let pid = rustix::process::Pid::from_child(&served.child);
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            writer.join().unwrap();
            acknowledged.extend(told.try_iter());
        });
        served.child.wait().unwrap();
    }
    assert!(acknowledged.len() >= 2 + 4, "{acknowledged:?}");
    Served::start(folder.path(), &["kitchen.becr", "--log", "off"]).has(&acknowledged);
    let verified = becr(folder.path(), &["verify", "kitchen.becr"]);
    assert_eq!(
        verified.code,
        Some(0),
        "{}{}",
        verified.stdout,
        verified.stderr
    );
}
