//! BECR over HTTP: re-ranking in the shapes that clients already speak, search, explanations, and a page that shows why.
//!
//! | module | job |
//! |---|---|
//! | `settings` | what can be set, and the defaults |
//! | `server` | binding, connections, shutdown |
//! | `state` | the indexes, by name |
//! | `pool` | threads for ranking: bounded, with a bounded queue |
//! | `watch` | a request's id, log line, counts and failure |
//! | `routes` | a module per route |
//! | `upstream` | candidates from OpenSearch or Elasticsearch |
//! | `openapi` | the description of it all |
//!
//! The async executor reads requests and writes answers, nothing else: everything that searches, ranks, encodes or
//! serialises runs on the pool. A full queue is refused at once, so that overload costs the refused requests nothing and
//! the accepted ones little.
//!
//! ```no_run
//! use becr_server::{Server, Settings};
//!
//! let index = becr::Index::open("notes.becr")?;
//! let server = Server::bind(Settings::default(), vec![("notes".into(), index)])?;
//! println!("http://{}", server.address());
//! server.run()?; // until SIGINT or SIGTERM
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod auth;
mod error;
mod hosts;
pub mod log;
mod metrics;
mod openapi;
mod pool;
mod read;
mod routes;
mod server;
mod settings;
mod state;
mod upstream;
mod watch;

pub use error::ServerError;
pub use openapi::openapi;
pub use server::{Server, Stopper};
pub use settings::{Settings, UpstreamSettings};
