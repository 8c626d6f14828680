//! The section `[mixer]`: how to train the mixer of composed queries.

use crate::Device;
use becr_model::MixerKind;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A mixer to train on the frozen encoder of `[model] base`. Nothing is judged: its teacher is the encoder itself, which
/// reads whole pseudo-queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MixerConfig {
    /// `"pre_norm"`, from nothing; or `"encoder_layers"`, which starts from the encoder's last layers.
    pub kind: MixerKind,
    /// Attention layers.
    pub layers: usize,
    /// Width of the feed-forward part, 768 unless it is said; with `"encoder_layers"` the encoder's, or as many of its
    /// numbers as are said here, the strongest.
    pub feed_forward: Option<usize>,
    /// Attention heads; with `"encoder_layers"`, the encoder's instead.
    pub heads: usize,
    /// Positions that are told apart.
    pub positions: usize,
    /// Where to compute.
    pub device: Device,
    /// Let the teacher read in 16 bits. For GPUs.
    pub half: bool,
    /// Steps of the optimizer.
    pub steps: usize,
    /// Pseudo-queries of a step.
    pub batch: usize,
    /// Learning rate, after the warm-up; it then falls along a cosine to 0.
    pub learning_rate: f64,
    /// Steps over which the learning rate grows.
    pub warm_up: usize,
    /// Weight decay.
    pub weight_decay: f64,
    /// Longer gradients are scaled to this length.
    pub clip: f64,
    /// Weights to start from, pseudo-queries and what is held out are drawn from this.
    pub seed: u64,
    /// Part of the pseudo-queries that are queries; the others are spans of documents.
    pub query_share: f64,
    /// Part of the pseudo-queries that lose words.
    pub drop_share: f64,
    /// Part of the pseudo-queries whose words are shuffled.
    pub shuffle_share: f64,
    /// Words of the longest pseudo-query; longer queries are cut.
    pub longest: usize,
    /// Spans have `2 + (longest − 1) · r^power` words, with r even between 0 and 1.
    pub power: f64,
    /// How much the query's vector counts beside those of the words.
    pub query_weight: f64,
    /// How much a stop word counts beside other words.
    pub stop_weight: f64,
    /// How much it counts that a query's vector is as similar to documents as the encoder's: the squared difference of
    /// the cosines, on average over documents.
    pub similarity_weight: f64,
    /// How much of the words' own vectors goes with the mixed ones, when the mixer is used: nothing is trained with it, so
    /// that it can be chosen afterwards.
    pub word_blend: f32,
    /// Part of the queries that is never trained on, chosen by a hash of their words.
    pub held_out: f64,
    /// Steps between two measurements on the queries held out.
    pub evaluate_every: usize,
    /// Steps between two checkpoints.
    pub checkpoint_every: usize,
    /// Documents are cut after so many words.
    pub document_words: usize,
    /// Files of queries: `id TAB text`, JSON lines or TREC topics, plain or compressed.
    pub queries: Vec<PathBuf>,
    /// Queries whose ids begin with one of these are left out.
    pub leave_out: Vec<String>,
    /// Files of pairs, whose queries are queries and whose documents are documents.
    pub pairs: Vec<PathBuf>,
    /// Files or folders of documents.
    pub corpora: Vec<PathBuf>,
}

impl Default for MixerConfig {
    fn default() -> Self {
        Self {
            kind: MixerKind::PreNorm,
            layers: 2,
            feed_forward: None,
            heads: 6,
            positions: 32,
            device: Device::Cpu,
            half: false,
            steps: 15_000,
            batch: 1024,
            learning_rate: 1e-3,
            warm_up: 150,
            weight_decay: 0.01,
            clip: 1.0,
            seed: 1,
            query_share: 0.45,
            drop_share: 0.35,
            shuffle_share: 0.08,
            longest: 20,
            power: 1.7,
            query_weight: 0.5,
            stop_weight: 1.0,
            similarity_weight: 0.0,
            word_blend: 0.0,
            held_out: 0.02,
            evaluate_every: 500,
            checkpoint_every: 1000,
            document_words: 200,
            queries: Vec::new(),
            leave_out: Vec::new(),
            pairs: Vec::new(),
            corpora: Vec::new(),
        }
    }
}

impl MixerConfig {
    pub(super) fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("heads", self.heads),
            ("positions", self.positions),
            ("feed_forward", self.feed_forward.unwrap_or(1)),
            ("batch", self.batch),
            ("steps", self.steps),
            ("evaluate_every", self.evaluate_every),
            ("checkpoint_every", self.checkpoint_every),
            ("document_words", self.document_words),
        ] {
            if value == 0 {
                return Err(format!("[mixer] {name}: expected at least 1, found 0"));
            }
        }
        if !(2..=40).contains(&self.longest) {
            let found = self.longest;
            return Err(format!(
                "[mixer] longest: expected 2 to 40 words, found {found}"
            ));
        }
        for (name, value) in [
            ("query_share", self.query_share),
            ("drop_share", self.drop_share),
            ("shuffle_share", self.shuffle_share),
            ("held_out", self.held_out),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!(
                    "[mixer] {name}: expected a number from 0 to 1, found {value}"
                ));
            }
        }
        for (name, value) in [
            ("learning_rate", self.learning_rate),
            ("clip", self.clip),
            ("power", self.power),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(format!(
                    "[mixer] {name}: expected a number above 0, found {value}"
                ));
            }
        }
        for (name, value) in [
            ("weight_decay", self.weight_decay),
            ("query_weight", self.query_weight),
            ("stop_weight", self.stop_weight),
            ("word_blend", self.word_blend.into()),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(format!(
                    "[mixer] {name}: expected a number from 0, found {value}"
                ));
            }
        }
        if self.queries.is_empty() && self.pairs.is_empty() && self.corpora.is_empty() {
            return Err("[mixer] queries, pairs, corpora: name files to learn from".into());
        }
        Ok(())
    }
}
