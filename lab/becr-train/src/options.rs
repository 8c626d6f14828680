//! What can be chosen about a training.

use crate::{Device, TrainError};
use becr_model::{Kernels, Proximity, Similarity, TermWeights};
use becr_rank::LEXICAL_FEATURES;
use serde::{Deserialize, Serialize};

/// All choices. The defaults are the recipe that ships: a frozen encoder, fixed kernels, every feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainOptions {
    /// What is learned, and how a query and a document are compared.
    pub model: ModelOptions,
    /// Where it is computed: `cpu`, `cuda`, `cuda:1`.
    pub device: Device,
    /// Everything that is drawn at random is drawn from this.
    pub seed: u64,
    /// Steps of the optimizer.
    pub steps: usize,
    /// Queries of one forward and backward pass.
    pub batch: usize,
    /// Passes whose gradients are added up before a step.
    pub accumulate: usize,
    /// Irrelevant documents beside the relevant one of a query.
    pub negatives: usize,
    /// What is minimised.
    pub loss: Loss,
    /// Learning rate of the head.
    pub rate: f64,
    /// Learning rate of the encoder, where it is trained.
    pub encoder_rate: f64,
    /// Share of the steps in which the rate grows from 0.
    pub warm_up: f64,
    /// What the rate does then.
    pub schedule: Schedule,
    /// Pulls weights towards 0 (AdamW); kernels and norms are left alone.
    pub weight_decay: f64,
    /// Longest gradient, over all parameters together; a longer one is shortened to it.
    pub clip: f64,
    /// Steps between two validations, and between two checkpoints.
    pub validate_every: usize,
    /// Validations without improvement after which training stops; 0 never stops.
    pub patience: usize,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            model: ModelOptions::default(),
            device: Device::Cpu,
            seed: 1,
            steps: 1000,
            batch: 64,
            accumulate: 1,
            negatives: 7,
            loss: Loss::Softmax,
            rate: 5e-3,
            encoder_rate: 2e-5,
            warm_up: 0.1,
            schedule: Schedule::Linear,
            weight_decay: 0.0,
            clip: 1.0,
            validate_every: 100,
            patience: 5,
        }
    }
}

impl TrainOptions {
    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<(), TrainError> {
        for (name, count) in [
            ("steps", self.steps),
            ("batch", self.batch),
            ("accumulate", self.accumulate),
            ("negatives", self.negatives),
            ("validate_every", self.validate_every),
        ] {
            if count == 0 {
                return Err(TrainError::option(name, "is 0, must be at least 1"));
            }
        }
        for (name, value, least, most) in [
            ("rate", self.rate, 0.0, 10.0),
            ("encoder_rate", self.encoder_rate, 0.0, 10.0),
            ("warm_up", self.warm_up, 0.0, 1.0),
            ("weight_decay", self.weight_decay, 0.0, 10.0),
            ("clip", self.clip, f64::MIN_POSITIVE, f64::MAX),
            ("sigma_floor", f64::from(self.model.sigma_floor), 1e-3, 2.0),
            ("noise", f64::from(self.model.noise), 0.0, 1.0),
        ] {
            if !(least..=most).contains(&value) {
                let problem = format!("is {value}, must be within {least} and {most}");
                return Err(TrainError::option(name, problem));
            }
        }
        self.model.check()
    }
}

/// What the learning rate does once it is at its full height.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Falls in a straight line to 0.
    Linear,
    /// Stays, as in the paper.
    Constant,
}

/// What is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Cross-entropy of the relevant document among all of the query's.
    Softmax,
    /// The paper's: the same for each pair of the relevant document and an irrelevant one, averaged.
    Pairwise,
}

/// What is learned, and how a query and a document are compared.
///
/// A training that starts from a head keeps what the head says: kernels, features, term weights, stop words, composition
/// and whether there is a document vector. The options then only say what of it is learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOptions {
    /// Whether the encoder learns too.
    pub encoder: EncoderMode,
    /// How a query meets the encoder in training, where the encoder runs. At inference it is always decomposed.
    pub query: QueryMode,
    /// How the vectors of a term's token groups are joined.
    pub similarity: Similarity,
    /// Whether there is a deep part at all; without one a head of features alone is learned.
    pub deep: bool,
    /// The kernels to start from; the model's own if none are given.
    pub kernels: Option<Kernels>,
    /// Lexical features, by the names that the ranker gives them.
    pub lexical: Vec<String>,
    /// Which words of a query the proximity features compare: those that form pairs, or any two, as in the paper.
    pub proximity: Proximity,
    /// Other features of documents, by the names that the index has them under.
    pub features: Vec<String>,
    /// How the terms of a query are added up.
    pub term_weights: TermWeights,
    /// Stop words have deep terms of their own, as the paper has it.
    pub stop_words: bool,
    /// Learn the kernels' centres μ and widths σ. Costs little: similarities are pooled through histograms.
    pub train_kernels: bool,
    /// Kernels never get narrower than this.
    pub sigma_floor: f32,
    /// Use the similarity of the query and the document's mean vector.
    pub document_vector: bool,
    /// Learn γ, the weights of the document's `[CLS]` vector. Needs a trained encoder: an index keeps one number.
    pub cls: bool,
    /// Deviation of the noise that stands for footprints in training on raw vectors, as a factor of √(1 − c²).
    pub noise: f32,
    /// Steps of a vanilla BERT ranker (`[CLS] query [SEP] document [SEP]`, a linear layer on `[CLS]`) before.
    pub vanilla_steps: usize,
    /// Documents are cut after so many WordPieces where the encoder runs. What does not fit into one sequence is split
    /// evenly, as in an index.
    pub max_document_tokens: usize,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            encoder: EncoderMode::Frozen,
            query: QueryMode::Decomposed,
            similarity: Similarity::SumOfCosines,
            deep: true,
            kernels: None,
            lexical: LEXICAL_FEATURES.map(String::from).to_vec(),
            proximity: Proximity::Window,
            features: Vec::new(),
            term_weights: TermWeights::Mean,
            stop_words: false,
            train_kernels: false,
            sigma_floor: 0.1,
            document_vector: true,
            cls: false,
            noise: 0.0,
            vanilla_steps: 0,
            max_document_tokens: 192,
        }
    }
}

impl ModelOptions {
    /// Refuses what means nothing without an encoder that runs.
    fn check(&self) -> Result<(), TrainError> {
        let frozen = self.encoder == EncoderMode::Frozen;
        for (name, asked) in [
            ("cls", self.cls),
            ("noise", self.noise > 0.0),
            ("query", self.query == QueryMode::Whole),
            ("similarity", self.similarity == Similarity::CosineOfSum),
            ("vanilla_steps", self.vanilla_steps > 0),
        ] {
            if frozen && asked {
                let problem =
                    "has a meaning only where the encoder is trained (encoder = \"trained\")";
                return Err(TrainError::option(name, problem));
            }
        }
        if !self.deep {
            self.check_without_deep()?;
        }
        match self.max_document_tokens {
            0 => Err(TrainError::option(
                "max_document_tokens",
                "is 0, must be at least 1",
            )),
            _ => Ok(()),
        }
    }
}

impl ModelOptions {
    /// Refuses what needs a deep part.
    fn check_without_deep(&self) -> Result<(), TrainError> {
        let refuse = |problem| Err(TrainError::option("deep", problem));
        if self.train_kernels {
            return refuse("is false, so there are no kernels to learn; leave train_kernels out");
        }
        if self.encoder == EncoderMode::Trained && !self.cls {
            return refuse(
                "is false, so the encoder has nothing to learn; freeze it, or learn γ (cls = true)",
            );
        }
        if self.lexical.is_empty() && self.features.is_empty() && !self.cls {
            return refuse("is false and there are no features, so there is nothing to learn");
        }
        Ok(())
    }
}

/// Whether the encoder learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EncoderMode {
    /// It stays as it is; footprints and features come from the index.
    Frozen,
    /// It runs, and learns with the head. Texts and features come from the index.
    Trained,
}

/// How a query meets the encoder in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryMode {
    /// The paper's method (1): as one sequence.
    Whole,
    /// The paper's method (2): as words and word pairs, as it is served.
    Decomposed,
}
