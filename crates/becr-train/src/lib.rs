//! Training: the BECR model in burn, its loss, its loop and its data.

mod error;
mod example;
mod observer;
mod options;
mod trainer;

pub use error::TrainError;
pub use example::{Candidate, Example, Validation, ValidationQuery};
pub use observer::{Observer, Step, Validated};
pub use options::{EncoderMode, Loss, ModelOptions, QueryMode, TermWeights, TrainOptions};
pub use trainer::{Trained, Trainer};
