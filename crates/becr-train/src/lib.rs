//! Training: the BECR model in burn, its loss, its loop and its data.

mod batch;
pub mod config;
pub mod data;
mod error;
mod example;
mod frozen;
mod learn;
mod model;
mod observer;
mod options;
mod random;
mod run;
mod start;
#[cfg(test)]
mod tests;
mod texts;
mod trainer;
mod validate;

pub use error::TrainError;
pub use example::{Candidate, Example, Validation, ValidationQuery};
pub use observer::{Observer, Step, Validated};
pub use options::{EncoderMode, Loss, ModelOptions, QueryMode, TrainOptions};
pub use run::{Measured, Outcome, Summary, Tested, Training, forget};
pub use trainer::{Device, Trained, Trainer};
