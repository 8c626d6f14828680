//! Gradients against central differences in 64-bit numbers, and the ways to compute a score against one another.

use super::bins::{self, BINS};
use super::{EncoderTensors, HeadTensors, Learned, Network, Place, Vanilla, values};
use crate::batch::{
    Batch, Deep, Histograms, Joined, Pooled, Sequences, Split, Terms, Texts, Tokens,
};
use crate::learn::{Gradients, Scores};
use crate::random::Random;
use crate::{Loss, ModelOptions};
use becr_encoder::{Centre, Shape};
use becr_model::{Centres, Config, Feature, Head, Layers, Settings, Similarity, Weights};
use burn::backend::{Autodiff, Flex};
use burn::tensor::{DType, Tensor, TensorData};

type B = Autodiff<Flex>;

const LAYERS: usize = 2;
const KERNELS: usize = 4;
const QUERIES: usize = 2;
const CANDIDATES: usize = 3;
const TERMS: usize = 2;
const GROUPS: usize = 4;
const TOKENS: usize = 5;
const FEATURES: usize = 3;

pub(crate) fn double() -> Place<B> {
    Place {
        device: Default::default(),
        dtype: DType::F64,
    }
}

fn head(random: &mut Random) -> Head {
    let mut head = Head::blank("tiny", LAYERS);
    let kernels = &mut head.deep.kernels;
    kernels.mu = vec![-0.5, 0.1, 0.5, 1.0];
    kernels.sigma = vec![0.3, 0.2, 0.25, 0.15];
    let feature = |name: &str, random: &mut Random| Feature {
        mean: 0.2,
        deviation: 0.5,
        ..Feature::plain(name, random.normal())
    };
    let mut row = || (0..KERNELS).map(|_| random.normal()).collect();
    head.deep.alpha = (0..LAYERS).map(|_| row()).collect();
    head.deep.document_vector = Some(feature("document_vector", random));
    head.lexical = vec![feature("a", random), feature("b", random)];
    head.others.features = vec![feature("c", random)];
    head
}

fn batch(deep: Deep, random: &mut Random) -> Batch {
    Batch {
        ids: vec!["1".into(), "2".into()],
        candidates: CANDIDATES,
        present: vec![true, true, true, true, true, false],
        features: (0..QUERIES * CANDIDATES * FEATURES)
            .map(|_| random.normal())
            .collect(),
        fixed: Vec::new(),
        deep,
    }
}

fn network(head: &Head, options: &ModelOptions) -> Network<B> {
    let scale: Vec<f32> = (0..LAYERS * KERNELS)
        .map(|i| 0.5 + 0.3 * i as f32)
        .collect();
    let place = double();
    Network {
        head: HeadTensors::upload(head, &scale, options, &place),
        encoder: None,
        place,
    }
}

fn everything() -> ModelOptions {
    ModelOptions {
        train_kernels: true,
        ..ModelOptions::default()
    }
}

fn pooled(random: &mut Random) -> Deep {
    let pairs = QUERIES * CANDIDATES;
    Deep::Pooled(Pooled {
        log_sums: (0..pairs * LAYERS * KERNELS)
            .map(|_| random.normal())
            .collect(),
        document_vector: (0..pairs).map(|_| random.normal()).collect(),
    })
}

fn histograms(random: &mut Random) -> Deep {
    let pairs: Vec<i32> = vec![0, 0, 1, 1, 2, 2, 3, 4, 5];
    let mut bins = vec![0.0; pairs.len() * LAYERS * BINS];
    for row in bins.chunks_exact_mut(BINS) {
        let similarities: Vec<f32> = (0..TOKENS).map(|_| random.normal() * 0.4).collect();
        bins::add(&similarities, row);
    }
    Deep::Histograms(Histograms {
        bins,
        weights: pairs.iter().map(|_| random.normal().abs()).collect(),
        pairs,
        document_vector: (0..QUERIES * CANDIDATES).map(|_| random.normal()).collect(),
    })
}

/// Every gradient of the loss, element by element, next to the central difference.
pub(crate) fn check_gradients(
    network: &mut (impl Scores<B> + Clone),
    batch: &Batch,
    loss: Loss,
    expected: &[&str],
) {
    let place = double();
    let value = |network: &dyn Scores<B>| -> f64 {
        let loss = loss.of(network.scores(batch), batch, &place);
        loss.into_data().iter::<f64>().sum()
    };
    let mut shapes = Vec::new();
    network.visit(&mut |parameter| {
        *parameter.value = parameter.value.clone().detach().require_grad();
        shapes.push((parameter.name.to_owned(), parameter.value.dims()));
    });
    let names: Vec<&str> = shapes.iter().map(|(name, _)| name.as_str()).collect();
    for name in expected {
        assert!(
            names.contains(name),
            "{name} is not learned, only {names:?}"
        );
    }
    let mut gradients = Gradients::new();
    let loss = loss.of(network.scores(batch), batch, &place);
    gradients.add(network, &loss);
    let step = 1e-5;
    for (at, (name, shape)) in shapes.iter().enumerate() {
        let found: Vec<f64> = gradients.list()[at]
            .clone()
            .into_data()
            .iter::<f64>()
            .collect();
        // The largest one counts as the size of the gradient: what is far smaller drowns in rounding.
        let largest = found.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        // Some must be 0: a key's bias moves all attention scores alike, which softmax does not see.
        assert!(
            largest > 1e-9 || !expected.contains(&name.as_str()),
            "{name} has no gradient"
        );
        // Some elements of a large matrix tell as much as all of them.
        let stride = (found.len() / 8).max(1);
        for element in (0..found.len()).step_by(stride) {
            let moved = |by: f64| {
                let mut values = vec![0.0f64; found.len()];
                values[element] = by;
                let change = Tensor::<B, 2>::from_data(
                    TensorData::new(values, *shape),
                    (&place.device, place.dtype),
                );
                let mut moved = network.clone();
                let mut index = 0;
                moved.visit(&mut |parameter| {
                    if index == at {
                        *parameter.value = parameter.value.clone().detach() + change.clone();
                    }
                    index += 1;
                });
                value(&moved)
            };
            let expected = (moved(step) - moved(-step)) / (2.0 * step);
            let error = (found[element] - expected).abs();
            assert!(
                error <= 1e-3 * expected.abs() + 1e-6 * largest + 1e-9,
                "{name}[{element}]: {} by backward, {expected} by difference",
                found[element]
            );
        }
    }
}

#[test]
fn gradients_are_those_of_central_differences() {
    let mut random = Random::new(1, &[]);
    let head = head(&mut random);
    let linear = ["alpha", "features", "document_vector"];
    let kernels = [&linear[..], &["mu", "sigma"]].concat();
    let cases = [
        (pooled(&mut random), ModelOptions::default(), &linear[..]),
        (histograms(&mut random), everything(), &kernels),
    ];
    for (deep, options, expected) in cases {
        let batch = batch(deep, &mut random);
        for loss in [Loss::Softmax, Loss::Pairwise] {
            check_gradients(&mut network(&head, &options), &batch, loss, expected);
        }
    }
}

/// Two queries, one of them in two words of which one has two pieces; documents of different lengths.
fn texts() -> Texts {
    let sequences = |length: usize, rows: &[&[i32]]| Sequences {
        length,
        ids: rows
            .iter()
            .flat_map(|row| (0..length).map(|at| row.get(at).copied().unwrap_or(0)))
            .collect(),
        tokens: rows.iter().map(|row| row.len()).collect(),
        second: Vec::new(),
        states: Vec::new(),
    };
    // [query][term][group][kind]: the first query has a word, a pair, and a word again; the second one word.
    let mut shares = vec![0.0; QUERIES * TERMS * GROUPS * 4];
    for (query, term, group, kind) in [
        (0, 0, 0, 0),
        (0, 0, 1, 1),
        (0, 1, 2, 1),
        (0, 1, 3, 0),
        (1, 0, 0, 0),
    ] {
        shares[((query * TERMS + term) * GROUPS + group) * 4 + kind] = 1.0;
    }
    let groups = sequences(
        6,
        &[&[2, 5, 3], &[2, 5, 6, 7, 3], &[2, 6, 7, 3], &[2, 8, 3], &[]],
    );
    let spans: [&[usize]; QUERIES * GROUPS] =
        [&[1], &[7], &[8, 9], &[13, 14], &[19], &[], &[], &[]];
    let cells = |of: fn(&[usize], usize) -> f32| -> Vec<f32> {
        (spans.iter())
            .flat_map(|span| (0..2).map(move |at| of(span, at)))
            .collect()
    };
    let places = cells(|span, at| span.get(at).copied().unwrap_or(0) as f32);
    let documents: [&[i32]; QUERIES * CANDIDATES] = [
        &[2, 5, 6, 7, 3],
        &[2, 9, 10, 3],
        &[2, 7, 3],
        &[2, 8, 8, 5, 9, 3],
        &[2, 10, 11, 3],
        &[2, 3],
    ];
    let documents = sequences(6, &documents);
    let valid = documents
        .tokens
        .iter()
        .flat_map(|&tokens| (0..6).map(move |at| f32::from(u8::from(at > 0 && at + 1 < tokens))));
    Texts {
        terms: Terms {
            terms: TERMS,
            groups: GROUPS,
            shares,
            weights: vec![0.7, 0.3, 1.0, 0.0],
        },
        groups,
        centre: Centre::Groups,
        pieces: 2,
        places: places.iter().map(|place| *place as i32).collect(),
        piece_weights: cells(|span, at| {
            if at < span.len() {
                1.0 / span.len() as f32
            } else {
                0.0
            }
        }),
        valid: valid.collect(),
        documents,
        split: None,
        noise: Some(7),
    }
}

fn encoder(similarity: Similarity, noise: f32) -> EncoderTensors<B> {
    let mut config = Config::new(12, 8, 2, 2, 10, 6);
    config.becr = Some(Settings {
        layers: Layers::Chosen(vec![0, 2]),
        ..Settings::default()
    });
    let mut weights = Weights::random(&config, 5, 12.0);
    weights.centres = Some(Centres {
        documents: vec![0.1; 3 * 8],
        groups: vec![-0.2; 3 * 8],
    });
    let shape = Shape::new(&config).unwrap();
    EncoderTensors::upload(&config, &weights, shape, similarity, noise, &double())
}

#[test]
fn gradients_reach_the_embeddings() {
    let mut random = Random::new(8, &[]);
    let mut head = head(&mut random);
    head.others.cls = Some((0..8).map(|_| random.normal()).collect());
    let options = ModelOptions {
        cls: true,
        ..everything()
    };
    let expected = [
        "alpha",
        "cls",
        "document_vector",
        "sigma",
        "embeddings.word",
        "embeddings.position",
        "layer.0.query.weight",
        "layer.1.ffn_norm.bias",
    ];
    let batch = batch(Deep::Texts(Box::new(texts())), &mut random);
    for (similarity, noise, loss) in [
        (Similarity::SumOfCosines, 0.0, Loss::Softmax),
        (Similarity::SumOfCosines, 0.1, Loss::Pairwise),
        (Similarity::CosineOfSum, 0.0, Loss::Softmax),
    ] {
        let mut network = network(&head, &options);
        network.encoder = Some(encoder(similarity, noise));
        check_gradients(&mut network, &batch, loss, &expected);
    }
}

/// Documents in pieces: the first sequences are two halves of one document, and the others go one to each pair.
#[test]
fn gradients_through_documents_in_pieces() {
    let mut random = Random::new(12, &[]);
    let mut head = head(&mut random);
    head.others.cls = Some((0..8).map(|_| random.normal()).collect());
    let mut texts = texts();
    let (pairs, length) = (QUERIES * CANDIDATES, texts.documents.length);
    let of_pair = |pair: usize| if pair == 0 { vec![0, 1] } else { vec![pair] };
    let mut shares = vec![0.0; pairs * pairs];
    let mut rows = Vec::new();
    for pair in 0..pairs {
        let pieces = of_pair(pair);
        let mut places = Vec::new();
        for &row in &pieces {
            shares[pair * pairs + row] = 1.0 / pieces.len() as f32;
            let inner = 1..texts.documents.tokens[row].saturating_sub(1);
            places.extend(inner.map(|at| (row * length + at, 1.0)));
        }
        rows.push(places);
    }
    let tokens = Tokens::of(&rows, 4);
    texts.valid = tokens.valid.clone();
    texts.split = Some(Split { shares, tokens });
    let options = ModelOptions {
        cls: true,
        ..everything()
    };
    let batch = batch(Deep::Texts(Box::new(texts)), &mut random);
    let mut network = network(&head, &options);
    network.encoder = Some(encoder(Similarity::SumOfCosines, 0.0));
    let expected = ["alpha", "cls", "embeddings.word", "layer.1.ffn_norm.bias"];
    check_gradients(&mut network, &batch, Loss::Softmax, &expected);
}

#[test]
fn gradients_of_the_vanilla_ranker() {
    let mut random = Random::new(9, &[]);
    let texts = texts();
    // The first two sequences are pieces of one document.
    let (pairs, sequences) = (QUERIES * CANDIDATES, texts.documents.tokens.len());
    let mut shares = vec![0.0; pairs * sequences];
    (shares[0], shares[1]) = (0.5, 0.5);
    (1..pairs).for_each(|pair| shares[pair * sequences + pair] = 1.0);
    let joined = Joined {
        sequences: texts.documents.with_second(vec![2; sequences]),
        shares,
    };
    let batch = batch(Deep::Joined(joined), &mut random);
    let config = Config::new(12, 8, 2, 2, 10, 6);
    let weights = Weights::random(&config, 5, 12.0);
    let encoder = encoder(Similarity::SumOfCosines, 0.0).with_second_type(&weights, &double());
    let mut vanilla = Vanilla::new(encoder, 8, double());
    // A linear layer of zeros has gradients, but lets none through.
    vanilla.visit(&mut |parameter| {
        if parameter.name == "linear" {
            *parameter.value = parameter.value.clone().add_scalar(0.5);
        }
    });
    check_gradients(
        &mut vanilla,
        &batch,
        Loss::Softmax,
        &[
            "linear",
            "embeddings.word",
            "embeddings.second_type",
            "layer.1.value.weight",
        ],
    );
}

/// Pools similarities in plain code, and lays them out both as sums and as histograms.
#[test]
fn all_inputs_give_the_same_scores() {
    let mut random = Random::new(2, &[]);
    let head = head(&mut random);
    let kernels = &head.deep.kernels;
    let mut pooled = Pooled::default();
    let mut histograms = Histograms::default();
    for pair in 0..QUERIES * CANDIDATES {
        let mut sums = vec![0.0; LAYERS * KERNELS];
        // The second query has one term only.
        let weights: &[f32] = if pair < CANDIDATES {
            &[0.7, 0.3]
        } else {
            &[1.0]
        };
        for &weight in weights {
            for layer in 0..LAYERS {
                let mut similarity = |_| (random.normal() * 0.4).clamp(-0.99, 0.99);
                let tokens: Vec<f32> = (0..3 + pair % 2).map(&mut similarity).collect();
                let mut row = vec![0.0; BINS];
                bins::add(&tokens, &mut row);
                histograms.bins.extend(row);
                for (k, sum) in sums[layer * KERNELS..][..KERNELS].iter_mut().enumerate() {
                    let (mu, sigma) = (kernels.mu[k], kernels.sigma[k]);
                    let kernel = |c: &f32| (-0.5 * ((c - mu) / sigma).powi(2)).exp();
                    *sum += weight * (1e-10 + tokens.iter().map(kernel).sum::<f32>()).ln();
                }
            }
            histograms.weights.push(weight);
            histograms.pairs.push(pair as i32);
        }
        let vector = random.normal();
        pooled.log_sums.extend(sums);
        pooled.document_vector.push(vector);
        histograms.document_vector.push(vector);
    }
    let network = network(&head, &everything());
    let mut batch = batch(Deep::Pooled(pooled), &mut random);
    let scores =
        |batch: &Batch| -> Vec<f64> { network.scores(batch).into_data().iter::<f64>().collect() };
    let expected = scores(&batch);
    batch.deep = Deep::Histograms(histograms);
    for (found, expected) in scores(&batch).iter().zip(&expected) {
        assert!(
            (found - expected).abs() <= 1e-4 * expected.abs(),
            "{found} {expected}"
        );
    }
}

#[test]
fn a_head_comes_back_as_it_went() {
    let head = head(&mut Random::new(3, &[]));
    let mut back = head.clone();
    network(&head, &everything()).head.download(&mut back);
    let pairs = head
        .deep
        .alpha
        .iter()
        .flatten()
        .zip(back.deep.alpha.iter().flatten());
    for (before, after) in pairs {
        assert!((before - after).abs() <= 1e-6 * before.abs());
    }
    assert_eq!(head.lexical, back.lexical);
    assert_eq!(head.deep.document_vector, back.deep.document_vector);
    assert_eq!(head.deep.kernels, back.deep.kernels);
}

#[test]
fn a_head_without_features_comes_back() {
    let nothing = TensorData::new(Vec::<f32>::new(), [0]);
    let nothing = Tensor::<Flex, 1>::from_data(nothing, &Default::default());
    assert!(values(nothing).is_empty());
}
