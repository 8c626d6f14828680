//! What can be set.

use becr::{QueryMode, SearchOptions};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// How to serve. The defaults are for one machine and its own user.
#[derive(Clone)]
pub struct Settings {
    /// Where to listen; loopback unless said otherwise.
    pub listen: SocketAddr,
    /// Threads that rank.
    pub threads: usize,
    /// Requests that may wait for a thread. One more is refused with 429.
    pub queue: usize,
    /// Connections that are held at once. More wait in the system's backlog.
    pub connections: usize,
    /// From the first byte of a request's body to its answer.
    pub time_limit: Duration,
    /// How long a client may take for a request's head, and how long an idle connection is kept.
    pub head_limit: Duration,
    /// How long running requests may take to finish after a stop was asked for.
    pub drain: Duration,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of a query.
    pub query_bytes: usize,
    /// Candidates of a request, and results of a search.
    pub candidates: usize,
    /// WordPieces of raw texts that one request may have encoded.
    pub text_tokens: usize,
    /// Bytes of encoded texts that are kept, per index.
    pub cache_bytes: usize,
    /// How a query is read unless the request says otherwise; `None` for what each index says itself.
    pub mode: Option<QueryMode>,
    /// How many candidates of the first stage a search re-ranks unless the request says otherwise.
    pub depth: usize,
    /// Whether documents may be added, changed and deleted.
    pub writable: bool,
    /// Whoever reads must show this token; without one everybody may.
    pub read_token: Option<String>,
    /// Whoever writes must show this token. It is good for reading too.
    pub write_token: Option<String>,
    /// Origins whose pages may ask (CORS); none unless said otherwise.
    pub origins: Vec<String>,
    /// Names that clients may know the server by, beside `localhost` and addresses. Only looked at on loopback.
    pub hosts: Vec<String>,
    /// Another engine to ask for candidates, in the place of the indexes' own first stage.
    pub upstream: Option<UpstreamSettings>,
}

/// An OpenSearch or Elasticsearch that finds candidates.
#[derive(Clone)]
pub struct UpstreamSettings {
    /// Address up to the name of its index, `http://localhost:9200/articles`.
    pub url: String,
    /// The body of its search request: JSON in which the strings `"{{query}}"` and `"{{size}}"` are replaced by the
    /// query and the number of candidates.
    pub template: String,
    /// Sent as `Authorization`.
    pub authorization: Option<String>,
    /// Field of a hit's source that has the id by which the BECR index knows the document; `_id` unless set.
    pub id_field: Option<String>,
    /// How long it may take.
    pub time_limit: Duration,
}

impl UpstreamSettings {
    /// Asks all fields for the query's words.
    pub const TEMPLATE: &str = r#"{"size": "{{size}}", "_source": false, "query": {"multi_match": {"query": "{{query}}"}}}"#;
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            threads: cores,
            queue: (16 * cores).max(64),
            connections: 1024,
            time_limit: Duration::from_secs(30),
            head_limit: Duration::from_secs(30),
            drain: Duration::from_secs(30),
            body_bytes: 4 << 20,
            query_bytes: 4096,
            candidates: 1000,
            text_tokens: 20_000,
            cache_bytes: 64 << 20,
            mode: None,
            depth: SearchOptions::DEPTH,
            writable: false,
            read_token: None,
            write_token: None,
            origins: Vec::new(),
            hosts: Vec::new(),
            upstream: None,
        }
    }
}
