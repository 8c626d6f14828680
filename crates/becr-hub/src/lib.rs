//! Base encoders from the Hugging Face hub by name.
//!
//! [`Hub::fetch`] turns a [`Name`] into a directory with the files of a model. They are kept in the hub's usual cache, laid
//! out as Hugging Face's own tools do it:
//!
//! ```text
//! ~/.cache/huggingface/hub/models--owner--name/
//!     refs/main                       the commit that a branch or tag stood for
//!     blobs/<etag>                    contents; <etag>.incomplete while it is fetched
//!     snapshots/<commit>/config.json  links to contents
//!     .no_exist/<commit>/head.json    empty: the commit has no such file
//! ```
//!
//! A download that was cut off goes on where it stopped, and weights are compared with their SHA-256, which the hub
//! gives as their etag. What is asked of the hub is what the environment says ([`Settings::from_env`]).
//!
//! ```no_run
//! use becr_hub::{Hub, Name, Settings};
//!
//! let name: Name = "hf:thenlper/gte-small".parse()?;
//! let directory = Hub::new(Settings::from_env()?).fetch(&name, &())?;
//! # Ok::<(), becr_hub::HubError>(())
//! ```

mod cache;
mod client;
mod download;
mod error;
mod fetch;
mod name;
mod redirect;
mod settings;

pub use error::HubError;
pub use fetch::{Hub, Observer};
pub use name::{Name, PREFIX};
pub use settings::Settings;
