//! BERT, CEDR-KNRM and ColBERT.

use super::reference::{Parameters, Vector, affine, bert, cosine, matrix, soft_counts};
use super::{DOCUMENTS, QUERIES, VOCABULARY, check, config, model};
use crate::Device;
use crate::baseline::directory::Baseline;
use crate::baseline::options::{BaselineConfig, BaselineKind};
use crate::baseline::rank::{BaselineRanker, QueryTexts};
use becr_encoder::{CrossEncoder, Precision};
use becr_model::Model;

fn id(piece: &str) -> usize {
    VOCABULARY.lines().position(|known| known == piece).unwrap()
}

/// WordPieces: "loans" is two of them, a comma one.
fn pieces(text: &str) -> Vec<usize> {
    let text = text
        .to_lowercase()
        .replace(',', " ,")
        .replace("loans", "loan ##s");
    text.split_whitespace().map(id).collect()
}

fn document(pair: usize) -> Vec<usize> {
    let (title, text) = DOCUMENTS[pair].unwrap();
    [pieces(title), pieces(text)].concat()
}

/// As few pieces as fit, whose lengths differ by at most one.
fn split(document: &[usize], room: usize) -> Vec<Vec<usize>> {
    let count = document.len().div_ceil(room).max(1);
    let ends: Vec<usize> = (0..=count).map(|n| n * document.len() / count).collect();
    let pieces = ends
        .windows(2)
        .map(|ends| document[ends[0]..ends[1]].to_vec());
    pieces.collect()
}

fn mean(vectors: &[Vector]) -> Vector {
    let sum = |at: usize| vectors.iter().map(|vector| vector[at]).sum::<f64>();
    let places = 0..vectors[0].len();
    places.map(|at| sum(at) / vectors.len() as f64).collect()
}

/// The states of `[CLS] query [SEP] piece [SEP]` for every piece, and the number of the query's tokens.
fn joined(parameters: &Parameters, query: usize, pair: usize) -> (Vec<Vec<Vec<Vector>>>, usize) {
    let query = pieces(QUERIES[query]);
    let of_piece = |piece: Vec<usize>| {
        let (cls, sep) = (vec![id("[CLS]")], vec![id("[SEP]")]);
        let ids = [cls, query.clone(), sep.clone(), piece, sep].concat();
        bert(parameters, &ids, query.len() + 2, ids.len())
    };
    let pieces = split(&document(pair), 16 - 3 - query.len());
    (pieces.into_iter().map(of_piece).collect(), query.len())
}

fn cls(states: &[Vec<Vec<Vector>>]) -> Vector {
    let vectors: Vec<Vector> = states.iter().map(|states| states[2][0].clone()).collect();
    mean(&vectors)
}

const ENCODER: [&str; 6] = [
    "embeddings.word",
    "embeddings.position",
    "embeddings.second_type",
    "layer.0.query.weight",
    "layer.1.ffn_out.weight",
    "layer.1.ffn_norm.bias",
];

#[test]
fn bert_is_the_formula() {
    let plain = |parameters: &Parameters, query: usize, pair: usize| {
        let (states, _) = joined(parameters, query, pair);
        affine(parameters, "combine", &cls(&states))[0]
    };
    let learned = [&ENCODER[..], &["combine.weight"]].concat();
    check(&config(BaselineKind::Bert), &learned, &plain);
    let pooled = |parameters: &Parameters, query: usize, pair: usize| {
        let (states, _) = joined(parameters, query, pair);
        let pooled = affine(parameters, "pooler", &cls(&states));
        let pooled: Vector = pooled.iter().map(|x| x.tanh()).collect();
        affine(parameters, "combine", &pooled)[0]
    };
    let with_pooler = BaselineConfig {
        pooler: true,
        ..config(BaselineKind::Bert)
    };
    let learned = [&learned[..], &["pooler.weight", "pooler.bias"]].concat();
    check(&with_pooler, &learned, &pooled);
}

#[test]
fn cedr_knrm_is_the_formula() {
    let reference = |parameters: &Parameters, query: usize, pair: usize| {
        let (states, terms) = joined(parameters, query, pair);
        let mut features = Vec::new();
        for layer in 0..3 {
            let query: Vec<Vector> = (1..1 + terms)
                .map(|at| {
                    let of_pieces: Vec<Vector> = states
                        .iter()
                        .map(|states| states[layer][at].clone())
                        .collect();
                    mean(&of_pieces)
                })
                .collect();
            let document: Vec<Vector> = states
                .iter()
                .flat_map(|states| {
                    let states = &states[layer];
                    states[terms + 2..states.len() - 1].to_vec()
                })
                .collect();
            features.extend(soft_counts(&matrix(&query, &document), 1e-6));
        }
        features.extend(cls(&states));
        affine(parameters, "combine", &features)[0]
    };
    let learned = [&ENCODER[..], &["combine.weight"]].concat();
    check(&config(BaselineKind::CedrKnrm), &learned, &reference);
}

#[test]
fn colbert_is_the_formula() {
    let project = |parameters: &Parameters, x: &Vector| -> Vector {
        let ([inputs, outputs], values) = &parameters["projection"];
        let column = |out: usize| {
            (0..*inputs)
                .map(|at| x[at] * values[at * outputs + out])
                .sum()
        };
        (0..*outputs).map(column).collect()
    };
    let reference = |parameters: &Parameters, query: usize, pair: usize| {
        let mut ids = vec![id("[CLS]"), id("[unused0]")];
        ids.extend(pieces(QUERIES[query]));
        ids.push(id("[SEP]"));
        let seen = ids.len();
        ids.resize(8, id("[MASK]"));
        // It has one token type.
        let query = bert(parameters, &ids, 99, seen).remove(2);
        let query: Vec<Vector> = query.iter().map(|x| project(parameters, x)).collect();
        let mut tokens = Vec::new();
        for piece in split(&document(pair), 16 - 3) {
            let ids = [vec![id("[CLS]"), id("[unused1]")], piece, vec![id("[SEP]")]].concat();
            let states = bert(parameters, &ids, 99, ids.len()).remove(2);
            let kept = ids.iter().zip(states).filter(|(at, _)| **at != id(","));
            tokens.extend(kept.map(|(_, x)| project(parameters, &x)));
        }
        let best = |term: &Vector| {
            let similarities = tokens.iter().map(|token| cosine(term, token));
            similarities.fold(f64::MIN, f64::max)
        };
        query.iter().map(best).sum()
    };
    let learned = [
        "projection",
        "embeddings.word",
        "layer.0.query.weight",
        "layer.1.ffn_out.weight",
    ];
    check(&config(BaselineKind::Colbert), &learned, &reference);
}

/// With a pooler, the directory is a sequence classifier: both re-rankers give the same scores.
#[test]
fn the_cross_encoder_that_serves_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let with_pooler = BaselineConfig {
        pooler: true,
        ..config(BaselineKind::Bert)
    };
    let baseline = super::baseline(&with_pooler, &model(folder.path()));
    let out = folder.path().join("bert");
    baseline.write(&out, "x").unwrap();
    let documents = [
        ("river", "bank of money"),
        ("", "loans, of river"),
        ("", ""),
    ];
    let cross = CrossEncoder::of_model(Model::read(&out).unwrap(), Precision::F32).unwrap();
    let served = cross.scores("river bank", &documents).unwrap();
    assert_eq!(served.cut, 0);
    let ranker = BaselineRanker::open(&out, Device::Cpu).unwrap();
    let texts = QueryTexts {
        query: "river bank".into(),
        documents: documents.map(|(a, b)| (a.into(), b.into())).to_vec(),
    };
    let scores = ranker.scores(1, &mut |_| Ok(texts.clone())).unwrap();
    for (a, b) in served.scores.iter().zip(&scores[0]) {
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
    assert_ne!(scores[0][0], scores[0][1]);
}

#[test]
fn a_directory_with_a_fault_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let told = |path: &std::path::Path| Baseline::read(path).unwrap_err().to_string();
    assert!(told(folder.path()).contains("expected the directory of a baseline"));
    let baseline = super::baseline(&config(BaselineKind::Knrm), &model(folder.path()));
    let out = folder.path().join("knrm");
    baseline.write(&out, "x").unwrap();
    assert_eq!(Baseline::read(&out).unwrap().tensors, baseline.tensors);
    std::fs::write(out.join("words.txt"), "river\n").unwrap();
    let error = told(&out);
    assert!(
        error.contains("vectors is") && error.contains("expected F32"),
        "{error}"
    );
    std::fs::write(out.join("baseline.json"), "{}").unwrap();
    assert!(told(&out).contains("baseline.json"));
    let mut one_type = model(folder.path());
    one_type.config.type_vocab_size = 1;
    let refused = Baseline::start(&config(BaselineKind::Bert), &one_type, None, 1);
    assert!(refused.unwrap_err().to_string().contains("token types"));
}
