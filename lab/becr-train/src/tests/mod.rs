//! Trainings on a small index.

mod encoder;
mod mixer;
pub(crate) mod sample;

use crate::batch::Batch;
use crate::frozen::Frozen;
use crate::learn::{Course, Outcome, Picked, Sampler, Scores, Source, copy};
use crate::model::{HeadTensors, Network, Place, values};
use crate::random::Random;
use crate::{
    Example, ModelOptions, Observer, Step, TrainError, TrainOptions, Trainer, Validated, start,
};
use becr_model::{Head, TermWeights};
use becr_rank::{Candidate, RankOptions, RankWorkspace, Ranker};
use becr_text::pieces::WordPieces;
use burn::backend::{Autodiff, Flex};
use sample::Sample;
use std::path::Path;

type B = Autodiff<Flex>;

fn ranker(sample: &Sample, head: &Head) -> Ranker {
    let pieces = WordPieces::from_dir(&sample.model.directory).unwrap();
    Ranker::for_store(sample.store.header(), head.clone(), pieces).unwrap()
}

/// A head with random weights for everything there is.
fn head(sample: &Sample, options: &ModelOptions) -> Head {
    let header = sample.store.header();
    let kernels = sample.model.config.settings().kernels;
    let layers = usize::from(header.shape.layers);
    let mut head =
        start::blank(&header.encoder_id, layers, header.window, kernels, options).unwrap();
    let mut random = Random::new(6, &[]);
    let deep = &mut head.deep;
    deep.alpha
        .iter_mut()
        .flatten()
        .for_each(|alpha| *alpha = 0.1 * random.normal());
    let features = head
        .lexical
        .iter_mut()
        .chain(&mut head.others.features)
        .chain(&mut deep.document_vector);
    for feature in features {
        feature.weight = random.normal();
        feature.mean = 0.3;
        feature.deviation = 0.7;
    }
    head
}

fn picked(examples: &[Example]) -> Vec<Picked> {
    let all = |(example, e): (usize, &Example)| Picked {
        example,
        documents: e.positives.iter().chain(&e.negatives).copied().collect(),
    };
    examples.iter().enumerate().map(all).collect()
}

#[test]
fn what_is_learned_is_what_is_served() {
    check_served(&Sample::new(), None);
    check_served(&Sample::relative(), None);
}

#[test]
fn gamma_cls_of_a_head_to_go_on_from_counts_in_training_too() {
    let gamma: Vec<f32> = (0..16_u8).map(|n| f32::from(n) / 5.0 - 1.3).collect();
    check_served(&Sample::with_gamma(gamma.clone()), Some(&gamma));
}

/// Compares the scores of training with those of the ranker, on an index that was built with γ or without.
fn check_served(sample: &Sample, gamma: Option<&[f32]>) {
    let examples = sample.examples(12);
    let options = ModelOptions {
        features: vec!["rank".into(), "absent".into()],
        ..ModelOptions::default()
    };
    for (term_weights, stop_words) in [
        (TermWeights::Mean, false),
        (TermWeights::Sum, true),
        (TermWeights::Idf, false),
    ] {
        let options = ModelOptions {
            term_weights,
            stop_words,
            ..options.clone()
        };
        let mut head = head(sample, &options);
        head.others.cls = gamma.map(<[f32]>::to_vec);
        let served = served(sample, &head, &examples);
        for train_kernels in [false, true] {
            let options = ModelOptions {
                train_kernels,
                ..options.clone()
            };
            let source = Frozen::new(&sample.store, ranker(sample, &head), &examples, &options);
            let place = Place::<B>::single(Default::default());
            let scale = vec![2.0; head.deep.alpha.iter().flatten().count()];
            let network = Network {
                head: HeadTensors::upload(&head, &scale, &options, &place),
                encoder: None,
                place,
            };
            let batch = source.batch(&picked(&examples), 7, 0).unwrap();
            let trained = values(network.scores(&batch));
            assert_eq!(trained.len(), served.len());
            for (trained, served) in trained.iter().zip(&served) {
                let error = (trained - served).abs();
                assert!(
                    error <= 1e-4 * served.abs().max(1.0),
                    "{trained} in training, {served} served"
                );
            }
        }
    }
}

fn served(sample: &Sample, head: &Head, examples: &[Example]) -> Vec<f32> {
    let ranker = ranker(sample, head);
    let snapshot = sample.store.snapshot().unwrap();
    let mut scores = Vec::new();
    for picked in picked(examples) {
        let text = &examples[picked.example].query;
        let query = ranker
            .query(&snapshot, text, &RankOptions::composed(), None)
            .unwrap();
        let candidate = |c: &crate::Candidate| Candidate {
            number: c.number,
            first_stage: c.first_stage,
            ..Default::default()
        };
        let candidates: Vec<_> = picked.documents.iter().map(candidate).collect();
        let scored = ranker
            .score(&query, &snapshot, &candidates, &mut RankWorkspace::new())
            .unwrap();
        scores.extend(scored.iter().flatten().map(|scored| scored.score));
    }
    scores
}

#[derive(Default)]
struct Watcher {
    steps: Vec<Step>,
    validated: Vec<Validated>,
    notes: Vec<String>,
}

impl Observer for Watcher {
    fn step(&mut self, step: &Step) {
        self.steps.push(*step);
    }

    fn validated(&mut self, validated: &Validated) {
        self.validated.push(*validated);
    }

    fn note(&mut self, message: &str) {
        self.notes.push(message.into());
    }
}

fn options(model: ModelOptions) -> TrainOptions {
    TrainOptions {
        model,
        steps: 60,
        batch: 8,
        negatives: 4,
        rate: 0.03,
        validate_every: 20,
        ..TrainOptions::default()
    }
}

#[test]
fn a_small_head_learns() {
    let sample = Sample::new();
    let examples = sample.examples(64);
    let validation = sample.validation(&examples[..24]);
    for (train_kernels, loss) in [(false, crate::Loss::Softmax), (true, crate::Loss::Pairwise)] {
        let options = TrainOptions {
            loss,
            ..options(ModelOptions {
                train_kernels,
                ..ModelOptions::default()
            })
        };
        let folder = tempfile::tempdir().unwrap();
        let trainer = Trainer {
            model: &sample.model,
            store: &sample.store,
            head: None,
            directory: folder.path(),
            test: None,
        };
        let mut watcher = Watcher::default();
        let trained = trainer
            .run(&examples, &validation, &options, &mut watcher)
            .unwrap();
        let mean =
            |steps: &[Step]| steps.iter().map(|step| step.loss).sum::<f64>() / steps.len() as f64;
        let (first, last) = (mean(&watcher.steps[..8]), mean(&watcher.steps[52..]));
        assert!(last < 0.8 * first, "loss {first} became {last}");
        assert_eq!(watcher.validated.len(), 3);
        assert!(trained.ndcg.unwrap() > 0.7, "{trained:?}");
        trained.head.check("head.json".as_ref()).unwrap();
        assert!(
            trained
                .head
                .deep
                .kernels
                .sigma
                .iter()
                .all(|&sigma| sigma >= 0.1)
        );
        let log = std::fs::read_to_string(folder.path().join("log.jsonl")).unwrap();
        assert_eq!(log.lines().count(), 63);
        let curves = std::fs::read_to_string(folder.path().join("curves.svg")).unwrap();
        assert!(curves.starts_with("<svg") && curves.contains("validation nDCG@10"));

        // Asked again, it has nothing left to do; with other options it is another training.
        let again = trainer
            .run(&examples, &validation, &options, &mut Watcher::default())
            .unwrap();
        assert_eq!(again.head, trained.head);
        let other = TrainOptions {
            seed: 2,
            ..options.clone()
        };
        let refused = trainer
            .run(&examples, &validation, &other, &mut ())
            .unwrap_err();
        assert!(
            matches!(refused, TrainError::Checkpoint { .. }),
            "{refused}"
        );

        // A second training starts where the first one ended.
        let folder = tempfile::tempdir().unwrap();
        let trainer = Trainer {
            head: Some(trained.head.clone()),
            directory: folder.path(),
            ..trainer
        };
        let mut watcher = Watcher::default();
        trainer
            .run(&examples, &validation, &options, &mut watcher)
            .unwrap();
        assert!(watcher.steps[0].loss < 0.8 * first);
    }
}

/// Fails at a pass, or gives numbers that are none.
struct Spoilt<'a> {
    source: &'a dyn Source,
    fails: Option<usize>,
    nan: Option<usize>,
}

impl Source for Spoilt<'_> {
    fn batch(
        &self,
        picked: &[Picked],
        candidates: usize,
        pass: usize,
    ) -> Result<Batch, TrainError> {
        if self.fails == Some(pass) {
            return Err(TrainError::Device("the power went off".into()));
        }
        let mut batch = self.source.batch(picked, candidates, pass)?;
        if self.nan == Some(pass) {
            batch.features[0] = f32::NAN;
        }
        Ok(batch)
    }
}

/// Runs a training of a head for 40 steps in a folder, with what may happen to it, and copies the weights it ends with.
fn run(
    sample: &Sample,
    examples: &[Example],
    folder: &Path,
    fails: Option<usize>,
    nan: Option<usize>,
    watcher: &mut Watcher,
) -> Result<(Outcome, Vec<Vec<f32>>), TrainError> {
    let options = TrainOptions {
        steps: 40,
        accumulate: 2,
        validate_every: 10,
        ..options(ModelOptions {
            train_kernels: true,
            ..ModelOptions::default()
        })
    };
    let head = head(sample, &options.model);
    let source = Frozen::new(
        &sample.store,
        ranker(sample, &head),
        examples,
        &options.model,
    );
    let place = Place::<B>::single(Default::default());
    let scale = vec![2.0; head.deep.alpha.iter().flatten().count()];
    let network = Network {
        head: HeadTensors::upload(&head, &scale, &options.model, &place),
        encoder: None,
        place,
    };
    let source = Spoilt {
        source: &source,
        fails,
        nan,
    };
    learn(network, &source, examples, &options, folder, watcher)
}

/// Trains a network in a folder and copies the weights it ends with.
fn learn(
    mut network: Network<B>,
    source: &dyn Source,
    examples: &[Example],
    options: &TrainOptions,
    folder: &Path,
    watcher: &mut Watcher,
) -> Result<(Outcome, Vec<Vec<f32>>), TrainError> {
    let course = Course {
        examples,
        source,
        options,
        steps: options.steps,
        place: network.place.clone(),
        folder,
        fingerprint: "test".into(),
        validation_queries: 0,
    };
    let outcome = course.run(&mut network, None, watcher)?;
    Ok((outcome, copy(&mut network)))
}

#[test]
fn an_interrupted_training_ends_where_it_would_have() {
    let sample = Sample::new();
    let examples = sample.examples(20);
    let [straight, broken] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut watcher = Watcher::default();
    let whole = run(
        &sample,
        &examples,
        straight.path(),
        None,
        None,
        &mut watcher,
    )
    .unwrap();
    let error = run(
        &sample,
        &examples,
        broken.path(),
        Some(57),
        None,
        &mut Watcher::default(),
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "the power went off");
    let mut resumed = Watcher::default();
    let rest = run(&sample, &examples, broken.path(), None, None, &mut resumed).unwrap();
    assert_eq!(rest, whole, "bit for bit");
    assert!(
        resumed.notes[0].contains("after step 20"),
        "{:?}",
        resumed.notes
    );
    assert_eq!(resumed.steps.len(), 20);
    let losses = |folder: &Path| -> Vec<f64> {
        let log = std::fs::read_to_string(folder.join("log.jsonl")).unwrap();
        let loss = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["loss"]
                .as_f64()
                .unwrap()
        };
        log.lines().map(loss).collect()
    };
    assert_eq!(losses(straight.path()), losses(broken.path()));
}

#[test]
fn a_loss_that_is_no_number_stops_before_harm_is_done() {
    let sample = Sample::new();
    let examples = sample.examples(20);
    let folder = tempfile::tempdir().unwrap();
    let mut watcher = Watcher::default();
    let error = run(
        &sample,
        &examples,
        folder.path(),
        None,
        Some(25),
        &mut watcher,
    )
    .unwrap_err();
    let TrainError::NotFinite { step, queries, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*step, 13);
    let mut sampler = Sampler::new(&examples, 1, 8, 4);
    for picked in sampler.pass(25) {
        assert!(queries.contains(&examples[picked.example].id));
    }
    assert!(
        error.to_string().contains("the last good state is in"),
        "{error}"
    );
    // The checkpoint of step 10 is good: the training goes on from it once the data are mended.
    let straight = tempfile::tempdir().unwrap();
    let whole = run(
        &sample,
        &examples,
        straight.path(),
        None,
        None,
        &mut Watcher::default(),
    )
    .unwrap();
    let mended = run(&sample, &examples, folder.path(), None, None, &mut watcher).unwrap();
    assert_eq!(mended, whole);
}

#[test]
fn what_cannot_be_learned_from_is_named() {
    let sample = Sample::new();
    let examples = sample.examples(3);
    let folder = tempfile::tempdir().unwrap();
    let trainer = Trainer {
        model: &sample.model,
        store: &sample.store,
        head: None,
        directory: folder.path(),
        test: None,
    };
    let run = |examples: &[Example], options: &TrainOptions| {
        let validation = sample.validation(&[]);
        trainer
            .run(examples, &validation, options, &mut ())
            .unwrap_err()
            .to_string()
    };
    let options = options(ModelOptions::default());
    assert!(run(&[], &options).contains("no examples"));
    let mut bad = examples.clone();
    bad[1].negatives.clear();
    assert!(run(&bad, &options).contains("query q1: no irrelevant document"));
    bad[1] = examples[1].clone();
    bad[2].positives[0].number = 999;
    let message = run(&bad, &options);
    assert!(
        message.contains("q2") && message.contains("999"),
        "{message}"
    );
    let nothing = TrainOptions {
        batch: 0,
        ..options
    };
    assert!(run(&examples, &nothing).contains("option batch: is 0"));
}
