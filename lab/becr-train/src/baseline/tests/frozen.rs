//! A frozen encoder: what is kept of it gives the scores that it would give itself, and it stays as it was.

use super::{baseline, config};
use crate::baseline::directory::Baseline;
use crate::baseline::frozen::{Frozen, FrozenSource, Known};
use crate::baseline::network::BaselineNetwork;
use crate::baseline::options::{BaselineConfig, BaselineKind};
use crate::baseline::reader::TextReader;
use crate::baseline::source::BaselineSource;
use crate::baseline::train::{BaselineJob, BaselineMade};
use crate::learn::{Picked, Scores, Source};
use crate::model::{Place, values};
use crate::tests::sample::Sample;
use crate::trainer::run_on;
use crate::{Device, EncoderMode, Loss, Observer, Step, TrainOptions};
use burn::backend::Flex;

/// All that can be frozen, with a rate to learn by.
fn kinds() -> Vec<(BaselineConfig, f64)> {
    let frozen = |kind| BaselineConfig {
        encoder: EncoderMode::Frozen,
        max_document_tokens: 48,
        ..config(kind)
    };
    let knrm = BaselineConfig {
        fixed_vectors: Some(true),
        ..config(BaselineKind::Knrm)
    };
    let pooler = BaselineConfig {
        pooler: true,
        ..frozen(BaselineKind::Bert)
    };
    vec![
        (knrm, 0.5),
        (frozen(BaselineKind::Bert), 0.1),
        (pooler, 0.05),
        (frozen(BaselineKind::CedrKnrm), 0.02),
        (frozen(BaselineKind::Colbert), 0.05),
    ]
}

#[test]
fn what_is_kept_gives_the_same_scores() {
    let sample = Sample::new();
    let examples = sample.examples(6);
    // The second query has fewer documents.
    let picked = [(0, 4), (3, 2), (5, 4)].map(|(example, count)| Picked {
        example,
        documents: examples[example].negatives[..count].to_vec(),
    });
    let place = Place::<Flex>::single(Default::default());
    for (config, _) in kinds() {
        let kind = config.kind;
        assert!(config.is_frozen(), "{kind}");
        let baseline = baseline(&config, &sample.model);
        let reader = TextReader::in_training(&baseline).unwrap();
        let texts = || BaselineSource {
            store: &sample.store,
            examples: &examples,
            reader: &reader,
        };
        let network = BaselineNetwork::upload(&baseline, &place).unwrap();
        let read = texts().batch(&picked, 4, 0).unwrap();
        let expected = values(network.scores(&read));
        let known = Known::default();
        for device in [Device::Cpu, Device::Cuda(0)] {
            // The device only chooses the code for the encoder: burn's is tried on the CPU, too.
            let fresh = Known::default();
            let known = match device {
                Device::Cpu => &known,
                Device::Cuda(_) => &fresh,
            };
            let frozen = Frozen::new(&baseline, device, &place, known).unwrap();
            let source = FrozenSource {
                texts: texts(),
                frozen: &frozen,
            };
            let head = BaselineNetwork::in_training(&baseline, &place).unwrap();
            let batch = source.batch(&picked, 4, 0).unwrap();
            assert_eq!(batch.present, read.present);
            let found = values(head.scores(&batch));
            let pairs = expected.iter().zip(&found).zip(&batch.present);
            for ((a, b), _) in pairs.filter(|(_, present)| **present) {
                assert!((a - b).abs() < 1e-4 * a.abs().max(1.0), "{kind}: {a} {b}");
            }
            // From memory, in another order and beside others.
            let one = [picked[2].clone()];
            let again = values(head.scores(&source.batch(&one, 4, 0).unwrap()));
            for (a, b) in again.iter().zip(&found[8..]) {
                assert!((a - b).abs() < 1e-5 * a.abs().max(1.0), "{kind}: {a} {b}");
            }
        }
        let spread = expected
            .iter()
            .fold(0.0f32, |most, x| most.max((x - expected[0]).abs()));
        assert!(
            spread > 1e-3,
            "{kind}: all documents are alike: {expected:?}"
        );
    }
}

#[derive(Default)]
struct Losses(Vec<f64>);

impl Observer for Losses {
    fn step(&mut self, step: &Step) {
        self.0.push(step.loss);
    }
}

#[test]
fn only_what_is_behind_the_encoder_learns() {
    let sample = Sample::new();
    let examples = sample.examples(24);
    let validation = sample.validation(&examples[20..]);
    for (config, rate) in kinds() {
        let kind = config.kind;
        let words = kind.reads_words().then(|| super::table(config.dimensions));
        let start = Baseline::start(&config, &sample.model, words, 1).unwrap();
        let options = TrainOptions {
            steps: 60,
            batch: 6,
            negatives: 3,
            rate,
            loss: Loss::Pairwise,
            validate_every: 20,
            patience: 0,
            ..TrainOptions::default()
        };
        let train = |known: &Known| -> (BaselineMade, Vec<f64>) {
            let folder = tempfile::tempdir().unwrap();
            let mut losses = Losses::default();
            let job = BaselineJob {
                baseline: &start,
                store: &sample.store,
                examples: &examples[..20],
                validation: &validation,
                test: Some(&validation),
                options: &options,
                known,
                directory: folder.path(),
                observer: &mut losses,
            };
            (run_on(Device::Cpu, job).unwrap(), losses.0)
        };
        let known = Known::default();
        let (made, losses) = train(&known);
        let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
        let (first, last) = (mean(&losses[..5]), mean(&losses[losses.len() - 5..]));
        assert!(last < 0.9 * first, "{kind}: {first} to {last}: {losses:?}");
        assert_ne!(made.baseline.tensors, start.tensors, "{kind}");
        let weights = |baseline: &Baseline| baseline.model.as_ref().map(|m| m.weights.clone());
        assert_eq!(weights(&made.baseline), weights(&start), "{kind}");
        // Another training, a fold say, takes what is known already and learns the same from it.
        let (again, _) = train(&known);
        assert_eq!(again.baseline.tensors, made.baseline.tensors, "{kind}");
        assert_eq!(again.test.unwrap().queries, made.test.unwrap().queries);
    }
}

#[test]
fn kinds_without_an_encoder_have_none_to_freeze() {
    for kind in [BaselineKind::Knrm, BaselineKind::ConvKnrm] {
        let frozen = BaselineConfig {
            encoder: EncoderMode::Frozen,
            ..config(kind)
        };
        let refused = frozen.check().unwrap_err();
        assert!(refused.contains("fixed_vectors"), "{refused}");
    }
    assert!(!config(BaselineKind::Bert).is_frozen());
}
