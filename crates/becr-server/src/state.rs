//! What all requests share.

use crate::auth::Tokens;
use crate::error::ApiError;
use crate::metrics::Metrics;
use crate::pool::Pool;
use crate::upstream::Upstream;
use crate::watch::Request;
use crate::{ServerError, Settings};
use axum::http::StatusCode;
use axum::response::Response;
use becr::{Index, TextCache};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// An index under its name.
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) index: Index,
    pub(crate) texts: TextCache,
}

/// Indexes, threads, settings and counts.
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) tokens: Tokens,
    pub(crate) indexes: Vec<Arc<Served>>,
    /// Ranks.
    pub(crate) pool: Pool,
    /// Writes: one thread, because an index has one writer.
    pub(crate) writers: Pool,
    pub(crate) metrics: Metrics,
    pub(crate) upstream: Option<Upstream>,
    pub(crate) connections: AtomicUsize,
}

impl State {
    pub(crate) fn new(
        settings: Settings,
        indexes: Vec<(String, Index)>,
    ) -> Result<Self, ServerError> {
        check(&settings, &indexes)?;
        let serve = |(name, index)| {
            Arc::new(Served {
                name,
                index,
                texts: TextCache::new(settings.cache_bytes),
            })
        };
        let upstream = settings.upstream.as_ref().map(Upstream::new).transpose();
        Ok(Self {
            indexes: indexes.into_iter().map(serve).collect(),
            tokens: Tokens::new(&settings),
            pool: Pool::new("becr-rank", settings.threads, settings.queue)?,
            writers: Pool::new("becr-write", 1, settings.queue)?,
            metrics: Metrics::default(),
            upstream: upstream.map_err(ServerError::Settings)?,
            connections: AtomicUsize::new(0),
            settings,
        })
    }

    /// The index of a name; the first without one.
    pub(crate) fn index(&self, name: Option<&str>) -> Result<&Arc<Served>, ApiError> {
        let found = match name {
            None => self.indexes.first(),
            Some(name) => self.indexes.iter().find(|served| served.name == name),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = self
                .indexes
                .iter()
                .map(|served| served.name.as_str())
                .collect();
            let message = format!("no such index; there are: {}", names.join(", "));
            ApiError::new(StatusCode::NOT_FOUND, "unknown_index", message)
        })
    }

    /// Refuses queries that are too long.
    pub(crate) fn check_query(&self, query: &str) -> Result<(), ApiError> {
        let most = self.settings.query_bytes;
        match query.len() {
            length if length > most => Err(ApiError::invalid(format!(
                "the query has {length} bytes, this server takes up to {most}"
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses a number of candidates or results that is too large; 0 is none.
    pub(crate) fn check_count(&self, what: &str, count: usize) -> Result<(), ApiError> {
        let most = self.settings.candidates;
        match count > most {
            true => Err(ApiError::invalid(format!(
                "{what}: {count}, this server takes up to {most}"
            ))),
            false => Ok(()),
        }
    }

    /// Has an answer made by the ranking threads, within the request's time.
    pub(crate) async fn rank(
        self: &Arc<Self>,
        request: &Request,
        work: impl FnOnce(&State, Duration) -> Result<Response, ApiError> + Send + 'static,
    ) -> Result<Response, ApiError> {
        let state = self.clone();
        let work = move |waited| work(&state, waited);
        self.pool
            .run(request.deadline, request.weight, work)
            .await?
    }
}

fn check(settings: &Settings, indexes: &[(String, Index)]) -> Result<(), ServerError> {
    let wrong = |message: &str| Err(ServerError::Settings(message.to_owned()));
    if indexes.is_empty() {
        return wrong("there is no index to serve");
    }
    for (place, (name, _)) in indexes.iter().enumerate() {
        if indexes[..place].iter().any(|(before, _)| before == name) {
            return wrong(&format!(
                "two indexes are named {name}; give one another name"
            ));
        }
    }
    let is_open = !settings.listen.ip().is_loopback() && settings.write_token.is_none();
    if settings.writable && is_open {
        return wrong(
            "documents may be changed and the address is not loopback: set a token for writing, or everybody could",
        );
    }
    for (name, token) in [
        ("reading", &settings.read_token),
        ("writing", &settings.write_token),
    ] {
        if token.as_ref().is_some_and(|token| token.len() < 8) {
            return wrong(&format!(
                "the token for {name} is too short to keep anybody out: give it eight characters or more"
            ));
        }
    }
    Ok(())
}
