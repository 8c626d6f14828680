//! Training the mixer of composed queries on the frozen encoder.
//!
//! No judgement is needed: the teacher is the encoder, which reads a whole pseudo-query; the mixer sees the vectors of
//! its words, each read by itself, and learns to give what the encoder gives. Pseudo-queries are queries and spans of
//! documents, drawn anew for every step.
//!
//! | module | job |
//! |---|---|
//! | `texts` | queries and documents as numbers of distinct words |
//! | `draw` | pseudo-queries |
//! | `pack` | pseudo-queries in rows of one shape, so that a GPU meets one shape |
//! | `teacher` | the encoder's vectors of words in context, and of words alone |
//! | `trial` | whether the device computes what the encoder computes |
//! | `fit` | from words' vectors to the states before the encoder's last layers |
//! | `learn` | the loop |
//! | `checkpoint` | what it goes on from |

mod checkpoint;
mod draw;
mod fit;
mod learn;
mod pack;
mod teacher;
mod texts;
mod trial;

use crate::config::{Config, MixerConfig};
use crate::trainer::{OnDevice, run_on};
use crate::{Observer, TrainError, output};
use becr_encoder::{Shape, word_pieces};
use becr_model::{HEAD_FILE, MIXER_FILE, MixerKind, MixerShape, MixerWeights, Model, Storage};
use burn::tensor::backend::AutodiffBackend;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
pub use texts::TextReport;
use texts::Texts;

/// Width of the feed-forward part of a mixer that starts from nothing.
const FEED_FORWARD: usize = 768;

/// How near the mixer comes to its teacher on queries that it never learned from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Steps done.
    pub step: usize,
    /// Mean cosine of words' vectors.
    pub words: f64,
    /// Mean cosine of queries' vectors.
    pub query: f64,
    /// Seconds since training began, or went on.
    pub seconds: f64,
}

/// What came of a training.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MixerOutcome {
    /// The directory of the model.
    pub output: PathBuf,
    /// What was read.
    pub texts: TextReport,
    /// Steps done.
    pub steps: usize,
    /// The last measurement; `None` if nothing was held out.
    pub held_out: Option<HeldOut>,
    /// Steps a second of this run, from its second ten steps on.
    pub steps_per_second: Option<f64>,
}

impl fmt::Display for MixerOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} steps", self.steps)?;
        if let Some(rate) = self.steps_per_second {
            write!(f, ", {rate:.1} a second")?;
        }
        if let Some(HeldOut { words, query, .. }) = self.held_out {
            write!(
                f,
                "; mean cosine on {} queries held out: words {words:.4}, queries {query:.4}",
                self.texts.held_out
            )?;
        }
        write!(f, "\n{}", self.output.display())
    }
}

/// The vectors that go in and out, and where checkpoints lie.
struct MixerTraining<'a> {
    model: &'a Model,
    options: &'a MixerConfig,
    texts: &'a Texts,
    folder: PathBuf,
    encoder_id: String,
}

/// Reads the texts that a configuration names, and reports what is there.
pub fn read_texts(config: &Config) -> Result<TextReport, TrainError> {
    let (options, model) = parts(config)?;
    Ok(Texts::read(options, &word_pieces(&model.tokenizer)?)?.report)
}

/// Trains the mixer of `[mixer]`, or goes on training it, and writes the base model with it.
pub fn train(config: &Config, observer: &mut dyn Observer) -> Result<MixerOutcome, TrainError> {
    let (options, model) = parts(config)?;
    options.device.check()?;
    let target = &config.output.model;
    if !output::is_free(target, &model) {
        return Err(TrainError::option(
            "model",
            format!(
                "{} is another model; choose another directory in [output] model",
                target.display()
            ),
        ));
    }
    let texts = Texts::read(options, &word_pieces(&model.tokenizer)?)?;
    observer.note(&texts.report.to_string());
    let training = MixerTraining {
        model: &model,
        options,
        texts: &texts,
        folder: config.mixer_checkpoints(),
        encoder_id: model.encoder_id(),
    };
    let mut learned = run_on(options.device, Job(&training, observer))?;
    learned.weights.word_blend = options.word_blend;
    write(&model, &learned.weights, target)?;
    Ok(MixerOutcome {
        output: target.clone(),
        texts: texts.report.clone(),
        steps: options.steps,
        held_out: learned.held_out,
        steps_per_second: learned.steps_per_second,
    })
}

/// Removes what an earlier training with this seed left.
pub fn forget(config: &Config) -> Result<(), TrainError> {
    let folder = config.mixer_checkpoints();
    match std::fs::remove_dir_all(&folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(TrainError::io(&folder)(e)),
        _ => Ok(()),
    }
}

impl Config {
    /// Where the checkpoint of the mixer of this seed goes.
    fn mixer_checkpoints(&self) -> PathBuf {
        let seed = self.mixer.as_ref().map_or(0, |mixer| mixer.seed);
        self.work().join(format!("mixer-seed-{seed}"))
    }
}

/// The section of the configuration and the model it is for.
fn parts(config: &Config) -> Result<(&MixerConfig, Model), TrainError> {
    let problem = |what: &str| TrainError::option("mixer", what);
    let options = config.mixer.as_ref();
    let options = options.ok_or_else(|| problem("there is no section [mixer]"))?;
    let base = config.model.base.as_ref();
    let base = base.ok_or_else(|| problem("[model] base: name the model to train a mixer for"))?;
    let model = Model::read(base)?;
    if !Shape::new(&model.config)?.relative {
        return Err(problem(
            "the model keeps no vectors of token groups; prepare it with `becr model prepare --relative`",
        ));
    }
    let layers = Shape::new(&model.config)?.layers;
    let depth = layers.last().copied().unwrap_or(0);
    if options.kind == MixerKind::EncoderLayers && !(1..=depth).contains(&options.layers) {
        return Err(TrainError::option(
            "layers",
            format!(
                "expected 1 to {depth} of the encoder's, found {}",
                options.layers
            ),
        ));
    }
    if options.kind == MixerKind::PreNorm && !model.config.hidden_size.is_multiple_of(options.heads)
    {
        return Err(TrainError::option(
            "heads",
            format!(
                "{} do not divide the hidden size, {}",
                options.heads, model.config.hidden_size
            ),
        ));
    }
    Ok((options, model))
}

/// The base as it is, with its head, and the mixer.
fn write(model: &Model, mixer: &MixerWeights, target: &Path) -> Result<(), TrainError> {
    std::fs::create_dir_all(target).map_err(TrainError::io(target))?;
    let partial = output::partial(target)?;
    model.copy(&partial)?;
    if let Some(head) = &model.head {
        head.write(&partial.join(HEAD_FILE))?;
    }
    mixer.write(&partial.join(MIXER_FILE), Storage::I8)?;
    output::publish(&partial, target, output::CONFIG)
}

impl MixerTraining<'_> {
    /// Weights to start from, as far as the encoder has not to be asked for them.
    fn start(&self) -> MixerWeights {
        let (options, encoder) = (self.options, &self.model.config);
        let (feed_forward, heads) = match options.kind {
            MixerKind::PreNorm => (options.feed_forward.unwrap_or(FEED_FORWARD), options.heads),
            MixerKind::EncoderLayers => {
                let width = encoder.intermediate_size;
                let asked = options.feed_forward.unwrap_or(width);
                (asked.min(width), encoder.num_attention_heads)
            }
        };
        let shape = MixerShape {
            kind: options.kind,
            hidden: encoder.hidden_size,
            layers: options.layers,
            feed_forward,
            heads,
            positions: options.positions,
        };
        MixerWeights::new(shape, self.encoder_id.clone(), self.options.seed)
    }
}

struct Job<'a>(&'a MixerTraining<'a>, &'a mut dyn Observer);

impl OnDevice for Job<'_> {
    type Made = learn::Learned;

    fn on<B: AutodiffBackend>(self, device: B::Device) -> Result<learn::Learned, TrainError> {
        self.0.learn::<B>(&device, self.1)
    }
}
