//! BERT forward: text → hidden states of chosen layers → footprints.

mod backend;
mod error;
mod kernel;
mod native;

pub use backend::{Backend, Batch, Encoded, HiddenStates, Shape, Wanted, hyperplanes};
pub use error::EncodeError;
pub use native::NativeEncoder;
