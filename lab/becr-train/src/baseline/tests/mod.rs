//! Every network against a plain reference in 64-bit numbers: its scores, and the gradients of everything it learns
//! against central differences of the reference.

mod bert;
mod frozen;
mod reference;
mod training;
mod words;

use super::directory::{Baseline, Tensors};
use super::network::BaselineNetwork;
use super::options::{BaselineConfig, BaselineKind};
use super::reader::TextReader;
use super::vectors::WordTable;
use crate::batch::Batch;
use crate::learn::Scores;
use crate::model::tests::double;
use crate::model::{Learned, Place};
use crate::random::Random;
use becr_model::{Config, Model, Storage, Weights};
use burn::backend::{Autodiff, Flex};
use burn::tensor::{Tensor, TensorData};
use reference::Parameters;
use std::fs;
use std::path::Path;

type B = Autodiff<Flex>;

const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n[unused0]\n[unused1]\nriver\nbank\nmoney\nloan\n##s\n,\nof\n";

/// A BERT of two layers with 16 positions.
fn model(folder: &Path) -> Model {
    let config = Config::new(VOCABULARY.lines().count(), 12, 2, 3, 16, 16);
    config.write(&folder.join("config.json")).unwrap();
    fs::write(folder.join("vocab.txt"), VOCABULARY).unwrap();
    let weights = Weights::random(&config, 5, 12.0);
    weights
        .write(&folder.join("model.safetensors"), Storage::F32)
        .unwrap();
    Model::read(folder).unwrap()
}

fn table(dimensions: usize) -> WordTable {
    let words = ["river", "bank", "money", "loan", "of"].map(String::from);
    let mut random = Random::new(4, &[]);
    WordTable {
        vectors: (0..words.len() * dimensions)
            .map(|_| random.normal())
            .collect(),
        words: words.to_vec(),
        dimensions,
    }
}

/// A baseline whose tensors are all random: a layer of zeros would hide what is before it.
fn baseline(config: &BaselineConfig, model: &Model) -> Baseline {
    let words = config.kind.reads_words().then(|| table(config.dimensions));
    let mut baseline = Baseline::start(config, model, words, 1).unwrap();
    let mut random = Random::new(3, &[]);
    let size = if config.kind.reads_words() { 0.5 } else { 0.3 };
    let tensors: &mut Tensors = &mut baseline.tensors;
    tensors
        .values_mut()
        .filter(|value| **value == 0.0)
        .for_each(|value| *value = size * random.normal());
    baseline
}

const QUERIES: [&str; 2] = ["river bank", "Money of loans"];

/// Three documents for each query: one longer than a sequence, one with punctuation, one that is not there.
const DOCUMENTS: [Option<(&str, &str)>; 6] = [
    Some(("river", "bank of river, bank")),
    Some(("", "money")),
    Some((
        "",
        "loan of money of loan river of bank of river of bank loan loan money of river bank",
    )),
    Some(("money", "")),
    Some(("loans", "river, of, money")),
    None,
];

fn batch(baseline: &Baseline) -> Batch {
    let reader = TextReader::new(baseline).unwrap();
    Batch {
        ids: QUERIES.map(String::from).to_vec(),
        candidates: 3,
        present: DOCUMENTS.iter().map(Option::is_some).collect(),
        features: Vec::new(),
        fixed: Vec::new(),
        deep: reader.read(&QUERIES, &DOCUMENTS, 3),
    }
}

/// Compares the scores of the documents that are there, and the gradients of a weighted sum of them.
fn check(
    config: &BaselineConfig,
    expected: &[&str],
    reference: &dyn Fn(&Parameters, usize, usize) -> f64,
) {
    let folder = tempfile::tempdir().unwrap();
    let baseline = baseline(config, &model(folder.path()));
    let place: Place<B> = double();
    let mut network = BaselineNetwork::upload(&baseline, &place).unwrap();
    network.visit(&mut |parameter| {
        *parameter.value = parameter.value.clone().detach().require_grad();
    });
    let mut parameters = Parameters::new();
    network.visit(&mut |parameter| {
        let values = parameter.value.clone().into_data().iter::<f64>().collect();
        parameters.insert(parameter.name.to_owned(), (parameter.value.dims(), values));
    });
    let fixed = table(config.dimensions);
    parameters.entry("vectors".into()).or_insert_with(|| {
        let padding = vec![0.0; config.dimensions];
        let values = padding
            .into_iter()
            .chain(fixed.vectors.iter().map(|x| f64::from(*x)));
        ([1 + fixed.words.len(), config.dimensions], values.collect())
    });
    let pairs: Vec<(usize, usize)> = (0..6)
        .filter(|&pair| DOCUMENTS[pair].is_some())
        .map(|pair| (pair / 3, pair))
        .collect();
    let weight = |pair: usize| [0.7, -1.3, 0.4, 1.1, -0.6, 0.0][pair];
    let sum = |parameters: &Parameters| -> f64 {
        let scores = pairs
            .iter()
            .map(|&(query, pair)| weight(pair) * reference(parameters, query, pair));
        scores.sum()
    };

    let scores = network.scores(&batch(&baseline));
    let found: Vec<f64> = scores.clone().into_data().iter::<f64>().collect();
    let own: Vec<f64> = pairs
        .iter()
        .map(|&(query, pair)| reference(&parameters, query, pair))
        .collect();
    for (&(_, pair), own) in pairs.iter().zip(&own) {
        let error = (found[pair] - own).abs();
        assert!(
            error < 1e-9 * own.abs().max(1.0),
            "document {pair}: {} and {own}",
            found[pair]
        );
    }
    let spread = own
        .iter()
        .fold(0.0f64, |most, x| most.max((x - own[0]).abs()));
    assert!(spread > 1e-3, "all documents are alike: {own:?}");

    let weights: Vec<f64> = (0..6).map(weight).collect();
    let weights = TensorData::new(weights, [2, 3]);
    let weights = Tensor::<B, 2>::from_data(weights, (&place.device, place.dtype));
    let gradients = (scores * weights).sum().backward();
    let mut compared = Vec::new();
    network.visit(&mut |parameter| {
        let name = parameter.name.to_owned();
        let gradient = parameter.value.grad(&gradients);
        let Some(gradient) = gradient else {
            return;
        };
        let gradient: Vec<f64> = gradient.into_data().iter::<f64>().collect();
        let largest = gradient.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        assert!(
            largest > 1e-9 || !expected.contains(&name.as_str()),
            "{name} has no gradient"
        );
        let step = 1e-5;
        for element in (0..gradient.len()).step_by((gradient.len() / 5).max(1)) {
            let moved = |by: f64| {
                let mut moved = parameters.clone();
                if let Some((_, values)) = moved.get_mut(&name) {
                    values[element] += by;
                }
                sum(&moved)
            };
            let difference = (moved(step) - moved(-step)) / (2.0 * step);
            let error = (gradient[element] - difference).abs();
            assert!(
                error < 1e-4 * difference.abs() + 1e-6 * largest + 1e-8,
                "{name}[{element}]: {} by backward, {difference} by the reference",
                gradient[element]
            );
        }
        compared.push(name);
    });
    for name in expected {
        assert!(
            compared.iter().any(|found| found == name),
            "{name} is not learned: {compared:?}"
        );
    }
}

fn config(kind: BaselineKind) -> BaselineConfig {
    BaselineConfig {
        dimensions: 6,
        filters: 5,
        projection: 4,
        query_tokens: 8,
        ..BaselineConfig::new(kind)
    }
}
