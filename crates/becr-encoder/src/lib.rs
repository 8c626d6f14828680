//! BERT forward: text → hidden states of chosen layers → footprints.
//!
//! | module | job |
//! |---|---|
//! | `backend` | what an implementation of the forward pass takes and gives |
//! | `native` | the forward pass on CPUs, on the vector code of `kernel` |
//! | `precision` | f32 or int8 |
//! | `encoder` | a model with its tokenizer |
//! | `documents` | documents: even segments, one footprint per WordPiece, streams |
//! | `flow` | batches side by side, results in order |
//! | `groups` | token groups: words, pairs, WordPieces |
//! | `centre` | measuring where vectors lie on average |
//! | `query` | whole queries, for BECR⁻ |
//! | `cross` | cross-encoders: query and document read together |
//! | `mixer` | vectors of single words into vectors of words in a query |
//! | `raw` | documents and token groups as vectors, for evaluation without footprints |
//!
//! # Example
//!
//! ```
//! use becr_encoder::Encoder;
//! use becr_text::groups::TokenGroup;
//! # use becr_model::{Config, Storage, Weights};
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! # let config = Config::new(7, 8, 2, 2, 16, 32);
//! # config.write(&directory.join("config.json"))?;
//! # std::fs::write(directory.join("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\nneural\nrank\n##ing\n")?;
//! # Weights::random(&config, 1, 1.0).write(&directory.join("model.safetensors"), Storage::F32)?;
//! let encoder = Encoder::open(directory)?;
//!
//! let document = encoder.document("Ranking", "Neural ranking")?;
//! assert_eq!(document.pieces.len(), 5); // rank ##ing neural rank ##ing
//! assert_eq!(document.pieces.words[2..], [Some(0), Some(1), Some(1)]);
//! assert_eq!(document.footprint(2, 4, 8).len(), 8); // layer 2, piece 4: 256 bits
//!
//! let pair = TokenGroup::Pair("neural".into(), "ranking".into());
//! assert_eq!(encoder.groups(&[pair])?[0].vectors, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backend;
mod centre;
mod cross;
mod documents;
mod encoder;
mod error;
mod flow;
mod groups;
mod kernel;
mod mixer;
mod native;
mod pace;
mod query;
mod raw;

pub use backend::{Backend, Batch, Centre, Encoded, HiddenStates, Shape, Wanted, hyperplanes};
pub use becr_basics::Document;
pub use becr_model::Precision;
pub use becr_text::pieces::Tokenised;
pub use centre::measure_centres;
pub use cross::{Classifier, CrossEncoder, CrossScores, double_vocabulary};
pub use documents::{EncodedDocument, segments};
pub use encoder::{Encoder, word_pieces};
pub use error::EncodeError;
pub use groups::EncodedGroup;
pub use mixer::{MOST_MIXED_WORDS, Mixed, Mixer};
pub use native::NativeEncoder;
pub use query::WholeQuery;
pub use raw::{RawDocument, RawQuery};
