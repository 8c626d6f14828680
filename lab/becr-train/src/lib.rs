//! Training: the BECR model in burn, its loss, its loop and its data.
//!
//! A [`Trainer`] learns a head from [`Example`]s, queries with relevant and irrelevant documents of an index, and stops by
//! the nDCG@10 of a real re-ranking ([`Validation`]). With the encoder frozen, the default, footprints and features come
//! from the index through the ranker that serves, so that the scores of the training are those of `becr rerank`; the less
//! is learned, the more of the deep part is computed beforehand (log-sums, histograms of similarities, similarities of
//! token groups). With the encoder trained, texts of the index run through BERT in burn, and gradients reach its
//! embeddings.
//!
//! [`baseline`] has the models that the paper compares BECR with, trained by the same loop on the same data.
//!
//! [`config`] and [`data`] are the files that `becr-lab train` takes and what it makes of them.
//!
//! ```
//! use becr_train::{Loss, TrainOptions};
//!
//! // Every option has a default; the paper's loss instead of ours:
//! let options: TrainOptions = serde_json::from_str(r#"{"loss": "pairwise", "steps": 300}"#)?;
//! assert_eq!((options.loss, options.negatives), (Loss::Pairwise, 7));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! ```no_run
//! use becr_train::{TrainOptions, Trainer, Validation};
//!
//! let model = becr_model::Model::read("model")?;
//! let store = becr_lmdb::Store::open("index.becr/store".as_ref())?;
//! # let examples = Vec::new();
//! let trainer = Trainer { model: &model, store: &store, head: None, directory: "training".as_ref(), test: None };
//! let trained = trainer.run(&examples, &Validation::default(), &TrainOptions::default(), &mut ())?;
//! trained.head.write("model/head.json".as_ref())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod baseline;
mod batch;
pub mod config;
pub mod data;
mod error;
mod example;
mod frozen;
mod learn;
pub mod mixer;
mod model;
mod observer;
mod options;
mod output;
mod random;
mod run;
mod start;
#[cfg(test)]
pub(crate) mod tests;
mod texts;
mod trainer;
mod validate;

pub use error::TrainError;
pub use example::{Candidate, Example, Validation, ValidationQuery};
pub use observer::{Observer, Step, Validated};
pub use options::{EncoderMode, Loss, ModelOptions, QueryMode, Schedule, TrainOptions};
pub use run::{Measured, Outcome, Summary, Tested, Training, forget};
pub use trainer::{Device, Trained, Trainer};
