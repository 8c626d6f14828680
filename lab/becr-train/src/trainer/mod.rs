//! The door: an index, examples and options in, a head out.

mod device;
mod end_to_end;
mod head_only;

pub use device::Device;
pub(crate) use device::{OnDevice, run_on};
pub(crate) use end_to_end::take_over;

use crate::frozen::Frozen;
use crate::learn::{Outcome, Sampler};
use crate::{EncoderMode, Example, Observer, TrainError, TrainOptions, Validation, start};
use becr_eval::Run;
use becr_lmdb::Store;
use becr_model::{Head, Model, Similarity, Weights};
use becr_rank::Ranker;
use becr_text::pieces::WordPieces;
use burn::tensor::backend::AutodiffBackend;
use serde_json::json;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Examples whose features are measured before the training.
const MEASURED: usize = 2000;

/// What a training works on.
pub struct Trainer<'a> {
    /// The model whose encoder made the index.
    pub model: &'a Model,
    /// The index's store, with footprints, token groups, statistics and, to train the encoder, texts.
    pub store: &'a Store,
    /// The head to start from; without one, every weight starts at 0 and features are measured on the examples.
    pub head: Option<Head>,
    /// Checkpoints, log and curves go here; a training that was interrupted goes on from here.
    pub directory: &'a Path,
    /// Queries that a trained encoder re-ranks in the end, since no index fits it: decomposed, on raw vectors.
    pub test: Option<&'a Validation>,
}

/// What a training made.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The head.
    pub head: Head,
    /// The encoder's weights, if it was trained: a new model, which needs a new index.
    pub weights: Option<Weights>,
    /// Mean nDCG@10 of the best validation; `None` without validation queries.
    pub ndcg: Option<f64>,
    /// The step after which the weights were these.
    pub step: usize,
    /// Steps done in all.
    pub steps: usize,
    /// The test queries, re-ranked, if the encoder was trained and there are some.
    pub test: Option<Run>,
}

/// A training on some device.
struct Training<'a> {
    trainer: &'a Trainer<'a>,
    examples: &'a [Example],
    validation: &'a Validation,
    options: &'a TrainOptions,
    pieces: WordPieces,
}

impl Trainer<'_> {
    /// Trains, or goes on training. Stops early by the options, and with an error, the last good checkpoint kept, when
    /// a loss is no number any more.
    pub fn run(
        &self,
        examples: &[Example],
        validation: &Validation,
        options: &TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<Trained, TrainError> {
        options.check()?;
        check(examples)?;
        self.store.check_encoder(&self.model.encoder_id())?;
        let training = Training {
            trainer: self,
            examples,
            validation,
            options,
            pieces: WordPieces::from_dir(&self.model.directory)?,
        };
        run_on(options.device, Job(&training, observer))
    }
}

struct Job<'a>(&'a Training<'a>, &'a mut dyn Observer);

impl OnDevice for Job<'_> {
    type Made = Trained;

    fn on<B: AutodiffBackend>(self, device: B::Device) -> Result<Trained, TrainError> {
        self.0.run::<B>(device, self.1)
    }
}

impl Training<'_> {
    fn run<B: AutodiffBackend>(
        &self,
        device: B::Device,
        observer: &mut dyn Observer,
    ) -> Result<Trained, TrainError> {
        match self.options.model.encoder {
            EncoderMode::Frozen => self.head_only::<B>(device, observer),
            EncoderMode::Trained => self.end_to_end::<B>(device, observer),
        }
    }

    fn ranker(&self, head: &Head) -> Result<Ranker, TrainError> {
        let store = self.trainer.store;
        let mut head = head.clone();
        if self.options.model.encoder == EncoderMode::Trained {
            // It only looks up features and token groups then: the network compares, as the options say.
            head.deep.similarity = Similarity::SumOfCosines;
        }
        Ok(Ranker::for_store(
            store.header(),
            head,
            self.pieces.clone(),
        )?)
    }

    /// The head to start from, and the usual sizes of its log-sums.
    fn start(&self, observer: &mut dyn Observer) -> Result<(Head, Vec<f32>), TrainError> {
        let Trainer {
            model, store, head, ..
        } = self.trainer;
        let options = self.options;
        let header = store.header();
        let mut start = match head {
            Some(head) => head.clone(),
            None => start::blank(
                &header.encoder_id,
                usize::from(header.shape.layers),
                header.window,
                model.config.settings().kernels,
                &options.model,
            )?,
        };
        if !options.model.deep {
            start.deep.alpha.iter_mut().flatten().for_each(|a| *a = 0.0);
            start.deep.document_vector = None;
        }
        let source = Frozen::new(store, self.ranker(&start)?, self.examples, &options.model);
        // A shuffled sample: the first epoch's first queries.
        let count = self.examples.len().min(MEASURED);
        let mut sampler = Sampler::new(self.examples, options.seed, 1, options.negatives);
        let picked: Vec<_> = (0..count).flat_map(|pass| sampler.pass(pass)).collect();
        let mut rows = Vec::new();
        for (part, picked) in picked.chunks(100).enumerate() {
            rows.extend(source.rows(picked)?);
            observer.preparing((100 * part + picked.len()).min(count), count);
        }
        if head.is_none() {
            start::standardise(&mut start, &rows);
        }
        Ok((start, start::scale(&rows)))
    }

    /// Puts together what was made.
    fn made(&self, mut head: Head, weights: Option<Weights>, outcome: Outcome) -> Trained {
        let ndcg = outcome.best.map(|best| best.ndcg);
        let step = outcome.best.map_or(outcome.steps, |best| best.step);
        for (key, value) in [
            ("examples", json!(self.examples.len())),
            ("validation_queries", json!(self.validation.queries.len())),
            ("validation_ndcg_at_10", json!(ndcg)),
            ("step", json!(step)),
            ("options", json!(self.options)),
        ] {
            head.about.insert(key.into(), value);
        }
        Trained {
            head,
            weights,
            ndcg,
            step,
            steps: outcome.steps,
            test: None,
        }
    }

    /// Tells a training by what it starts from, learns from and goes by.
    fn fingerprint(&self, head: &Head) -> String {
        let mut hash = Xxh3::new();
        hash.update(json!([head, self.options]).to_string().as_bytes());
        for example in self.examples {
            hash.update(example.id.as_bytes());
            hash.update(&[0]);
            hash.update(example.query.as_bytes());
            for candidate in example.positives.iter().chain(&example.negatives) {
                hash.update(&candidate.number.to_le_bytes());
                hash.update(&candidate.first_stage.unwrap_or(-1.0).to_le_bytes());
            }
            hash.update(&[0]);
        }
        format!("{:032x}", hash.digest128())
    }
}

fn check(examples: &[Example]) -> Result<(), TrainError> {
    if examples.is_empty() {
        return Err(TrainError::NoExamples);
    }
    for example in examples {
        for (what, documents) in [
            ("relevant", &example.positives),
            ("irrelevant", &example.negatives),
        ] {
            if documents.is_empty() {
                let id = example.id.clone();
                return Err(TrainError::Unusable { id, what });
            }
        }
    }
    Ok(())
}
