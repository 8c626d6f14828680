//! The `becr` section of `config.json`: what makes a BERT encoder a BECR model.

use crate::Precision;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How hidden states become footprints, and how footprints are compared.
///
/// Every field has the default the paper's reading gives it, so an encoder without a `becr` section works too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Which hidden states are kept.
    pub layers: Layers,
    /// Bits of a footprint; `null` keeps raw vectors.
    pub bits: Option<usize>,
    /// Documents keep their mean vector, in four bits a dimension, and the footprints of their tokens are of what these
    /// add to it; token groups keep their vectors likewise. Their error is then over a third smaller. For one layer only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub relative: bool,
    /// The hyperplanes that cut the space into footprints.
    pub hyperplanes: HyperplaneSettings,
    /// How the vectors of several token groups are composed.
    pub similarity: Similarity,
    /// Largest distance of two words that form a pair.
    pub window: usize,
    /// The RBF kernels that pool similarities.
    pub kernels: Kernels,
    /// What new indexes of this model are encoded in unless said otherwise; f32 for a model that does not say. It is for whoever
    /// makes a model to measure what int8 costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Which token groups new indexes of this model have unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_groups: Option<TokenGroups>,
    /// Keys this version does not know, kept when the model is written again.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            layers: Layers::All,
            bits: Some(256),
            relative: false,
            hyperplanes: HyperplaneSettings::default(),
            similarity: Similarity::default(),
            window: 3,
            kernels: Kernels::default(),
            precision: None,
            token_groups: None,
            other: Map::new(),
        }
    }
}

/// Token groups of a new index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenGroups {
    /// Every word and no pair: for models that mix words, or read queries with their encoder.
    Words,
    /// Words and pairs, as the paper chooses them.
    Pairs,
}

/// Seed and kind: enough to draw the same hyperplanes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HyperplaneSettings {
    /// Seed of the random draw.
    pub seed: u64,
    /// Gaussian directions as drawn, or made orthogonal.
    pub kind: HyperplaneKind,
}

/// How the normal vectors of the hyperplanes relate to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HyperplaneKind {
    /// Gaussian vectors made orthogonal, which estimates cosines better at the same number of bits.
    #[default]
    Orthogonal,
    /// Independent Gaussian vectors.
    Gaussian,
}

/// The similarity of a query term, which may be known by several vectors, and a document token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Similarity {
    /// Weighted sum of the cosines of each vector.
    #[default]
    SumOfCosines,
    /// Cosine of the weighted sum of the vectors.
    CosineOfSum,
}

impl Similarity {
    /// Whether it is the one that footprints give.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// RBF kernels: `log(ε + Σ exp(−(c − μ)² / (2σ²)))`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernels {
    /// Centres.
    pub mu: Vec<f32>,
    /// Widths, one per centre.
    pub sigma: Vec<f32>,
    /// Keeps the logarithm finite when no similarity is near a centre.
    pub epsilon: f32,
}

impl Default for Kernels {
    /// Eleven kernels: centres −0.9, −0.7 … 0.9 and 1.0, all of width 0.1.
    fn default() -> Self {
        let centres = (0..10).map(|k| (2 * k - 9) as f32 / 10.0);
        Self {
            mu: centres.chain([1.0]).collect(),
            sigma: vec![0.1; 11],
            epsilon: 1e-10,
        }
    }
}

/// Which hidden states of the encoder are kept; 0 is the embedding layer.
///
/// In JSON: `"all"`, `5`, `1`, or a list such as `[0, 3, 6]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum Layers {
    /// The embedding layer and every encoder layer.
    #[default]
    All,
    /// `{0, 1, 2, 3, last}`.
    Five,
    /// `{last}`.
    Last,
    /// These, in ascending order.
    Chosen(Vec<usize>),
}

impl Layers {
    /// The hidden states kept of an encoder of `depth` layers, ascending. The error says what does not fit.
    pub fn resolve(&self, depth: usize) -> Result<Vec<usize>, String> {
        let kept = match self {
            Self::All => (0..=depth).collect(),
            Self::Five if depth < 4 => {
                return Err(format!(
                    "keeps layers 0, 1, 2, 3 and the last, but the encoder has {depth}"
                ));
            }
            Self::Five => vec![0, 1, 2, 3, depth],
            Self::Last => vec![depth],
            Self::Chosen(list) => list.clone(),
        };
        if kept.is_empty() {
            return Err("keeps no layer at all".into());
        }
        if !kept.is_sorted_by(|a, b| a < b) {
            return Err(format!("must be ascending without repeats, found {kept:?}"));
        }
        match kept.last() {
            Some(&last) if last > depth => Err(format!(
                "asks for layer {last}, but the encoder has layers 0 to {depth}"
            )),
            _ => Ok(kept),
        }
    }
}

const LAYERS_FORM: &str = "expected \"all\", 5, 1 or a list such as 0,3,6";

impl TryFrom<Value> for Layers {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match &value {
            Value::String(s) if s == "all" => Ok(Self::All),
            Value::Number(n) if n.as_u64() == Some(5) => Ok(Self::Five),
            Value::Number(n) if n.as_u64() == Some(1) => Ok(Self::Last),
            Value::Array(_) => serde_json::from_value(value)
                .map(Self::Chosen)
                .map_err(|e| format!("layers: {e}")),
            other => Err(format!("layers is {other}: {LAYERS_FORM}")),
        }
    }
}

impl From<Layers> for Value {
    fn from(layers: Layers) -> Self {
        match layers {
            Layers::All => "all".into(),
            Layers::Five => 5.into(),
            Layers::Last => 1.into(),
            Layers::Chosen(list) => list.into(),
        }
    }
}

impl std::str::FromStr for Layers {
    type Err = String;

    /// Reads the command-line form: `all`, `5`, `1`, or numbers with commas (`3,` is layer 3 alone).
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "all" => Ok(Self::All),
            "5" => Ok(Self::Five),
            "1" => Ok(Self::Last),
            list if list.contains(',') => list
                .trim_end_matches(',')
                .split(',')
                .map(|n| {
                    n.trim()
                        .parse()
                        .map_err(|_| format!("layers is {text:?}: {LAYERS_FORM}"))
                })
                .collect::<Result<_, _>>()
                .map(Self::Chosen),
            _ => Err(format!("layers is {text:?}: {LAYERS_FORM}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_a_json_form_and_a_command_line_form() {
        for (json, text, kept) in [
            ("\"all\"", "all", vec![0, 1, 2, 3, 4, 5, 6]),
            ("5", "5", vec![0, 1, 2, 3, 6]),
            ("1", "1", vec![6]),
            ("[0,4]", "0, 4", vec![0, 4]),
            ("[3]", "3,", vec![3]),
        ] {
            let layers: Layers = serde_json::from_str(json).unwrap();
            assert_eq!(layers, text.parse().unwrap());
            assert_eq!(serde_json::to_string(&layers).unwrap(), json);
            assert_eq!(layers.resolve(6).unwrap(), kept);
        }
        for bad in ["\"some\"", "2", "[1,-1]", "{}"] {
            assert!(serde_json::from_str::<Layers>(bad).is_err(), "{bad}");
        }
        for bad in ["", "7", "a,b", "1 2"] {
            assert!(bad.parse::<Layers>().is_err(), "{bad}");
        }
    }

    #[test]
    fn layers_that_do_not_fit_are_refused() {
        for bad in [vec![], vec![7], vec![3, 3], vec![3, 1]] {
            assert!(Layers::Chosen(bad).resolve(6).is_err());
        }
        assert!(Layers::Five.resolve(3).is_err());
    }

    #[test]
    fn the_default_kernels_are_the_papers() {
        let kernels = Kernels::default();
        assert_eq!(
            kernels.mu,
            [-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
        );
        assert_eq!(kernels.sigma.len(), kernels.mu.len());
    }

    #[test]
    fn unknown_keys_survive() {
        let text = r#"{"layers":5,"trained_on":"somewhere"}"#;
        let settings: Settings = serde_json::from_str(text).unwrap();
        assert_eq!(
            (settings.layers.clone(), settings.bits, settings.window),
            (Layers::Five, Some(256), 3)
        );
        let again = serde_json::to_value(&settings).unwrap();
        assert_eq!(again["trained_on"], "somewhere");
        assert_eq!(serde_json::from_value::<Settings>(again).unwrap(), settings);
    }
}
