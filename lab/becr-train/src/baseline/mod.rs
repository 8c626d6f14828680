//! The models that the paper compares BECR with: KNRM, CONV-KNRM, BERT, CEDR-KNRM and ColBERT.
//!
//! They share encoder, kernels, loss, loop, data and checkpoints with BECR. Each has a file of its own that reads like its
//! paper: from a batch to scores. A section `[baseline]` in the file of `becr-lab train` trains one; its directory is read by
//! [`BaselineRanker`], which `becr-lab rerank --baseline` calls.
//!
//! With a frozen encoder, or fixed word vectors, `frozen` computes once what no step changes.
//!
//! | file | model | reads |
//! |---|---|---|
//! | `knrm.rs` | Xiong et al. 2017 | words, by a table of vectors |
//! | `conv_knrm.rs` | Dai et al. 2018 | words, by a table of vectors |
//! | `bert.rs` | Nogueira and Cho 2019, as in MacAvaney et al. 2019 | query and document in one sequence |
//! | `cedr_knrm.rs` | MacAvaney et al. 2019 | query and document in one sequence |
//! | `colbert.rs` | Khattab and Zaharia 2020 | query and document apart |

mod bert;
mod cedr_knrm;
mod colbert;
mod conv_knrm;
mod directory;
mod encoder;
mod frozen;
mod kernels;
mod knrm;
mod layers;
mod network;
mod options;
mod rank;
mod reader;
mod source;
mod speed;
#[cfg(test)]
mod tests;
mod train;
mod vectors;

pub use directory::Baseline;
pub(crate) use directory::is_trained_from;
pub use options::{BaselineConfig, BaselineKind};
pub use rank::{BaselineRanker, QueryTexts, TextError};
pub use speed::SpeedTest;
pub(crate) use train::train;
pub use vectors::WordTable;
