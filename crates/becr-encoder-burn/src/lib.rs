//! The encoder's forward pass in [burn](https://burn.dev): on a GPU, and on the CPU to check it.
//!
//! A [`BurnEncoder`] is a [`becr_encoder::Backend`] like the native one, so documents and token groups are
//! encoded by the same code. What differs, because of how devices work:
//!
//! - Sequences are padded ([`Shapes`]), into few fixed shapes where every new one costs a GPU kernel tuning.
//! - Projection on the hyperplanes, span means and the packing of signs happen on the device: bits come back.
//! - All of a batch is queued before anything is read, so batches should be large on a GPU.
//!
//! [`Parameters`] are the weights themselves with their forward pass, for a trainer that learns them; [`MixerParameters`]
//! those of a mixer.
//!
//! ```
//! use becr_encoder::{Batch, Wanted};
//! use becr_model::{Config, Weights};
//!
//! let config = Config::new(100, 32, 2, 2, 64, 16);
//! let weights = Weights::random(&config, 1, 0.1);
//! let encoder = becr_encoder_burn::on_cpu(&config, &weights)?;
//! let batch = Batch::from_iter([vec![2, 7, 3], vec![2, 8, 9, 3]]);
//! let wanted = Wanted { footprints: vec![1..2, 4..6], vectors: vec![0..3], ..Wanted::default() };
//! let encoded = encoder.encode(&batch, &wanted)?;
//! assert_eq!(encoded.vectors.len(), encoder.shape().dim);
//! # Ok::<(), becr_encoder::EncodeError>(())
//! ```

#[cfg(any(test, feature = "cuda"))]
mod check;
#[cfg(feature = "cuda")]
pub mod cuda;
mod encoder;
mod footprints;
mod forward;
#[cfg(any(test, feature = "cuda"))]
mod gpu;
mod learned;
mod mixer;
mod parameters;
mod results;
mod shapes;
mod spans;
mod turn;

pub use encoder::{BurnEncoder, on_cpu};
pub use forward::{Input, MASKED};
pub use mixer::{MixerInput, MixerLayout, MixerParameters};
pub use parameters::{Parameters, Purpose};
pub use shapes::Shapes;

/// burn's CPU backend: slower than the native encoder, and there to check the computation without a GPU.
pub type Cpu = burn::backend::Flex;
