//! Binding, connections, and an orderly end.

use crate::state::State;
use crate::{ServerError, Settings, routes};
use becr::{Index, QueryMode, RankOptions, SearchOptions};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The most bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;

/// A server that has its address and its indexes, and does not answer yet.
pub struct Server {
    state: Arc<State>,
    listener: TcpListener,
    address: SocketAddr,
    stop: Arc<Notify>,
}

/// Stops a server.
#[derive(Clone)]
pub struct Stopper(Arc<Notify>);

impl Stopper {
    /// Has the server finish what it is doing and end.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

impl Server {
    /// Takes the address and makes the indexes, by name, ready to answer. The first is the one that is meant when a request
    /// names none.
    pub fn bind(settings: Settings, indexes: Vec<(String, Index)>) -> Result<Self, ServerError> {
        let address = settings.listen;
        let mode = settings.mode;
        let state = Arc::new(State::new(settings, indexes)?);
        for served in &state.indexes {
            let index = |source| ServerError::Index {
                name: served.name.clone(),
                source: Box::new(source),
            };
            warm(&served.name, &served.index, mode).map_err(index)?;
        }
        let bind = |source| ServerError::Bind { address, source };
        let listener = TcpListener::bind(address).map_err(bind)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            state,
            address: listener.local_addr()?,
            listener,
            stop: Arc::default(),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Answers until it is stopped, or the process gets SIGINT or SIGTERM; then finishes what is running.
    pub fn run(self) -> Result<(), ServerError> {
        // Reading and writing sockets is all it does: the work is the pool's. Where that has one thread, refusing requests
        // must not take most of the core.
        let threads = if self.state.settings.threads > 1 {
            2
        } else {
            1
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("becr-http")
            .enable_all()
            .build()?;
        let state = self.state.clone();
        let served = runtime.block_on(self.serve());
        // The time for an orderly end is one for everything that runs.
        let end = match &served {
            Ok(end) => *end,
            Err(_) => Instant::now(),
        };
        let have_ended = [&state.pool, &state.writers].map(|pool| pool.close(end));
        if have_ended.contains(&false) {
            tracing::warn!("work that took too long was given up");
        }
        runtime.shutdown_timeout(Duration::from_secs(1));
        served.map(drop)
    }

    /// Returns by when everything is to have ended.
    async fn serve(self) -> Result<Instant, ServerError> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let graceful = GracefulShutdown::new();
        let router = routes::router(&self.state);
        let permits = Arc::new(Semaphore::new(self.state.settings.connections));
        let mut end = std::pin::pin!(asked_to_end(&self.stop));
        tracing::info!(address = %self.address, "listening");
        loop {
            let next = async {
                let permit = permits.clone().acquire_owned().await.ok()?;
                Some((listener.accept().await, permit))
            };
            let (accepted, permit) = tokio::select! {
                Some(next) = next => next,
                () = &mut end => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    let service = TowerToHyperService::new(router.clone());
                    let connection = connection(&self.state, stream, service);
                    spawn(graceful.watch(connection), self.state.clone(), permit);
                }
                Err(error) => {
                    // Out of handles, most likely: without a pause this would spin.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(listener);
        tracing::info!("stopping: running requests are finished");
        let end = Instant::now() + self.state.settings.drain;
        if tokio::time::timeout_at(end.into(), graceful.shutdown())
            .await
            .is_err()
        {
            tracing::warn!("requests that took too long were given up");
        }
        Ok(end)
    }
}

type Service = TowerToHyperService<axum::Router>;

fn connection(
    state: &State,
    stream: TcpStream,
    service: Service,
) -> http1::Connection<TokioIo<TcpStream>, Service> {
    let socket = socket2::SockRef::from(&stream);
    // Answers are written in one piece: no waiting for more to send.
    let _ = socket.set_tcp_nodelay(true);
    // A client that does not read its answer is dropped, like one that does not finish its request.
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(state.settings.time_limit));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(state.settings.head_limit)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
}

fn spawn(
    connection: impl Future<Output = hyper::Result<()>> + Send + 'static,
    state: Arc<State>,
    permit: OwnedSemaphorePermit,
) {
    tokio::spawn(async move {
        state.connections.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended");
        }
        state.connections.fetch_sub(1, Ordering::Relaxed);
        drop(permit);
    });
}

/// Waits for a signal or for [`Stopper::stop`].
async fn asked_to_end(stop: &Notify) {
    let terminated = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = terminated => {}
        _ = tokio::signal::ctrl_c() => {}
        () = stop.notified() => {}
    }
}

/// Loads what the first request would wait for: the tokenizer, the head, and the encoder, without which only raw texts and
/// encoded queries are refused.
fn warm(name: &str, index: &Index, mode: Option<QueryMode>) -> Result<(), becr::Error> {
    if index.obstacle()?.is_some() {
        index.search("warm", &SearchOptions::first_stage(1))?;
        return Ok(());
    }
    match index.encoder() {
        Ok(_) => {}
        Err(error) if mode == Some(QueryMode::Encoded) => return Err(error),
        Err(error) => {
            tracing::warn!(index = name, %error, "raw texts and encoded queries cannot be ranked");
        }
    }
    match index.view()?.has_first_stage() {
        true => drop(index.search("warm", &SearchOptions::default())?),
        false => drop(index.rerank("warm", &[], &RankOptions::default())?),
    }
    Ok(())
}
