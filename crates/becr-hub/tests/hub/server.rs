//! A hub on this machine: answers as the real one does, from memory, and remembers what it was asked.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// An answer to whoever asks for a path.
#[derive(Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// So many times, the connection is cut off in the middle of the body.
    pub(crate) cuts: usize,
    /// What takes its place once its contents were asked for.
    pub(crate) then: Option<Box<Answer>>,
}

/// A request that came: method, path, and headers in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: String,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            answers: Arc::default(),
            asked: Arc::default(),
        };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || serving.serve(stream));
            }
        });
        server
    }

    pub(crate) fn put(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    /// What was asked since the last time.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
        let first = lines.next()?.ok()?;
        let (method, rest) = first.split_once(' ')?;
        let path = rest.split(' ').next()?.to_owned();
        let mut headers = HashMap::new();
        for line in lines {
            match line.ok()?.split_once(": ") {
                Some((name, value)) => drop(headers.insert(name.to_lowercase(), value.to_owned())),
                None => break,
            }
        }
        let from = headers.get("range").and_then(|range| {
            let from = range.strip_prefix("bytes=")?.strip_suffix('-')?;
            from.parse::<usize>().ok()
        });
        let answer = self.answer(&path, method == "GET");
        self.asked.lock().unwrap().push(Asked {
            method: method.to_owned(),
            path,
            headers,
        });
        respond(stream, &answer, method, from).ok()
    }

    /// The answer, whose cuts are used up by contents alone.
    fn answer(&self, path: &str, contents: bool) -> Answer {
        let mut answers = self.answers.lock().unwrap();
        let Some(answer) = answers.get_mut(path) else {
            return Answer {
                status: 404,
                headers: vec![("x-error-code", "EntryNotFound".into())],
                ..Answer::default()
            };
        };
        let given = answer.clone();
        match given.then.as_deref().filter(|_| contents) {
            Some(then) => *answer = then.clone(),
            None if contents => answer.cuts = answer.cuts.saturating_sub(1),
            None => {}
        }
        given
    }
}

fn respond(
    mut stream: TcpStream,
    answer: &Answer,
    method: &str,
    from: Option<usize>,
) -> std::io::Result<()> {
    let from = from.filter(|_| answer.status == 200);
    let body = &answer.body[from.unwrap_or(0).min(answer.body.len())..];
    let status = if from.is_some() { 206 } else { answer.status };
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    )?;
    for (name, value) in &answer.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    write!(stream, "\r\n")?;
    if method == "GET" {
        let sent = if answer.cuts > 0 {
            body.len() / 2
        } else {
            body.len()
        };
        stream.write_all(&body[..sent])?;
    }
    stream.flush()
}

/// The commit that every model here is at.
pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A hub and the server it keeps large files on.
pub(crate) struct Hub {
    pub(crate) hub: Server,
    pub(crate) storage: Server,
}

impl Hub {
    pub(crate) fn start() -> Self {
        let (hub, storage) = (Server::start(), Server::start());
        Self { hub, storage }
    }

    /// A small file: the hub sends on to another path of its own.
    pub(crate) fn small(&self, model: &str, file: &str, body: &[u8]) {
        let there = format!("/api/resolve-cache/models/{model}/{COMMIT}/{file}?etag=x");
        let commit = ("x-repo-commit", COMMIT.to_owned());
        for revision in ["main", COMMIT] {
            self.hub.put(
                &format!("/{model}/resolve/{revision}/{file}"),
                Answer {
                    status: 307,
                    headers: vec![("location", there.clone()), commit.clone()],
                    body: b"Temporary Redirect".to_vec(),
                    ..Answer::default()
                },
            );
        }
        let etag = format!(
            "\"{:040x}\"",
            body.iter().map(|b| u64::from(*b)).sum::<u64>()
        );
        self.hub.put(
            &there,
            Answer {
                status: 200,
                headers: vec![("etag", etag), commit],
                body: body.to_vec(),
                ..Answer::default()
            },
        );
    }

    /// A large file: the hub says its hash and its size and sends on to another server.
    pub(crate) fn large(&self, model: &str, file: &str, body: &[u8], sha256: &str, cuts: usize) {
        let there = format!("/repos/{model}/{file}?signature=x");
        for revision in ["main", COMMIT] {
            self.hub.put(
                &format!("/{model}/resolve/{revision}/{file}"),
                Answer {
                    status: 302,
                    headers: vec![
                        ("location", format!("{}{there}", self.storage.address)),
                        ("x-repo-commit", COMMIT.to_owned()),
                        ("x-linked-etag", format!("\"{sha256}\"")),
                        ("x-linked-size", body.len().to_string()),
                    ],
                    body: b"Found".to_vec(),
                    ..Answer::default()
                },
            );
        }
        self.storage.put(
            &there,
            Answer {
                status: 200,
                headers: vec![("etag", "\"of-the-storage\"".into())],
                body: body.to_vec(),
                cuts,
                then: None,
            },
        );
    }
}
