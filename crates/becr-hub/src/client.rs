//! What is said over HTTP.

use crate::redirect::resolve;
use crate::{HubError, Name, Settings};
use std::time::Duration;
use ureq::http::{HeaderMap, Response, StatusCode, Uri};
use ureq::{Agent, Body};

/// From the hub to a file there are two or three.
const MOST_REDIRECTS: usize = 8;

/// Asks the hub, and whom it sends us to.
pub(crate) struct Client {
    agent: Agent,
    endpoint: String,
    token: Option<String>,
}

/// What the hub says when asked for a file.
#[derive(Debug)]
pub(crate) enum Answered {
    /// This is it.
    Here(Metadata),
    /// The repository has not got it. Certain is what the hub says in so many words; any server can answer 404.
    Nowhere { certain: bool },
}

/// What the hub knows of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// The commit that the revision stands for.
    pub(crate) commit: String,
    /// Tells contents apart; of large files their SHA-256.
    pub(crate) etag: String,
    /// Bytes.
    pub(crate) size: u64,
}

impl Client {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut config = Agent::config_builder()
            .user_agent(concat!("becr/", env!("CARGO_PKG_VERSION")))
            // Answers are looked at, redirects too: they carry what the hub knows of a file.
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .timeout_per_read(Some(Duration::from_secs(60)));
        let uri: Option<Uri> = settings.endpoint.parse().ok();
        if uri.is_some_and(|uri| matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"))) {
            // A proxy is for the world outside.
            config = config.proxy(None);
        }
        Self {
            agent: config.build().into(),
            endpoint: settings.endpoint.clone(),
            token: settings.token.clone(),
        }
    }

    /// Where a file of a model is.
    pub(crate) fn address(&self, name: &Name, file: &str) -> String {
        let (repository, revision) = (&name.repository, name.revision.replace('/', "%2F"));
        format!("{}/{repository}/resolve/{revision}/{file}", self.endpoint)
    }

    /// What the hub knows of a file.
    pub(crate) fn metadata(&self, name: &Name, file: &str) -> Result<Answered, HubError> {
        let mut address = self.address(name, file);
        let mut found = Found::default();
        for _ in 0..=MOST_REDIRECTS {
            let request = self
                .agent
                .head(&address)
                .header("Accept-Encoding", "identity");
            let request = match self.token_for(&address) {
                Some(token) => request.header("Authorization", token),
                None => request,
            };
            let answer = request.call().map_err(unreachable(name, &address))?;
            found.read(answer.headers(), answer.status());
            match (answer.status(), next(&answer, &address)) {
                // The hub has said all; beyond are the servers of large files.
                (_, Some(next)) if found.linked.is_some() && !self.is_hub(&next) => {
                    return self.told(name, file, found);
                }
                (_, Some(next)) => address = next,
                (StatusCode::NOT_FOUND, None) if !is_nowhere(answer.headers()) => {
                    let certain = has_code(answer.headers(), "EntryNotFound");
                    return Ok(Answered::Nowhere { certain });
                }
                (status, None) => {
                    check(name, &address, status)?;
                    return self.told(name, file, found);
                }
            }
        }
        Err(too_many_redirects(name, address))
    }

    fn told(&self, name: &Name, file: &str, found: Found) -> Result<Answered, HubError> {
        let refuse = |problem: &str| HubError::Answer {
            name: name.clone(),
            address: self.address(name, file),
            problem: problem.to_owned(),
        };
        found.metadata().map(Answered::Here).map_err(refuse)
    }

    /// A file's contents from a byte on. The answer may have all of it: status 200, not 206.
    pub(crate) fn get(
        &self,
        name: &Name,
        file: &str,
        from: u64,
    ) -> Result<Response<Body>, HubError> {
        let mut address = self.address(name, file);
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self
                .agent
                .get(&address)
                .header("Accept-Encoding", "identity");
            if from > 0 {
                request = request.header("Range", format!("bytes={from}-"));
            }
            if let Some(token) = self.token_for(&address) {
                request = request.header("Authorization", token);
            }
            let answer = request.call().map_err(unreachable(name, &address))?;
            match next(&answer, &address) {
                Some(next) => address = next,
                None if answer.status() == StatusCode::RANGE_NOT_SATISFIABLE => return Ok(answer),
                None => {
                    check(name, &address, answer.status())?;
                    return Ok(answer);
                }
            }
        }
        Err(too_many_redirects(name, address))
    }

    /// The token is for the hub alone, not for those it sends us to.
    fn token_for(&self, address: &str) -> Option<String> {
        let token = self.token.as_ref().filter(|_| self.is_hub(address))?;
        Some(format!("Bearer {token}"))
    }

    fn is_hub(&self, address: &str) -> bool {
        let rest = address.strip_prefix(&self.endpoint);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }
}

/// What answers have said so far.
#[derive(Default)]
struct Found {
    commit: Option<String>,
    etag: Option<String>,
    size: Option<u64>,
    /// Etag of the file that is linked to, before the etag of whatever answers.
    linked: Option<String>,
    linked_size: Option<u64>,
}

impl Found {
    fn read(&mut self, headers: &HeaderMap, status: StatusCode) {
        let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim().to_owned());
        let etag = |name: &str| {
            let etag = text(name)?;
            let etag = etag.strip_prefix("W/").unwrap_or(&etag);
            Some(etag.trim_matches('"').to_owned())
        };
        let number = |name: &str| text(name)?.parse().ok();
        self.commit = text("x-repo-commit").or(self.commit.take());
        self.linked = etag("x-linked-etag").or(self.linked.take());
        self.linked_size = number("x-linked-size").or(self.linked_size);
        self.etag = etag("etag").or(self.etag.take());
        if status.is_success() {
            self.size = number("content-length");
        }
    }

    /// Both names become files: they must be fit for it.
    fn metadata(self) -> Result<Metadata, &'static str> {
        let commit = self.commit.filter(|commit| crate::name::is_word(commit));
        let size = self.linked_size.or(self.size);
        let etag = self.linked.or(self.etag);
        let etag = etag.filter(|etag| crate::name::is_word(etag));
        Ok(Metadata {
            commit: commit.ok_or("the answer names no commit (x-repo-commit)")?,
            etag: etag.ok_or("the answer has no etag")?,
            size: size.ok_or("the answer does not tell the size")?,
        })
    }
}

/// Where an answer sends us.
fn next(answer: &Response<Body>, address: &str) -> Option<String> {
    if !answer.status().is_redirection() {
        return None;
    }
    let location = answer.headers().get("location")?.to_str().ok()?;
    resolve(&address.parse().ok()?, location)
}

fn too_many_redirects(name: &Name, address: String) -> HubError {
    HubError::Answer {
        name: name.clone(),
        address,
        problem: format!("more than {MOST_REDIRECTS} redirects"),
    }
}

/// It is not the file alone that is missing.
fn is_nowhere(headers: &HeaderMap) -> bool {
    has_code(headers, "RepoNotFound") || has_code(headers, "RevisionNotFound")
}

fn has_code(headers: &HeaderMap, code: &str) -> bool {
    headers.get("x-error-code").is_some_and(|told| told == code)
}

fn check(name: &Name, address: &str, status: StatusCode) -> Result<(), HubError> {
    let (name, address) = (name.clone(), address.to_owned());
    match status.as_u16() {
        200..=299 => Ok(()),
        401 | 403 => Err(HubError::Refused {
            name,
            address,
            status: status.as_u16(),
        }),
        404 => Err(HubError::Missing {
            name,
            address,
            remedy: "check owner, name and revision",
        }),
        status => Err(HubError::Unreachable {
            name,
            address,
            problem: format!("it answers {status}"),
        }),
    }
}

fn unreachable<'a>(name: &'a Name, address: &'a str) -> impl FnOnce(ureq::Error) -> HubError + 'a {
    move |error| HubError::Unreachable {
        name: name.clone(),
        address: address.to_owned(),
        problem: error.to_string(),
    }
}
