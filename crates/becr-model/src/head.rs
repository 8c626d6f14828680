//! `head.json`: what a trained ranking head is. The score it stands for is a sum,
//!
//! ```text
//! S = S_deep + S_lexi + S_others
//! S_deep   = Σ_i ω_i Σ_l Σ_k α[l][k] · ln(ε + Σ_j kernel_k(c_lij))  +  weight · z(document vector)
//! S_lexi   = Σ_f weight_f · z_f
//! S_others = γ·CLS + Σ_f weight_f · z_f          z = (x − mean) / deviation
//! ```
//!
//! over query terms `i`, kept layers `l`, kernels `k`, document tokens `j` and features `f`. A missing feature
//! contributes nothing, as if it had its mean. A head belongs to an encoder and may be changed without encoding
//! anything again; only γ·CLS is computed when documents are indexed and stays what it was.
//!
//! Format 2 has keys that format 1 has not: `mode`, `deep.query_vector`, `deep.scale`, `feedback`, `pair_frequency`,
//! `proximity` and `anchor_weight`. A head that uses none of them is written in format 1, and scores as it always did.

use crate::{
    DeepScale, Feedback, Kernels, ModelError, PairFrequency, Proximity, QueryMode, QueryVector,
    Similarity,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// The formats this program reads and writes: without the list-wise keys, and with them.
const FORMATS: [u32; 2] = [1, 2];

/// The file's name in a model directory and in the `model` folder of an index.
pub const HEAD_FILE: &str = "head.json";

/// A trained ranking head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Version of the file's format.
    pub format: u32,
    /// The encoder it was trained on ([`Model::encoder_id`](crate::Model::encoder_id)).
    pub encoder_id: String,
    /// How queries are read unless the caller says; composed, if the head does not say either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<QueryMode>,
    /// S_deep.
    pub deep: Deep,
    /// S_lexi: lexical features by name; which names there are is the ranker's to say.
    #[serde(default)]
    pub lexical: Vec<Feature>,
    /// Where the document frequencies of pairs in the lexical features come from.
    #[serde(default, skip_serializing_if = "PairFrequency::is_default")]
    pub pair_frequency: PairFrequency,
    /// Which words of a query the proximity features compare.
    #[serde(default, skip_serializing_if = "Proximity::is_default")]
    pub proximity: Proximity,
    /// What it counts to be like the best candidates; part of S_deep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// Weight of the query's cosine in the one-vector score, which has nothing else of the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor_weight: Option<f32>,
    /// S_others.
    #[serde(default)]
    pub others: Others,
    /// How it was made, for people.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub about: Map<String, Value>,
    /// Keys this version does not know, kept when the head is written again.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The deep part: how token groups compose query terms, and what the kernels' sums are worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deep {
    /// The kernels that pool similarities.
    pub kernels: Kernels,
    /// α: a weight for every kept layer and kernel, `[layer][kernel]`.
    pub alpha: Vec<Vec<f32>>,
    /// ω: how the terms of a query share the score.
    #[serde(default)]
    pub term_weights: TermWeights,
    /// Stop words have deep terms too (the paper taken literally).
    #[serde(default)]
    pub stop_words: bool,
    /// Weights of the token groups that a term is composed of.
    #[serde(default)]
    pub composition: CompositionWeights,
    /// How their vectors are joined. Footprints give sums of cosines: a head of another similarity is not served.
    #[serde(default, skip_serializing_if = "Similarity::is_default")]
    pub similarity: Similarity,
    /// The similarity of the query and the document's mean vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_vector: Option<Feature>,
    /// What of the query it is the similarity to.
    #[serde(default, skip_serializing_if = "QueryVector::is_default")]
    pub query_vector: QueryVector,
    /// Takes the sum of kernels and document vector relative to the list of candidates; `None` leaves it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<DeepScale>,
}

/// ω, the weights of query terms in the deep sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TermWeights {
    /// 1 for every term.
    Sum,
    /// 1 over the number of terms.
    #[default]
    Mean,
    /// A term's inverse document frequency over the sum of all terms'.
    Idf,
}

/// Raw weights of token groups. Those of the groups that were found for a term are scaled to sum to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompositionWeights {
    /// Of the term's own uni-gram.
    pub unigram: f32,
    /// Of a pair by the distance of its words, beginning with 1. As many as the window is wide.
    pub pairs: Vec<f32>,
}

impl CompositionWeights {
    /// The paper's for a window: 1 / (window + 1), and 1 / distance.
    pub fn paper(window: usize) -> Self {
        Self {
            unigram: 1.0 / (window + 1) as f32,
            pairs: (1..=window).map(|distance| 1.0 / distance as f32).collect(),
        }
    }
}

impl Default for CompositionWeights {
    fn default() -> Self {
        Self::paper(3)
    }
}

/// The part of the score that knows only the document, and what the caller brings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Others {
    /// γ: the weights of the `[CLS]` vector. Their product with it is taken when a document is indexed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cls: Option<Vec<f32>>,
    /// Named features of documents, and of candidates as the caller gives them.
    #[serde(default)]
    pub features: Vec<Feature>,
}

/// A feature: it contributes `weight · (x − mean) / deviation`, and nothing where it is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Mean over the training set.
    pub mean: f32,
    /// Standard deviation over the training set.
    pub deviation: f32,
    /// Its weight.
    pub weight: f32,
}

impl Feature {
    /// A feature taken as it is: mean 0, deviation 1.
    pub fn plain(name: impl Into<String>, weight: f32) -> Self {
        Self {
            name: name.into(),
            mean: 0.0,
            deviation: 1.0,
            weight,
        }
    }

    /// `(value − mean) / deviation`.
    #[inline]
    pub fn standardised(&self, value: f32) -> f32 {
        (value - self.mean) / self.deviation
    }

    /// What a value adds to the score.
    #[inline]
    pub fn contribution(&self, value: f32) -> f32 {
        self.weight * self.standardised(value)
    }
}

impl Head {
    /// A head that scores everything 0: the paper's eleven kernels, every weight 0.
    pub fn blank(encoder_id: impl Into<String>, layers: usize) -> Self {
        let kernels = Kernels::default();
        let alpha = vec![vec![0.0; kernels.mu.len()]; layers];
        Self {
            format: FORMATS[0],
            encoder_id: encoder_id.into(),
            mode: None,
            deep: Deep {
                kernels,
                alpha,
                term_weights: TermWeights::default(),
                stop_words: false,
                composition: CompositionWeights::default(),
                similarity: Similarity::default(),
                document_vector: None,
                query_vector: QueryVector::default(),
                scale: None,
            },
            lexical: Vec::new(),
            pair_frequency: PairFrequency::default(),
            proximity: Proximity::default(),
            feedback: None,
            anchor_weight: None,
            others: Others::default(),
            about: Map::new(),
            other: Map::new(),
        }
    }

    /// Reads and checks a head.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let bytes = std::fs::read(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => ModelError::MissingFile {
                path: path.to_owned(),
                remedy: "a model that ranks has a head.json beside its config.json; train one, or name one",
            },
            _ => ModelError::io(path)(source),
        })?;
        Self::from_json(&bytes, path)
    }

    /// Reads and checks the bytes of a head; `path` stands for them in errors.
    pub fn from_json(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        let value: Value = serde_json::from_slice(bytes).map_err(ModelError::json(path))?;
        // The format is looked at first: another one may lack what this one must have.
        let format = value.get("format").and_then(Value::as_u64);
        if !FORMATS.iter().any(|&known| format == Some(known.into())) {
            let found = value
                .get("format")
                .map_or("missing".into(), Value::to_string);
            let problem = format!(
                "is {found}, this program reads {} and {}; use the program that wrote it",
                FORMATS[0], FORMATS[1]
            );
            return Err(config(path, "format", problem));
        }
        let head: Self = serde_json::from_slice(bytes).map_err(ModelError::json(path))?;
        if let Some(key) = head.key_of_format_2()
            && head.format < FORMATS[1]
        {
            let problem = format!(
                "is {}, but `{key}` is a key of format {}",
                head.format, FORMATS[1]
            );
            return Err(config(path, "format", problem));
        }
        head.check(path)?;
        Ok(head)
    }

    /// Writes the head, after the same checks; in the format that its keys need, if it names a lower one.
    pub fn write(&self, path: &Path) -> Result<(), ModelError> {
        self.check(path)?;
        let mut head = self.clone();
        if head.key_of_format_2().is_some() {
            head.format = head.format.max(FORMATS[1]);
        }
        let mut text = serde_json::to_string_pretty(&head).map_err(ModelError::json(path))?;
        text.push('\n');
        std::fs::write(path, text).map_err(ModelError::io(path))
    }

    /// Number of kept layers.
    pub fn layers(&self) -> usize {
        self.deep.alpha.len()
    }

    /// Whether a document's score depends on the vectors of the other candidates.
    pub fn is_list_wise(&self) -> bool {
        self.deep.scale.is_some() || self.feedback.is_some()
    }

    /// A key that it uses and that format 1 does not have.
    fn key_of_format_2(&self) -> Option<&'static str> {
        let keys = [
            ("mode", self.mode.is_some()),
            (
                "deep.query_vector",
                self.deep.query_vector != QueryVector::Terms,
            ),
            ("deep.scale", self.deep.scale.is_some()),
            (
                "pair_frequency",
                self.pair_frequency != PairFrequency::Store,
            ),
            ("proximity", self.proximity != Proximity::Window),
            ("feedback", self.feedback.is_some()),
            ("anchor_weight", self.anchor_weight.is_some()),
        ];
        let mut used = keys.into_iter().filter(|(_, used)| *used);
        used.next().map(|(key, _)| key)
    }

    /// Refuses counts that do not fit and numbers that are none. `path` is for the message.
    pub fn check(&self, path: &Path) -> Result<(), ModelError> {
        let refuse = |field: String, problem: String| Err(config(path, &field, problem));
        if let Err((field, problem)) = self.deep.check() {
            return refuse(format!("deep.{field}"), problem);
        }
        if let Some(Err((field, problem))) = self.feedback.as_ref().map(Feedback::check) {
            return refuse(format!("feedback.{field}"), problem);
        }
        if let Some(bad) = self.anchor_weight.filter(|weight| !weight.is_finite()) {
            return refuse("anchor_weight".into(), format!("is {bad}"));
        }
        let lists = [
            ("lexical", self.lexical.as_slice()),
            ("others.features", self.others.features.as_slice()),
        ];
        for (list, features) in lists {
            for (at, feature) in features.iter().enumerate() {
                if let Err((field, problem)) = feature.check() {
                    return refuse(format!("{list}[{at}].{field}"), problem);
                }
                if features[..at]
                    .iter()
                    .any(|other| other.name == feature.name)
                {
                    let problem = format!("is {:?} a second time", feature.name);
                    return refuse(format!("{list}[{at}].name"), problem);
                }
            }
        }
        match self.others.cls.iter().flatten().find(|x| !x.is_finite()) {
            Some(bad) => refuse("others.cls".into(), format!("holds {bad}")),
            None => Ok(()),
        }
    }
}

pub(crate) type Problem = (String, String);

pub(crate) fn problem(field: impl Into<String>, problem: impl Into<String>) -> Result<(), Problem> {
    Err((field.into(), problem.into()))
}

impl Deep {
    fn check(&self) -> Result<(), Problem> {
        let Kernels { mu, sigma, epsilon } = &self.kernels;
        if mu.is_empty() || mu.len() != sigma.len() {
            let counts = format!(
                "has {} μ and {} σ; give as many, at least one",
                mu.len(),
                sigma.len()
            );
            return problem("kernels", counts);
        }
        if let Some(k) = mu.iter().position(|mu| !mu.is_finite()) {
            return problem(format!("kernels.mu[{k}]"), format!("is {}", mu[k]));
        }
        if let Some(k) = sigma.iter().position(|&s| !s.is_finite() || s <= 0.0) {
            return problem(
                format!("kernels.sigma[{k}]"),
                format!("is {}, must be above 0", sigma[k]),
            );
        }
        if !epsilon.is_finite() || *epsilon <= 0.0 {
            return problem("kernels.epsilon", format!("is {epsilon}, must be above 0"));
        }
        if self.alpha.is_empty() {
            return problem(
                "alpha",
                "is empty; give a row of weights for every kept layer",
            );
        }
        for (layer, row) in self.alpha.iter().enumerate() {
            if row.len() != mu.len() {
                let counts = format!(
                    "has {} weights, but there are {} kernels",
                    row.len(),
                    mu.len()
                );
                return problem(format!("alpha[{layer}]"), counts);
            }
            if let Some(bad) = row.iter().find(|x| !x.is_finite()) {
                return problem(format!("alpha[{layer}]"), format!("holds {bad}"));
            }
        }
        let CompositionWeights { unigram, pairs } = &self.composition;
        if !unigram.is_finite() || *unigram <= 0.0 {
            // A term may have nothing but its uni-gram.
            return problem(
                "composition.unigram",
                format!("is {unigram}, must be above 0"),
            );
        }
        if let Some(bad) = pairs.iter().find(|&&w| !w.is_finite() || w < 0.0) {
            return problem(
                "composition.pairs",
                format!("holds {bad}, must not be below 0"),
            );
        }
        let within =
            |part: &'static str| move |(field, what): Problem| (format!("{part}.{field}"), what);
        if let Some(feature) = &self.document_vector {
            feature.check().map_err(within("document_vector"))?;
        }
        match &self.scale {
            Some(scale) => scale.check().map_err(within("scale")),
            None => Ok(()),
        }
    }
}

impl Feature {
    fn check(&self) -> Result<(), Problem> {
        if self.name.is_empty() {
            return problem("name", "is empty");
        }
        if !self.deviation.is_finite() || self.deviation <= 0.0 {
            let what = format!("of {} is {}, must be above 0", self.name, self.deviation);
            return problem("deviation", what);
        }
        for (field, value) in [("mean", self.mean), ("weight", self.weight)] {
            if !value.is_finite() {
                return problem(field, format!("of {} is {value}", self.name));
            }
        }
        Ok(())
    }
}

fn config(path: &Path, field: &str, problem: String) -> ModelError {
    ModelError::Config {
        path: path.to_owned(),
        field: field.to_owned(),
        problem,
    }
}
