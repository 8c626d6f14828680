//! What a BECR model is: one directory with `config.json`, `tokenizer.json` or `vocab.txt`,
//! `model.safetensors` and, once it has been trained to rank, `head.json` ([`Head`]); `mixer.safetensors`
//! ([`MixerWeights`]) may lie beside them.
//!
//! The directory is a Hugging Face BERT directory; a `becr` section in `config.json` ([`Settings`]) says which
//! hidden states are kept and how they become footprints. A BERT encoder without that section gets the defaults.
//!
//! # Number formats
//!
//! F32, F16 and BF16 are read as they are. **Row-wise int8** is our own scheme for shipping small models: a matrix
//! `name` of type I8 goes with a vector `name.scale` of type F32, one value per row, and stands for
//! `name[i][j] · name.scale[i]`; vectors stay F32. F32 and F16 are what Hugging Face's loader opens too.
//!
//! # Example
//!
//! ```
//! use becr_model::{Config, Model, Storage, Weights};
//!
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! let config = Config::new(5, 8, 2, 2, 16, 32);
//! config.write(&directory.join("config.json"))?;
//! std::fs::write(directory.join("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\nword\n")?;
//! Weights::random(&config, 1, 1.0).write(&directory.join("model.safetensors"), Storage::F32)?;
//!
//! let model = Model::read(directory)?;
//! assert_eq!(model.config.kept_layers()?, [0, 1, 2]);
//! assert_eq!(model.weights.layers[1].ffn_in.weight.rows, 16);
//!
//! model.write(directory.join("small"), Storage::I8)?;
//! assert_ne!(Model::read(directory.join("small"))?.encoder_id(), model.encoder_id());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod error;
mod files;
mod head;
mod list_wise;
mod mixer;
mod model;
mod precision;
mod random;
mod read;
mod settings;
mod tensor_file;
mod vocabulary;
mod weights;
mod words;

pub use config::Config;
pub use error::ModelError;
pub use files::ModelFiles;
pub use head::{CompositionWeights, Deep, Feature, HEAD_FILE, Head, Others, TermWeights};
pub use list_wise::{
    DeepScale, Feedback, PairFrequency, Proximity, QueryMode, QueryVector, ScaleOver,
};
pub use mixer::{MIXER_FILE, MixerEnd, MixerKind, MixerLayer, MixerShape, MixerWeights};
pub use model::{Model, Storage};
pub use precision::Precision;
pub use settings::{
    HyperplaneKind, HyperplaneSettings, Kernels, Layers, Settings, Similarity, TokenGroups,
};
pub use tensor_file::{Data, Tensor, write_tensors};
pub use vocabulary::TokenizerFile;
pub use weights::{Centres, Embeddings, Extra, Layer, LayerNorm, Linear, Matrix, Named, Weights};
pub use words::{WORDS_FILE, WordVectors};
