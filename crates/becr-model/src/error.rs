//! One error type. Every variant names the file, and the tensor or field where there is one.

use std::path::{Path, PathBuf};

/// Why a model directory could not be read, understood or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file or directory could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of the model directory is not there.
    #[error("{path}: not found; {remedy}", path = path.display())]
    MissingFile {
        /// The file looked for.
        path: PathBuf,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A JSON file does not parse; the message carries line and column.
    #[error("{path}: {source}", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Line, column and cause.
        source: serde_json::Error,
    },
    /// The configuration describes an architecture that is not the BERT encoder implemented here.
    #[error("{path}: `{field}` is {found}, but only {expected} is supported", path = path.display())]
    Architecture {
        /// The configuration file.
        path: PathBuf,
        /// The field that tells.
        field: &'static str,
        /// What would be accepted.
        expected: &'static str,
        /// What the file says.
        found: String,
    },
    /// A field of the configuration has a value that makes no sense.
    #[error("{path}: `{field}` {problem}", path = path.display())]
    Config {
        /// The configuration file.
        path: PathBuf,
        /// The field.
        field: String,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// A safetensors file ends before its last tensor does.
    #[error("{path}: truncated: tensor `{tensor}` needs {needed} bytes of file, found {found}; copy or download it again", path = path.display())]
    Truncated {
        /// The weights file.
        path: PathBuf,
        /// The first tensor that is not whole.
        tensor: String,
        /// Where that tensor would end.
        needed: u64,
        /// How long the file is.
        found: u64,
    },
    /// A file is not in the safetensors format.
    #[error("{path}: not a valid safetensors file: {source}", path = path.display())]
    Safetensors {
        /// The weights file.
        path: PathBuf,
        /// What the parser said.
        source: safetensors::SafeTensorError,
    },
    /// A tensor that the configuration asks for is not in the file.
    #[error("{path}: tensor `{tensor}` is missing (expected shape {expected:?})", path = path.display())]
    MissingTensor {
        /// The weights file.
        path: PathBuf,
        /// The tensor, with the prefix the file uses.
        tensor: String,
        /// The shape the configuration implies.
        expected: Vec<usize>,
    },
    /// A tensor has another shape than the configuration implies.
    #[error("{path}: tensor `{tensor}` has shape {found:?}, but config.json implies {expected:?}", path = path.display())]
    WrongShape {
        /// The weights file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The shape the configuration implies.
        expected: Vec<usize>,
        /// The shape in the file.
        found: Vec<usize>,
    },
    /// A tensor is stored in a number format that is not read here.
    #[error("{path}: tensor `{tensor}` is stored as {found}; F32, F16, BF16 and row-wise I8 (with `{tensor}.scale`) are read", path = path.display())]
    WrongType {
        /// The weights file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The format in the file.
        found: String,
    },
    /// A weight is NaN or infinite.
    #[error("{path}: tensor `{tensor}` holds {value} at element {index}; the weights are damaged", path = path.display())]
    NotFinite {
        /// The weights file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Which element, in row-major order.
        index: usize,
        /// NaN or an infinity.
        value: f32,
    },
    /// A mixer that was trained on another encoder.
    #[error("{path}: the mixer was trained for encoder {mixer}, this encoder is {encoder}; take the file away, or train a mixer for this one", path = path.display())]
    MixerOfOtherEncoder {
        /// The mixer's file.
        path: PathBuf,
        /// The encoder that it names.
        mixer: String,
        /// The encoder that is there.
        encoder: String,
    },
    /// The tokenizer and the weights do not belong together.
    #[error("{path}: {problem}", path = path.display())]
    Vocabulary {
        /// The tokenizer file.
        path: PathBuf,
        /// What does not fit.
        problem: String,
    },
}

impl ModelError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> Self + '_ {
        move |source| Self::Json {
            path: path.to_owned(),
            source,
        }
    }
}
