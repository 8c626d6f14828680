//! Trainings of the encoder.

use super::sample::Sample;
use super::{B, Spoilt, Watcher, head, learn, options, picked, ranker};
use crate::learn::{Scores, Source};
use crate::model::{EncoderTensors, HeadTensors, Network, Place, values};
use crate::texts::{Reading, TextSource};
use crate::{Device, EncoderMode, Example, ModelOptions, QueryMode, Step, TrainOptions, Trainer};
use becr_encoder::{Backend, Batch, NativeEncoder, Shape};
use becr_footprint::{
    CompositeQuery, DocumentTokens, Engine, GroupWeight, Kernels, VectorDocument, Workspace,
};
use becr_model::{Centres, Head, Similarity, Weights};
use becr_rank::RankOptions;
use becr_text::pieces::WordPieces;
use std::path::Path;

const DIM: usize = 16;

/// Where vectors are seen from in these tests: documents, then token groups.
const CENTRES: [f32; 2] = [0.1, -0.3];

/// `[layer][vector][dim]`, seen from a centre: for each sequence of ids and a span in it, the mean of its vectors at both kept layers.
fn encoded(
    backend: &NativeEncoder,
    pieces: &WordPieces,
    spans: &[(Vec<u32>, std::ops::Range<usize>)],
    centre: f32,
) -> Vec<f32> {
    let framed = |ids: &[u32]| [&[pieces.special.cls], ids, &[pieces.special.sep]].concat();
    let mut vectors = vec![Vec::new(); 2];
    for (ids, span) in spans {
        let hidden = backend
            .hidden_states(&Batch::from_iter([framed(ids)]))
            .unwrap();
        for (layer, vectors) in vectors.iter_mut().enumerate() {
            let mean = |d: usize| {
                let sum: f32 = span.clone().map(|at| hidden.vector(layer, 1 + at)[d]).sum();
                sum / span.len() as f32 - centre
            };
            vectors.extend((0..DIM).map(mean));
        }
    }
    vectors.concat()
}

/// A network of an encoder and a head.
fn network(sample: &Sample, weights: &Weights, head: &Head, options: &ModelOptions) -> Network<B> {
    let place = Place::single(Default::default());
    let (config, similarity) = (&sample.model.config, Similarity::SumOfCosines);
    let shape = Shape::new(config).unwrap();
    let scale = vec![1.0; head.deep.alpha.iter().flatten().count()];
    let noise = options.noise;
    Network {
        head: HeadTensors::upload(head, &scale, options, &place),
        encoder: Some(EncoderTensors::upload(
            config, weights, shape, similarity, noise, &place,
        )),
        place,
    }
}

/// Texts for the encoder, documents and queries apart.
fn source<'a>(
    sample: &'a Sample,
    head: &Head,
    pieces: &'a WordPieces,
    examples: &'a [Example],
    mode: QueryMode,
    options: &ModelOptions,
) -> TextSource<'a> {
    let (ranker, reading) = (ranker(sample, head), Reading::Apart(mode));
    TextSource::new(
        &sample.store,
        ranker,
        pieces,
        examples,
        reading,
        options,
        40,
    )
}

/// The encoder and the composition in burn against the native encoder and the engine on raw vectors.
#[test]
fn burn_and_engine_agree_on_raw_vectors() {
    let sample = Sample::new();
    let examples = sample.examples(5);
    let options = ModelOptions {
        lexical: Vec::new(),
        document_vector: false,
        ..ModelOptions::default()
    };
    let head = head(&sample, &options);
    let pieces = WordPieces::from_dir(&sample.model.directory).unwrap();
    let config = &sample.model.config;
    let mut weights = sample.model.weights.clone();
    let [documents, groups] = CENTRES.map(|centre| vec![centre; 3 * DIM]);
    weights.centres = Some(Centres { documents, groups });
    let weights = &weights;
    let network = network(&sample, weights, &head, &options);
    let backend = NativeEncoder::new(config, weights.clone()).unwrap();
    for mode in [QueryMode::Decomposed, QueryMode::Whole] {
        let source = source(&sample, &head, &pieces, &examples, mode, &options);
        let found = values(network.scores(&source.batch(&picked(&examples), 7, 0).unwrap()));
        let expected = by_engine(&sample, &head, &examples, &pieces, &backend, mode);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                (found - expected).abs() <= 1e-4 * expected.abs().max(1.0),
                "{mode:?}: {found} {expected}"
            );
        }
    }
}

fn by_engine(
    sample: &Sample,
    head: &Head,
    examples: &[Example],
    pieces: &WordPieces,
    backend: &NativeEncoder,
    mode: QueryMode,
) -> Vec<f32> {
    let kernels = &head.deep.kernels;
    let kernels = Kernels::new(kernels.mu.clone(), kernels.sigma.clone(), kernels.epsilon).unwrap();
    let alpha = head.deep.alpha.concat();
    let (ranker, snapshot) = (ranker(sample, head), sample.store.snapshot().unwrap());
    let (engine, mut work) = (Engine::new().unwrap(), Workspace::new());
    let word = |word: &str| {
        pieces
            .id(word)
            .map_or_else(|| pieces.pieces(word).ids, |id| vec![id])
    };
    let centre = CENTRES[usize::from(mode == QueryMode::Decomposed)];
    let mut scores = Vec::new();
    for picked in picked(examples) {
        let query = ranker
            .query(
                &snapshot,
                &examples[picked.example].query,
                &RankOptions::composed(),
                None,
            )
            .unwrap();
        let (mut spans, mut terms) = (Vec::new(), Vec::new());
        for term in query.terms() {
            let mut uses = Vec::new();
            if mode == QueryMode::Whole {
                let before: usize = query.words()[..term.position]
                    .iter()
                    .map(|w| word(w).len())
                    .sum();
                let ids: Vec<u32> = query.words().iter().flat_map(|w| word(w)).collect();
                spans.push((ids, before..before + word(&term.word).len()));
                uses.push(GroupWeight {
                    group: spans.len() - 1,
                    weight: 1.0,
                });
            } else {
                for used in &term.groups {
                    let words: Vec<Vec<u32>> = used.group.split(' ').map(word).collect();
                    let start = if used.second { words[0].len() } else { 0 };
                    let end = start + words[usize::from(used.second)].len();
                    spans.push((words.concat(), start..end));
                    uses.push(GroupWeight {
                        group: spans.len() - 1,
                        weight: used.weight,
                    });
                }
            }
            terms.push(uses);
        }
        let composite =
            CompositeQuery::from_vectors(DIM, 2, &encoded(backend, pieces, &spans, centre), terms)
                .unwrap();
        let omega: Vec<f32> = query.terms().iter().map(|term| term.weight).collect();
        for document in &picked.documents {
            let text = snapshot.text(document.number).unwrap().unwrap();
            // The sample's encoder takes 38 pieces at a time: longer documents are cut there.
            let mut ids = pieces.document(&text.title, &text.text).pieces.ids;
            ids.truncate(38);
            let spans: Vec<_> = (0..ids.len()).map(|at| (ids.clone(), at..at + 1)).collect();
            let vectors = VectorDocument::new(
                2,
                ids.len(),
                DIM,
                &encoded(backend, pieces, &spans, CENTRES[0]),
            )
            .unwrap();
            let mut sums = vec![0.0; 2 * omega.len() * kernels.len()];
            engine
                .log_sums(
                    &composite,
                    &kernels,
                    &DocumentTokens::Vectors(&vectors),
                    None,
                    &mut work,
                    &mut sums,
                )
                .unwrap();
            // `[layer][term][kernel]`, weighed by α[layer][kernel] and ω[term].
            let weighed = sums.chunks(kernels.len()).enumerate().map(|(i, sums)| {
                let alpha = &alpha[i / omega.len() * kernels.len()..][..kernels.len()];
                let sum: f32 = alpha.iter().zip(sums).map(|(a, s)| a * s).sum();
                omega[i % omega.len()] * sum
            });
            scores.push(weighed.sum());
        }
    }
    scores
}

#[test]
fn an_encoder_learns_with_its_head() {
    let sample = Sample::new();
    let examples = sample.examples(24);
    let validation = sample.validation(&examples[..6]);
    for query in [QueryMode::Decomposed, QueryMode::Whole] {
        let options = TrainOptions {
            steps: 24,
            batch: 4,
            negatives: 3,
            accumulate: 2,
            encoder_rate: 2e-3,
            validate_every: 12,
            weight_decay: 0.01,
            ..options(ModelOptions {
                encoder: EncoderMode::Trained,
                query,
                cls: true,
                noise: 0.1,
                vanilla_steps: 6,
                train_kernels: true,
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
        assert_eq!(watcher.steps.len(), 6 + 24);
        assert!(watcher.notes[0].contains("vanilla"));
        let mean =
            |steps: &[Step]| steps.iter().map(|step| step.loss).sum::<f64>() / steps.len() as f64;
        let (first, last) = (mean(&watcher.steps[6..12]), mean(&watcher.steps[24..]));
        assert!(last < 0.9 * first, "loss {first} became {last}");
        assert_ne!(trained.weights.as_ref(), Some(&sample.model.weights));
        assert_ne!(trained.head.encoder_id, sample.model.encoder_id());
        assert!(trained.head.others.cls.is_some());
        // Asked again, it finds everything done: both stages are read back to the same bits.
        let again = trainer
            .run(&examples, &validation, &options, &mut ())
            .unwrap();
        assert_eq!((again.head, again.weights), (trained.head, trained.weights));
    }
}

/// Documents are tokenised and noise is drawn on all cores: neither may depend on who comes first.
#[test]
fn an_interrupted_encoder_ends_where_it_would_have() {
    let sample = Sample::new();
    let examples = sample.examples(12);
    let options = TrainOptions {
        steps: 8,
        batch: 4,
        negatives: 3,
        encoder_rate: 2e-3,
        validate_every: 3,
        ..options(ModelOptions {
            encoder: EncoderMode::Trained,
            noise: 0.1,
            ..ModelOptions::default()
        })
    };
    let model = &options.model;
    let head = head(&sample, model);
    let pieces = WordPieces::from_dir(&sample.model.directory).unwrap();
    let run = |folder: &Path, fails: Option<usize>, watcher: &mut Watcher| {
        let source = source(
            &sample,
            &head,
            &pieces,
            &examples,
            QueryMode::Decomposed,
            model,
        );
        let network = network(&sample, &sample.model.weights, &head, model);
        let source = Spoilt {
            source: &source,
            fails,
            nan: None,
        };
        learn(network, &source, &examples, &options, folder, watcher)
    };
    let [straight, broken] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let whole = run(straight.path(), None, &mut Watcher::default()).unwrap();
    let error = run(broken.path(), Some(5), &mut Watcher::default()).unwrap_err();
    assert_eq!(error.to_string(), "the power went off");
    let mut resumed = Watcher::default();
    let rest = run(broken.path(), None, &mut resumed).unwrap();
    assert_eq!(rest, whole, "bit for bit");
    assert_eq!(resumed.steps.len(), 5, "{:?}", resumed.notes);
}

/// A query without words has no terms; its documents still have their other features.
#[test]
fn a_query_without_token_groups_has_a_score() {
    let sample = Sample::new();
    let mut examples = sample.examples(1);
    examples[0].query = " ".into();
    let options = ModelOptions {
        encoder: EncoderMode::Trained,
        ..ModelOptions::default()
    };
    let head = head(&sample, &options);
    let pieces = WordPieces::from_dir(&sample.model.directory).unwrap();
    let source = source(
        &sample,
        &head,
        &pieces,
        &examples,
        QueryMode::Decomposed,
        &options,
    );
    let network = network(&sample, &sample.model.weights, &head, &options);
    let scores = values(network.scores(&source.batch(&picked(&examples), 7, 0).unwrap()));
    assert!(scores.iter().all(|score| score.is_finite()), "{scores:?}");
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_gpu_that_is_not_there_is_no_riddle() {
    let sample = Sample::new();
    let folder = tempfile::tempdir().unwrap();
    let trainer = Trainer {
        model: &sample.model,
        store: &sample.store,
        head: None,
        directory: folder.path(),
        test: None,
    };
    let validation = sample.validation(&[]);
    let options = TrainOptions {
        device: Device::Cuda(7),
        ..TrainOptions::default()
    };
    let error = trainer
        .run(&sample.examples(2), &validation, &options, &mut ())
        .unwrap_err();
    assert!(
        error.to_string().contains("--features train,cuda-plain"),
        "{error}"
    );
}
