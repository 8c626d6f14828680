//! Each baseline learns on a small index, and ranks by what it learned.

use super::config;
use crate::baseline::directory::Baseline;
use crate::baseline::frozen::Known;
use crate::baseline::options::{BaselineConfig, BaselineKind};
use crate::baseline::train::BaselineJob;
use crate::baseline::vectors::WordTable;
use crate::tests::sample::Sample;
use crate::trainer::run_on;
use crate::{Device, Loss, Observer, Step, TrainOptions, Validation};

#[derive(Default)]
struct Losses(Vec<f64>);

impl Observer for Losses {
    fn step(&mut self, step: &Step) {
        self.0.push(step.loss);
    }
}

/// Words of the sample with learned vectors.
fn table(dimensions: usize) -> WordTable {
    let words = "river bank water boat fish money loan credit market price star planet orbit moon comet bread dough oven";
    WordTable {
        words: words.split(' ').map(str::to_owned).collect(),
        dimensions,
        vectors: Vec::new(),
    }
}

#[test]
fn losses_fall_and_training_goes_on_where_it_stopped() {
    let sample = Sample::new();
    let examples = sample.examples(24);
    let validation = sample.validation(&examples[20..]);
    for (kind, steps, rate) in [
        (BaselineKind::Knrm, 40, 0.3),
        (BaselineKind::ConvKnrm, 30, 0.05),
        (BaselineKind::Bert, 40, 0.02),
        (BaselineKind::CedrKnrm, 20, 0.005),
        (BaselineKind::Colbert, 30, 0.02),
    ] {
        let config = BaselineConfig {
            dimensions: 16,
            max_document_tokens: 48,
            ..config(kind)
        };
        let words = kind.reads_words().then(|| table(16));
        let start = Baseline::start(&config, &sample.model, words, 1).unwrap();
        let options = TrainOptions {
            steps,
            batch: 6,
            negatives: 3,
            rate,
            encoder_rate: 2e-3,
            loss: Loss::Pairwise,
            validate_every: 10,
            patience: 0,
            ..TrainOptions::default()
        };
        let train = |options: &TrainOptions, validation: &Validation, folder: &std::path::Path| {
            let mut losses = Losses::default();
            let job = BaselineJob {
                baseline: &start,
                store: &sample.store,
                examples: &examples[..20],
                validation,
                test: Some(validation),
                options,
                known: &Known::default(),
                directory: folder,
                observer: &mut losses,
            };
            (run_on(Device::Cpu, job).unwrap(), losses.0)
        };
        let folder = tempfile::tempdir().unwrap();
        let (made, losses) = train(&options, &validation, folder.path());
        let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
        let (first, last) = (mean(&losses[..5]), mean(&losses[losses.len() - 5..]));
        assert!(last < 0.9 * first, "{kind}: {first} to {last}: {losses:?}");
        assert_eq!(made.test.unwrap().queries.len(), 4);
        // Asked again, there is nothing left to do, and the weights are the same.
        let (again, none) = train(&options, &validation, folder.path());
        assert!(none.is_empty());
        assert_eq!(again.baseline.tensors, made.baseline.tensors, "{kind}");
        // Another training may go on from what it made, and reads as much of documents as its own configuration says.
        let kept = folder.path().join("kept");
        made.baseline.write(&kept, "tiny").unwrap();
        let more = BaselineConfig {
            max_document_tokens: 40,
            train_document_tokens: Some(24),
            ..config
        };
        let on = Baseline::go_on(&more, &kept).unwrap();
        assert_eq!(on.tensors, made.baseline.tensors, "{kind}");
        assert_eq!(on.config.max_document_tokens, 40);
        assert_eq!(on.config.in_training().max_document_tokens, 24);
        let other = match kind {
            BaselineKind::Knrm => BaselineKind::ConvKnrm,
            _ => BaselineKind::Knrm,
        };
        let refused = Baseline::go_on(&BaselineConfig::new(other), &kept).unwrap_err();
        assert!(refused.to_string().contains("not"), "{refused}");
    }
}
