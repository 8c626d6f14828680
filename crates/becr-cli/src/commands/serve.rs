//! `becr serve`: indexes over HTTP.

mod keep;

use super::at_least_one;
#[cfg(feature = "redis")]
use crate::cluster;
use crate::commands::demo;
use crate::ranking::modes;
use crate::{models, output, supervise};
use anyhow::Context;
use becr::{Index, OpenOptions, QueryMode};
use becr_server::log::{self, LogFormat};
use becr_server::{Server, Settings, UpstreamSettings};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Serve indexes over HTTP, with a page that shows why
///
/// Re-ranks in the shapes of Cohere, Jina and text-embeddings-inference, searches and
/// explains; /openapi.json describes all of it, / is a page to search with. Listens on
/// this machine alone unless told otherwise. Every flag can also be set by the variable
/// that its help names, and in the configuration file under [serve].
///
/// Examples:
///
///   becr serve --demo
///
///   becr serve notes.becr
///
///   becr serve notes=notes.becr wiki=/data/wiki.becr --listen 127.0.0.1:9000
///
///   becr serve redis://redis-1:7000,redis-2:7000/wiki --first-stage wiki-words.becr
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Indexes: DIR, or NAME=DIR; the first is meant where a request names none. An index in a cluster is named by its address:
    /// any number of servers can share it.
    #[arg(value_name = "INDEX")]
    indexes: Vec<String>,
    /// An index, as above, for configuration files and the variable, where several have ';' between them.
    #[arg(
        long = "index",
        value_name = "INDEX",
        env = "BECR_SERVE_INDEX",
        value_delimiter = ';'
    )]
    more_indexes: Vec<String>,
    /// An index whose first stage finds candidates for indexes in a cluster, which have none; it should be of the same
    /// collection, and may be one of words alone.
    #[arg(long, value_name = "DIR", env = "BECR_SERVE_FIRST_STAGE")]
    first_stage: Option<PathBuf>,
    /// Directory of the indexes' model or its hf:owner/name, if it is not where it was when they were built: it encodes queries
    /// and texts.
    #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
    model: Option<PathBuf>,
    /// Read the records of an index in a cluster, also where its nodes could score them.
    #[cfg(feature = "redis")]
    #[arg(long, env = "BECR_NO_MODULE", value_parser = clap::builder::FalseyValueParser::new())]
    no_module: bool,
    /// Build the sample collection into a temporary folder and serve it.
    #[arg(long)]
    demo: bool,
    /// Where to listen: an address of this machine and a port.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080",
        env = "BECR_SERVE_LISTEN"
    )]
    listen: SocketAddr,
    /// How queries are read unless a request says otherwise [default: as each index says]
    #[arg(long, value_parser = modes(), env = "BECR_SERVE_MODE")]
    mode: Option<QueryMode>,
    /// How many candidates of the first stage are re-ranked unless a request says otherwise.
    #[arg(long, value_parser = at_least_one, default_value = "150", env = "BECR_SERVE_DEPTH")]
    depth: usize,
    /// Threads that rank [default: one per core].
    #[arg(long, value_parser = at_least_one, env = "BECR_SERVE_THREADS")]
    threads: Option<usize>,
    /// Requests that may wait for a thread; one more is refused with 429 [default: 16 per core].
    #[arg(long, value_parser = at_least_one, env = "BECR_SERVE_QUEUE")]
    queue: Option<usize>,
    /// Connections that are held at once.
    #[arg(long, value_parser = at_least_one, default_value = "1024", env = "BECR_SERVE_CONNECTIONS")]
    connections: usize,
    /// Seconds that a request may take.
    #[arg(long, value_name = "SECONDS", value_parser = at_least_one, default_value = "30", env = "BECR_SERVE_TIME_LIMIT")]
    time_limit: usize,
    /// Bytes that a request's body may have.
    #[arg(long, value_name = "BYTES", value_parser = at_least_one, default_value = "4194304", env = "BECR_SERVE_BODY_BYTES")]
    body_bytes: usize,
    /// Candidates of a request, and results of a search.
    #[arg(long, value_name = "NUMBER", value_parser = at_least_one, default_value = "1000", env = "BECR_SERVE_CANDIDATES")]
    candidates: usize,
    /// WordPieces of raw texts that are encoded for one request.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "20000",
        env = "BECR_SERVE_TEXT_TOKENS"
    )]
    text_tokens: usize,
    /// Bytes of encoded texts that are kept, per index.
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "67108864",
        env = "BECR_SERVE_CACHE_BYTES"
    )]
    cache_bytes: usize,
    /// Let requests add, change and delete documents.
    #[arg(long, env = "BECR_SERVE_WRITABLE")]
    writable: bool,
    /// Token that readers must show. The variable keeps it out of the list of processes.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "BECR_SERVE_READ_TOKEN",
        hide_env_values = true
    )]
    read_token: Option<String>,
    /// Token that writers must show; it is good for reading too.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "BECR_SERVE_WRITE_TOKEN",
        hide_env_values = true
    )]
    write_token: Option<String>,
    /// Origin whose pages may ask, such as https://example.org. None may unless said otherwise.
    #[arg(
        long,
        value_name = "ORIGIN",
        env = "BECR_SERVE_ORIGIN",
        value_delimiter = ','
    )]
    origin: Vec<String>,
    /// Name by which clients may know a server on loopback, beside localhost: that of a proxy, say.
    #[arg(
        long,
        value_name = "NAME",
        env = "BECR_SERVE_HOST",
        value_delimiter = ','
    )]
    host: Vec<String>,
    /// OpenSearch or Elasticsearch to ask for candidates, up to the name of its index: http://localhost:9200/articles
    #[arg(long, value_name = "URL", env = "BECR_SERVE_UPSTREAM")]
    upstream: Option<String>,
    /// File with the search request for it, as JSON with "{{query}}" and "{{size}}".
    #[arg(
        long,
        value_name = "FILE",
        requires = "upstream",
        env = "BECR_SERVE_UPSTREAM_TEMPLATE"
    )]
    upstream_template: Option<PathBuf>,
    /// Field of its documents that has our id [default: _id].
    #[arg(
        long,
        value_name = "FIELD",
        requires = "upstream",
        env = "BECR_SERVE_UPSTREAM_ID"
    )]
    upstream_id: Option<String>,
    /// What to send it as `Authorization`.
    #[arg(
        long,
        value_name = "VALUE",
        requires = "upstream",
        env = "BECR_SERVE_UPSTREAM_AUTHORIZATION",
        hide_env_values = true
    )]
    upstream_authorization: Option<String>,
    /// How the log is written to standard error.
    #[arg(long, value_enum, default_value_t = ServeLog::Text, env = "BECR_SERVE_LOG")]
    log: ServeLog,
}

impl Args {
    /// The indexes that were named.
    fn given(&self) -> impl Iterator<Item = &str> {
        let given = self.indexes.iter().chain(&self.more_indexes);
        given.map(String::as_str)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ServeLog {
    Text,
    Json,
    Off,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    start_log(args);
    let given: Vec<PathBuf> = args.given().map(|index| named(index).1).collect();
    match supervise::is_child() || given.is_empty() {
        true => serve(args),
        false => keep::alive(&given, || serve(args)),
    }
}

fn start_log(args: &Args) {
    log::start(match args.log {
        ServeLog::Text => LogFormat::Text,
        ServeLog::Json => LogFormat::Json,
        ServeLog::Off => LogFormat::Off,
    });
}

fn serve(args: &Args) -> anyhow::Result<ExitCode> {
    if supervise::is_child() {
        supervise::end_with_parent();
    }
    let settings = settings(args)?;
    // Lives until the server has ended, then the folder is removed.
    let folder = tempfile::tempdir()?;
    let mut indexes = Vec::new();
    for given in args.given() {
        let (name, path) = named(given);
        indexes.push((name, open(args, &path)?));
    }
    if args.demo {
        output::note("building an index of the sample collection, which takes some seconds …");
        let (index, _) = demo::build(&folder.path().join("sample.becr"), None)?;
        indexes.push(("sample".to_owned(), index));
    }
    if indexes.is_empty() {
        anyhow::bail!("name an index to serve, or try `becr serve --demo`");
    }
    let server = Server::bind(settings, indexes)?;
    let mut out = output::stdout();
    // Whoever read the address may have closed the pipe before the server was started again: that does not end it.
    let _ = writeln!(out, "http://{}", server.address()).and_then(|()| out.flush());
    if args.demo {
        output::note("open this address in a browser; Ctrl-C ends it");
    }
    server.run()?;
    Ok(ExitCode::SUCCESS)
}

fn settings(args: &Args) -> anyhow::Result<Settings> {
    let defaults = Settings::default();
    let time_limit = Duration::from_secs(args.time_limit as u64);
    let upstream = match &args.upstream {
        None => None,
        Some(url) => Some(UpstreamSettings {
            url: url.clone(),
            template: match &args.upstream_template {
                None => UpstreamSettings::TEMPLATE.to_owned(),
                Some(path) => std::fs::read_to_string(path)
                    .with_context(|| format!("{}: cannot read the template", path.display()))?,
            },
            authorization: args.upstream_authorization.clone(),
            id_field: args.upstream_id.clone(),
            time_limit: time_limit / 2,
        }),
    };
    Ok(Settings {
        listen: args.listen,
        threads: args.threads.unwrap_or(defaults.threads),
        queue: args.queue.unwrap_or(defaults.queue),
        connections: args.connections,
        time_limit,
        body_bytes: args.body_bytes,
        candidates: args.candidates,
        text_tokens: args.text_tokens,
        cache_bytes: args.cache_bytes,
        mode: args.mode,
        depth: args.depth,
        writable: args.writable,
        read_token: args.read_token.clone(),
        write_token: args.write_token.clone(),
        origins: args.origin.clone(),
        hosts: args.host.clone(),
        upstream,
        ..defaults
    })
}

fn open(args: &Args, path: &Path) -> anyhow::Result<Index> {
    let mut options = OpenOptions::new();
    if let Some(model) = &args.model {
        options = options.model(models::model(Some(model))?);
    }
    #[cfg(feature = "redis")]
    if cluster::address(path).is_some() {
        options = options.cluster(cluster::ranking(args.no_module));
        if let Some(beside) = &args.first_stage {
            options = options.first_stage(Index::open(beside)?);
        }
    }
    Ok(options.open(path)?)
}

/// The name and the directory of an index, or its address.
fn named(given: &str) -> (String, PathBuf) {
    let path = Path::new(given);
    // An address may have any sign in its password.
    let is_address = given.starts_with("redis://") || given.starts_with("rediss://");
    if let Some((name, path)) = given
        .split_once('=')
        .filter(|_| !is_address && !path.exists())
    {
        return (name.to_owned(), PathBuf::from(path));
    }
    let name = path.file_stem().unwrap_or(path.as_os_str());
    (name.to_string_lossy().into_owned(), path.to_owned())
}
