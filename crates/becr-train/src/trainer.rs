//! The door: an index, examples and options in, a head out.

use crate::frozen::Frozen;
use crate::learn::{Course, Sampler};
use crate::model::{HeadTensors, Network, Place};
use crate::{Example, Observer, TrainError, TrainOptions, Validation, start, validate};
use becr_model::{Head, Model};
use becr_rank::Ranker;
use becr_store::Store;
use becr_text::pieces::WordPieces;
use burn::backend::{Autodiff, Flex};
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
}

/// What a training made.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The head.
    pub head: Head,
    /// Mean nDCG@10 of the best validation; `None` without validation queries.
    pub ndcg: Option<f64>,
    /// The step after which the weights were these.
    pub step: usize,
    /// Steps done in all.
    pub steps: usize,
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
        self.frozen::<Autodiff<Flex>>(examples, validation, options, observer)
    }

    fn frozen<B: AutodiffBackend>(
        &self,
        examples: &[Example],
        validation: &Validation,
        options: &TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<Trained, TrainError> {
        let pieces = WordPieces::from_dir(&self.model.directory)?;
        let (head, scale) = self.start(examples, options, &pieces, observer)?;
        let ranker = Ranker::for_store(self.store, head.clone(), pieces.clone())?;
        let source = Frozen::new(
            self.store,
            ranker,
            examples,
            &options.model,
            options.negatives,
        );
        let place = Place::<B>::single(Default::default());
        let mut network = Network {
            head: HeadTensors::upload(&head, &scale, &options.model, &place),
            place: place.clone(),
        };
        let course = Course {
            examples,
            source: &source,
            options,
            steps: options.steps,
            place,
            folder: self.directory,
            fingerprint: fingerprint(&head, examples, options),
            validation_queries: validation.queries.len(),
        };
        let mut rerank = |network: &mut Network<B>| {
            let mut current = head.clone();
            network.head.download(&mut current);
            let ranker = Ranker::for_store(self.store, current, pieces.clone())?;
            let run = validate::rerank(validation, self.store, &ranker)?;
            validate::ndcg(validation, &run)
        };
        let outcome = match validation.queries.is_empty() {
            true => course.run(&mut network, None, observer)?,
            false => course.run(&mut network, Some(&mut rerank), observer)?,
        };
        let mut trained = head.clone();
        network.head.download(&mut trained);
        let ndcg = outcome.best.map(|best| best.ndcg);
        let step = outcome.best.map_or(outcome.steps, |best| best.step);
        for (key, value) in [
            ("examples", json!(examples.len())),
            ("validation_ndcg_at_10", json!(ndcg)),
            ("step", json!(step)),
            ("options", json!(options)),
        ] {
            trained.about.insert(key.into(), value);
        }
        Ok(Trained {
            head: trained,
            ndcg,
            step,
            steps: outcome.steps,
        })
    }

    /// The head to start from, and the usual sizes of its log-sums.
    fn start(
        &self,
        examples: &[Example],
        options: &TrainOptions,
        pieces: &WordPieces,
        observer: &mut dyn Observer,
    ) -> Result<(Head, Vec<f32>), TrainError> {
        let header = self.store.header();
        let mut head = match &self.head {
            Some(head) => head.clone(),
            None => start::blank(
                &header.encoder_id,
                usize::from(header.shape.layers),
                header.window,
                self.model.config.settings().kernels,
                &options.model,
            )?,
        };
        let ranker = Ranker::for_store(self.store, head.clone(), pieces.clone())?;
        let source = Frozen::new(
            self.store,
            ranker,
            examples,
            &options.model,
            options.negatives,
        );
        // A shuffled sample: the first epoch's first queries.
        let count = examples.len().min(MEASURED);
        let mut sampler = Sampler::new(examples, options.seed, 1, options.negatives);
        let picked: Vec<_> = (0..count).flat_map(|pass| sampler.pass(pass)).collect();
        let mut rows = Vec::new();
        for part in picked.chunks(100) {
            rows.extend(source.rows(part)?);
            observer.preparing(rows.len() / (options.negatives + 1), count);
        }
        if self.head.is_none() {
            start::standardise(&mut head, &rows);
        }
        Ok((head, start::scale(&rows)))
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

/// Tells a training by what it starts from, learns from and goes by.
fn fingerprint(head: &Head, examples: &[Example], options: &TrainOptions) -> String {
    let mut hash = Xxh3::new();
    hash.update(json!([head, options]).to_string().as_bytes());
    for example in examples {
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
