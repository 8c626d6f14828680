//! `config.json`: the fields of Hugging Face's BERT, and our own section.

use crate::{ModelError, Settings};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// The shape of a BERT encoder, under the names Hugging Face gives the fields.
///
/// Keys that are not listed here are kept in [`other`](Config::other) and written back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Must be `bert`.
    pub model_type: String,
    /// Rows of the word embeddings.
    pub vocab_size: usize,
    /// Length of a hidden state.
    pub hidden_size: usize,
    /// Encoder layers; there is one hidden state more, that of the embedding layer.
    pub num_hidden_layers: usize,
    /// Attention heads; they divide the hidden size.
    pub num_attention_heads: usize,
    /// Width of the feed-forward part.
    pub intermediate_size: usize,
    /// Must be `gelu`, the exact one.
    #[serde(default = "gelu")]
    pub hidden_act: String,
    /// Longest sequence, with `[CLS]` and `[SEP]`.
    pub max_position_embeddings: usize,
    /// Rows of the token-type embeddings.
    #[serde(default = "two")]
    pub type_vocab_size: usize,
    /// Added to the variance in layer norms.
    #[serde(default = "tiny")]
    pub layer_norm_eps: f64,
    /// Must be `absolute`.
    #[serde(default = "absolute")]
    pub position_embedding_type: String,
    /// Layers, bits, hyperplanes, similarity, window and kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub becr: Option<Settings>,
    /// Every other key of the file.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The widest footprint.
const MOST_BITS: usize = 1024;

fn gelu() -> String {
    "gelu".into()
}

fn absolute() -> String {
    "absolute".into()
}

fn two() -> usize {
    2
}

fn tiny() -> f64 {
    1e-12
}

impl Config {
    /// A configuration of the given shape with everything else as BERT has it.
    pub fn new(
        vocab_size: usize,
        hidden_size: usize,
        num_hidden_layers: usize,
        num_attention_heads: usize,
        intermediate_size: usize,
        max_position_embeddings: usize,
    ) -> Self {
        Self {
            model_type: "bert".into(),
            vocab_size,
            hidden_size,
            num_hidden_layers,
            num_attention_heads,
            intermediate_size,
            hidden_act: gelu(),
            max_position_embeddings,
            type_vocab_size: two(),
            layer_norm_eps: tiny(),
            position_embedding_type: absolute(),
            becr: None,
            other: Map::new(),
        }
    }

    /// Reads and checks `config.json`.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => ModelError::MissingFile {
                path: path.to_owned(),
                remedy: "a model is a directory with config.json, model.safetensors and tokenizer.json or vocab.txt",
            },
            _ => ModelError::io(path)(source),
        })?;
        Self::parse(&text, path)
    }

    /// Reads and checks the text of a `config.json`; `path` stands for it in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ModelError> {
        // The architecture is looked at first: a model of another family misses half of our fields, and
        // "missing field" would hide the true reason.
        let value: Value = serde_json::from_str(text).map_err(ModelError::json(path))?;
        match value.get("model_type").and_then(Value::as_str) {
            Some("bert") => {}
            found => {
                return Err(ModelError::Architecture {
                    path: path.to_owned(),
                    field: "model_type",
                    expected: "\"bert\"",
                    found: found.map_or_else(|| "missing".into(), |name| format!("{name:?}")),
                });
            }
        }
        let config: Self = serde_json::from_str(text).map_err(ModelError::json(path))?;
        config.check(path)?;
        Ok(config)
    }

    /// Writes `config.json`.
    pub fn write(&self, path: &Path) -> Result<(), ModelError> {
        let mut text = serde_json::to_string_pretty(self).map_err(ModelError::json(path))?;
        text.push('\n');
        std::fs::write(path, text).map_err(ModelError::io(path))
    }

    /// The `becr` section, or its defaults.
    pub fn settings(&self) -> Settings {
        self.becr.clone().unwrap_or_default()
    }

    /// The hidden states kept, ascending; 0 is the embedding layer.
    pub fn kept_layers(&self) -> Result<Vec<usize>, String> {
        self.settings().layers.resolve(self.num_hidden_layers)
    }

    /// Length of one attention head's vectors.
    pub fn head_size(&self) -> usize {
        self.hidden_size / self.num_attention_heads
    }

    /// Refuses what the encoder cannot compute. `path` is for the message.
    pub fn check(&self, path: &Path) -> Result<(), ModelError> {
        for (field, expected, found) in [
            ("model_type", "bert", &self.model_type),
            ("hidden_act", "gelu", &self.hidden_act),
            (
                "position_embedding_type",
                "absolute",
                &self.position_embedding_type,
            ),
        ] {
            if found != expected {
                return Err(ModelError::Architecture {
                    path: path.to_owned(),
                    field,
                    expected,
                    found: format!("{found:?}"),
                });
            }
        }
        let wrong = |field: &str, problem: String| {
            Err(ModelError::Config {
                path: path.to_owned(),
                field: field.into(),
                problem,
            })
        };
        for (field, value, least) in [
            ("vocab_size", self.vocab_size, 1),
            ("hidden_size", self.hidden_size, 1),
            ("num_hidden_layers", self.num_hidden_layers, 0),
            ("num_attention_heads", self.num_attention_heads, 1),
            ("intermediate_size", self.intermediate_size, 1),
            ("max_position_embeddings", self.max_position_embeddings, 3),
            ("type_vocab_size", self.type_vocab_size, 1),
        ] {
            // The upper bound keeps every product of two of them far from overflow.
            if !(least..=100_000_000).contains(&value) {
                return wrong(field, format!("is {value}, expected {least} to 100000000"));
            }
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let problem = format!(
                "is {}, which does not divide hidden_size {}",
                self.num_attention_heads, self.hidden_size
            );
            return wrong("num_attention_heads", problem);
        }
        if !(self.layer_norm_eps.is_finite() && self.layer_norm_eps >= 0.0) {
            return wrong(
                "layer_norm_eps",
                format!(
                    "is {}, expected a small positive number",
                    self.layer_norm_eps
                ),
            );
        }
        let settings = self.settings();
        if let Err(problem) = settings.layers.resolve(self.num_hidden_layers) {
            return wrong("becr.layers", problem);
        }
        if let Some(bits) = settings.bits
            && (bits == 0 || !bits.is_multiple_of(32) || bits > MOST_BITS)
        {
            return wrong(
                "becr.bits",
                format!(
                    "is {bits}, expected a multiple of 32 up to {MOST_BITS}, or null for raw vectors"
                ),
            );
        }
        let old = settings.other.get("document_vector_bits");
        if old.is_some_and(|bits| !bits.is_null()) {
            return wrong(
                "becr.document_vector_bits",
                "is no longer known: prepare the model again, with --relative for better document vectors"
                    .into(),
            );
        }
        let layers = settings.layers.resolve(self.num_hidden_layers);
        let one = layers.is_ok_and(|kept| kept.len() == 1);
        if settings.relative
            && (!one || settings.bits.is_none() || !self.hidden_size.is_multiple_of(8))
        {
            return wrong(
                "becr.relative",
                "is true, which takes one layer (such as \"layers\": 1), footprints and a hidden_size that is a multiple of 8".into(),
            );
        }
        if settings.window == 0 {
            return wrong("becr.window", "is 0, expected at least 1".into());
        }
        let kernels = &settings.kernels;
        if kernels.mu.len() != kernels.sigma.len() {
            return wrong(
                "becr.kernels",
                format!(
                    "has {} mu and {} sigma",
                    kernels.mu.len(),
                    kernels.sigma.len()
                ),
            );
        }
        let fine = kernels.mu.iter().all(|m| m.is_finite())
            && kernels
                .sigma
                .iter()
                .chain([&kernels.epsilon])
                .all(|s| s.is_finite() && *s > 0.0);
        if !fine {
            return wrong(
                "becr.kernels",
                "must have finite mu, positive sigma and positive epsilon".into(),
            );
        }
        Ok(())
    }
}
