//! The parts of a head of format 2: how a query is read, what its vector is, and what is relative to the list of
//! candidates.

use crate::head::{Problem, problem};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// How a query is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryMode {
    /// Composed of token groups that were encoded offline: look-ups, no transformer.
    #[default]
    Composed,
    /// The whole query goes through the encoder once, the paper's BECR⁻: better, above all for long questions, and
    /// milliseconds slower.
    Encoded,
}

impl QueryMode {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Composed, Self::Encoded];

    /// As JSON and the command line have it: `composed`, `encoded`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Composed => "composed",
            Self::Encoded => "encoded",
        }
    }
}

impl FromStr for QueryMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == name);
        found.ok_or_else(|| format!("no mode {name:?}; there are composed, encoded"))
    }
}

/// What the document vector is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryVector {
    /// Every term's vector: the mean of their cosines by ω.
    #[default]
    Terms,
    /// One vector of the whole query. An encoded query's is the mean of all its tokens, `[CLS]` and `[SEP]` too; a
    /// composed query's the sum of its terms' by ω, brought to length 1.
    Whole,
}

impl QueryVector {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::Terms
    }
}

/// In how many documents a pair of words is taken to be, in the lexical features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairFrequency {
    /// As the token store counts it; 1 for pairs that it does not have.
    #[default]
    Store,
    /// Estimated from the frequencies of the two words: the same whatever the token store has.
    Words,
}

impl PairFrequency {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::Store
    }
}

/// Which words of a query the proximity features compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proximity {
    /// Those that form a pair: no further apart in the query than the window.
    #[default]
    Window,
    /// Any two, as in the paper.
    Query,
}

impl Proximity {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::Window
    }
}

/// S_deep taken relative to the list of candidates: `weight · (x − mean of the list) / deviation of the list`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeepScale {
    /// What the mean and the deviation are of.
    pub over: ScaleOver,
    /// What one deviation is worth.
    pub weight: f32,
    /// Deviation within lists, over the training sets: for lists too short to have one of their own.
    pub deviation: f32,
}

/// What a scale is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleOver {
    /// The candidates of the query.
    List,
}

/// How much it counts that a document is like the best candidates: `weight · z` of the mean cosine of its vector with
/// those of the best other candidates, best by `first_stage + vector · z(cosine of query and document vector)`; z over
/// the list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// How many of the best others.
    pub neighbours: usize,
    /// What one deviation is worth.
    pub weight: f32,
    /// Weight of the query's cosine beside the first stage in choosing the best.
    pub vector: f32,
}

impl DeepScale {
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if !self.weight.is_finite() {
            return problem("weight", format!("is {}", self.weight));
        }
        if !self.deviation.is_finite() || self.deviation <= 0.0 {
            return problem(
                "deviation",
                format!("is {}, must be above 0", self.deviation),
            );
        }
        Ok(())
    }
}

impl Feedback {
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if self.neighbours == 0 {
            return problem("neighbours", "is 0, must be at least 1");
        }
        for (field, value) in [("weight", self.weight), ("vector", self.vector)] {
            if !value.is_finite() {
                return problem(field, format!("is {value}"));
            }
        }
        Ok(())
    }
}
