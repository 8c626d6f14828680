//! `head.json`: written and read whole, refused where it makes no sense.

use becr_model::{
    CompositionWeights, DeepScale, Feature, Feedback, Head, PairFrequency, Proximity, QueryMode,
    QueryVector, ScaleOver, Similarity, TermWeights,
};
use std::path::Path;

fn trained() -> Head {
    let mut head = Head::blank("0123456789abcdef", 2);
    head.deep.alpha[1][10] = 0.1;
    head.deep.alpha[0][3] = -1.0 / 3.0;
    head.deep.term_weights = TermWeights::Idf;
    head.deep.composition.pairs = vec![0.9, 0.7];
    head.deep.document_vector = Some(Feature::plain("document_vector", 2.5));
    head.lexical = vec![
        Feature {
            name: "body_bm25_sum".into(),
            mean: 12.25,
            deviation: 3.1,
            weight: 0.7,
        },
        Feature::plain("first_stage", 1.0),
    ];
    head.others.cls = Some(vec![0.25, -1e-9]);
    head.others.features = vec![Feature::plain("pagerank", 0.2)];
    head.about.insert("trained_on".into(), "a sample".into());
    head
}

#[test]
fn round_trip_keeps_every_number_and_unknown_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.json");
    let mut head = trained();
    head.other.insert("colour".into(), "green".into());
    head.deep.similarity = Similarity::CosineOfSum;
    head.write(&path).unwrap();
    assert_eq!(Head::read(&path).unwrap(), head);
    head.deep.similarity = Similarity::SumOfCosines;
    head.write(&path).unwrap();
    assert_eq!(Head::read(&path).unwrap(), head);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"term_weights\": \"idf\""), "{text}");
    assert!(
        !text.contains("similarity"),
        "the usual one goes without saying: {text}"
    );
    assert!(text.ends_with("}\n"));
}

/// The keys of format 2.
fn list_wise() -> Head {
    let mut head = trained();
    head.mode = Some(QueryMode::Encoded);
    head.deep.query_vector = QueryVector::Whole;
    head.deep.scale = Some(DeepScale {
        over: ScaleOver::List,
        weight: 1.0,
        deviation: 1.5,
    });
    head.pair_frequency = PairFrequency::Words;
    head.proximity = Proximity::Query;
    head.feedback = Some(Feedback {
        neighbours: 3,
        weight: 0.2,
        vector: 0.8,
    });
    head.anchor_weight = Some(0.8);
    head
}

/// A head is written in the lowest format that has its keys.
#[test]
fn formats_go_by_the_keys_that_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.json");
    trained().write(&path).unwrap();
    assert_eq!(Head::read(&path).unwrap().format, 1);
    let text = std::fs::read_to_string(&path).unwrap();
    for key in [
        "mode",
        "query_vector",
        "scale",
        "pair_frequency",
        "proximity",
        "feedback",
        "anchor",
    ] {
        assert!(!text.contains(key), "{key}: {text}");
    }
    let head = list_wise();
    assert!(head.is_list_wise() && !trained().is_list_wise());
    head.write(&path).unwrap();
    let read = Head::read(&path).unwrap();
    assert_eq!(read, Head { format: 2, ..head });
    let text = std::fs::read_to_string(&path).unwrap();
    for written in [
        r#""mode": "encoded""#,
        r#""query_vector": "whole""#,
        r#""over": "list""#,
        r#""pair_frequency": "words""#,
        r#""proximity": "query""#,
    ] {
        assert!(text.contains(written), "{written}: {text}");
    }
    // In format 1 they would be passed over by a program that does not know them.
    let lower = text.replacen("\"format\": 2", "\"format\": 1", 1);
    let error = Head::from_json(lower.as_bytes(), Path::new("head.json")).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("`format` is 1") && said.contains("`mode`"),
        "{said}"
    );
    let misspelt = text.replacen("\"neighbours\"", "\"neighbors\"", 1);
    let error = Head::from_json(misspelt.as_bytes(), Path::new("head.json")).unwrap_err();
    assert!(error.to_string().contains("neighbors"), "{error}");
}

#[test]
fn what_is_left_out_has_its_default() {
    let json = r#"{"format": 1, "encoder_id": "e", "deep": {
        "kernels": {"mu": [0.5], "sigma": [0.1]}, "alpha": [[1.0], [2.0]]}}"#;
    let head = Head::from_json(json.as_bytes(), Path::new("head.json")).unwrap();
    assert_eq!(head.layers(), 2);
    assert_eq!(head.deep.term_weights, TermWeights::Mean);
    assert!(!head.deep.stop_words);
    let CompositionWeights { unigram, pairs } = &head.deep.composition;
    assert_eq!(*unigram, 0.25);
    assert_eq!(*pairs, [1.0, 0.5, 1.0 / 3.0]);
    assert_eq!(head.deep.kernels.epsilon, 1e-10);
    assert!(head.lexical.is_empty() && head.others.cls.is_none());
}

#[test]
fn features_are_standardised() {
    let feature = Feature {
        name: "x".into(),
        mean: 2.0,
        deviation: 4.0,
        weight: 3.0,
    };
    assert_eq!(feature.standardised(4.0), 0.5);
    assert_eq!(feature.contribution(4.0), 1.5);
    assert_eq!(feature.contribution(2.0), 0.0);
}

/// Every refusal names the file and the key.
#[test]
fn nonsense_is_refused_with_its_place() {
    let refused = |key: &str, change: &dyn Fn(&mut Head)| {
        let mut head = trained();
        change(&mut head);
        let error = head
            .check(Path::new("m/head.json"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("m/head.json: "), "{error}");
        assert!(
            error.contains(&format!("`{key}`")),
            "{error} does not name {key}"
        );
    };
    refused("deep.alpha[1]", &|head| head.deep.alpha[1].truncate(4));
    refused("deep.alpha[0]", &|head| head.deep.alpha[0][2] = f32::NAN);
    refused("deep.alpha", &|head| head.deep.alpha.clear());
    refused("deep.kernels", &|head| head.deep.kernels.sigma.truncate(1));
    refused("deep.kernels.sigma[4]", &|head| {
        head.deep.kernels.sigma[4] = 0.0;
    });
    refused("deep.kernels.mu[0]", &|head| {
        head.deep.kernels.mu[0] = f32::INFINITY;
    });
    refused("deep.kernels.epsilon", &|head| {
        head.deep.kernels.epsilon = 0.0;
    });
    refused("deep.composition.unigram", &|head| {
        head.deep.composition.unigram = 0.0;
    });
    refused("deep.composition.pairs", &|head| {
        head.deep.composition.pairs[1] = -0.5;
    });
    refused("deep.document_vector.deviation", &|head| {
        head.deep.document_vector = Some(Feature {
            deviation: 0.0,
            ..Feature::plain("document_vector", 1.0)
        });
    });
    refused("lexical[0].weight", &|head| {
        head.lexical[0].weight = f32::NAN;
    });
    refused("lexical[2].name", &|head| {
        head.lexical.push(head.lexical[1].clone());
    });
    refused("others.features[0].name", &|head| {
        head.others.features[0].name.clear();
    });
    refused("others.cls", &|head| head.others.cls = Some(vec![f32::NAN]));
    refused("deep.scale.deviation", &|head| {
        head.deep.scale = list_wise().deep.scale;
        head.deep.scale.as_mut().unwrap().deviation = 0.0;
    });
    refused("deep.scale.weight", &|head| {
        head.deep.scale = list_wise().deep.scale;
        head.deep.scale.as_mut().unwrap().weight = f32::NAN;
    });
    refused("feedback.neighbours", &|head| {
        head.feedback = list_wise().feedback;
        head.feedback.as_mut().unwrap().neighbours = 0;
    });
    refused("feedback.vector", &|head| {
        head.feedback = list_wise().feedback;
        head.feedback.as_mut().unwrap().vector = f32::INFINITY;
    });
    refused("anchor_weight", &|head| head.anchor_weight = Some(f32::NAN));
    assert!(trained().check(Path::new("head.json")).is_ok());
    assert!(list_wise().check(Path::new("head.json")).is_ok());
}

#[test]
fn other_formats_and_broken_files_are_refused() {
    let read = |json: &str| {
        Head::from_json(json.as_bytes(), Path::new("head.json"))
            .unwrap_err()
            .to_string()
    };
    assert!(read("{\"format\": 7}").contains("`format` is 7"));
    assert!(read("{}").contains("missing"));
    assert!(read("{\"format\": 1").contains("line 1"));
    assert!(read("{\"format\": 1, \"encoder_id\": \"e\"}").contains("deep"));
    let missing = Head::read(Path::new("nowhere/head.json")).unwrap_err();
    assert!(missing.to_string().contains("nowhere/head.json: not found"));
}
