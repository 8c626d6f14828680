//! Searching and re-ranking, in both ways to read a query.

use super::*;

#[test]
fn candidates_of_any_engine_are_ranked_and_unknown_ones_told_of() {
    let (_folder, _, index) = built(10);
    let candidates = [
        Candidate::new("d3", 2.0),
        Candidate::new("nowhere", 9.0),
        Candidate::unscored("d4"),
    ];
    let answer = index
        .rerank("river bank", &candidates, &RankOptions::default())
        .unwrap();
    assert_eq!(
        (answer.order.len(), answer.unknown.as_slice()),
        (2, &[1][..])
    );
    let all: Vec<(usize, f32)> = answer.with_unknown().collect();
    assert_eq!(all.len(), 3);
    assert_eq!(all[2].0, 1);
    assert!(all.is_sorted_by(|a, b| a.1 > b.1));
    let none = index.rerank("river", &[], &RankOptions::default()).unwrap();
    assert!(none.order.is_empty() && none.unknown.is_empty());
}

#[test]
fn both_ways_to_read_a_query_work_and_contradictions_are_refused() {
    let (_folder, _, index) = built(10);
    let search = |rank: RankOptions| {
        let options = SearchOptions {
            rank: Some(rank),
            details: Details {
                title: true,
                reasons: true,
                snippet: true,
            },
            ..SearchOptions::default()
        };
        index.search("river bank", &options)
    };
    for mode in QueryMode::ALL.map(Some) {
        let composite = RankOptions {
            mode,
            ..RankOptions::default()
        };
        let answer = search(composite).unwrap();
        let first = &answer.results[0];
        let snippet = first.snippet.as_ref().unwrap();
        assert!(!snippet.text.is_empty() && first.title.is_some());
        assert!(!first.reasons.as_ref().unwrap().0.is_empty());
        let one_vector = RankOptions {
            scorer: Scorer::OneVector,
            ..composite
        };
        let answer = search(one_vector).unwrap();
        assert!(answer.results[0].parts.is_some());
    }
    let ablation = RankOptions {
        mode: Some(QueryMode::Encoded),
        variant: Variant::NoPairs,
        ..RankOptions::default()
    };
    let weight = RankOptions {
        weight: Some(0.5),
        ..RankOptions::default()
    };
    for contradiction in [ablation, weight] {
        let refused = search(contradiction).err().unwrap();
        assert!(matches!(refused, Error::Options(_)), "{refused}");
    }
}

#[test]
fn a_mixer_comes_along_with_the_model_and_mixes_composed_queries() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("model");
    let mut config = Config::new(14, 16, 2, 2, 24, 40);
    config.becr = Some(Settings {
        layers: Layers::Last,
        relative: true,
        ..Settings::default()
    });
    let plain = model_of(&directory, &config);
    let shape = MixerShape {
        kind: MixerKind::PreNorm,
        hidden: 16,
        layers: 1,
        feed_forward: 24,
        heads: 2,
        positions: 4,
    };
    let mixer = |encoder: String| {
        let mut mixer = MixerWeights::new(shape, encoder, 5);
        for (number, value) in mixer.values_mut().into_iter().flatten().enumerate() {
            *value += ((number * 37 % 101) as f32 - 50.0) / 250.0;
        }
        mixer
    };
    let score = |index: &Index, variant: Variant| {
        let rank = RankOptions {
            variant,
            ..RankOptions::default()
        };
        let ids = ["d1", "d2", "d3"].map(Candidate::unscored);
        let answer = index.rerank("river bank loan", &ids, &rank).unwrap();
        answer.with_unknown().collect::<Vec<(usize, f32)>>()
    };
    let build = |name: &str, model: &Model| {
        let path = folder.path().join(name);
        // The same groups for both, which models with and without a mixer would not choose by themselves.
        let build = Build::new().model(model.clone()).rules(Rules::default());
        let (index, _) = build.run(&path, documents(0..20), &()).unwrap();
        (path, index)
    };
    let (_, without) = build("without", &plain);
    let expected = score(&without, Variant::Becr);

    mixer(plain.encoder_id())
        .write(&directory.join(MIXER_FILE), Storage::I8)
        .unwrap();
    let model = Model::read(&directory).unwrap();
    let (path, with) = build("with", &model);
    assert!(path.join("model").join(MIXER_FILE).is_file());
    assert!(with.verify().unwrap().problems.is_empty());
    assert_eq!(score(&with, Variant::Plain), expected);
    assert_ne!(score(&with, Variant::Becr), expected);
    let again = Index::open(&path).unwrap();
    assert_eq!(score(&again, Variant::Becr), score(&with, Variant::Becr));

    let other = mixer("another".into());
    let (path, _) = build(
        "other",
        &Model {
            mixer: Some(other),
            ..model
        },
    );
    let opened = Index::open(&path).unwrap();
    let refused = opened.rerank("river", &[], &RankOptions::default()).err();
    let message = refused.unwrap().to_string();
    assert!(
        message.contains("mixer.safetensors") && message.contains("another"),
        "{message}"
    );
}

/// An index for encoded queries alone: no token groups, one pass over the documents, and composed queries refused.
#[test]
fn an_index_for_encoded_queries_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let model = model(&folder.path().join("model"));
    let build = || Build::new().model(model.clone()).mode(QueryMode::Encoded);
    let (index, summary) = build().run(&path, documents(0..20), &()).unwrap();
    assert_eq!((summary.documents, summary.groups), (20, 0));
    assert_eq!(index.stats().unwrap().mode, Some(QueryMode::Encoded));
    let asked = RankOptions::default();
    assert_eq!(index.query_mode(&asked).unwrap(), QueryMode::Encoded);
    let encoded = index
        .search("river bank", &SearchOptions::default())
        .unwrap();
    assert!(encoded.results[0].parts.unwrap().deep != 0.0);
    let composed = RankOptions {
        mode: Some(QueryMode::Composed),
        ..asked
    };
    let ablation = RankOptions {
        variant: Variant::NoPairs,
        ..asked
    };
    for options in [composed, ablation] {
        let refused = index.rerank("river", &[Candidate::new("d1", 1.0)], &options);
        assert!(matches!(refused.err().unwrap(), Error::EncodedOnly(at) if at == path));
    }
    // The same as an index for both gives to an encoded query.
    let both = folder.path().join("both");
    let build_both = Build::new().model(model.clone());
    let (both, _) = build_both.run(&both, documents(0..20), &()).unwrap();
    assert_eq!(both.query_mode(&asked).unwrap(), QueryMode::Composed);
    let options = SearchOptions {
        rank: Some(RankOptions {
            mode: Some(QueryMode::Encoded),
            ..asked
        }),
        ..SearchOptions::default()
    };
    // But for the frequencies of pairs, which this head does not use.
    assert_eq!(
        both.search("river bank", &options).unwrap().results,
        encoded.results
    );
    index.add(documents(20..25), Existing::Refuse, &()).unwrap();
    index.compact(&()).unwrap();
    assert_eq!(index.query_mode(&asked).unwrap(), QueryMode::Encoded);
    assert!(index.verify().unwrap().problems.is_empty());
    let contradiction = build()
        .query_log(vec!["river bank".into()])
        .overwrite(true)
        .run(&path, documents(0..5), &());
    assert!(matches!(
        contradiction.err().unwrap(),
        Error::Index(IndexError::NoTokenGroups)
    ));
}

/// The head says how queries are read where nobody else does.
#[test]
fn the_head_decides_the_mode() {
    let (folder, path, index) = built(10);
    let mut head = model(&folder.path().join("model")).head.unwrap();
    head.mode = Some(QueryMode::Encoded);
    let told = becr::OpenOptions::new().head(head).open(&path).unwrap();
    let asked = RankOptions::default();
    assert_eq!(index.query_mode(&asked).unwrap(), QueryMode::Composed);
    assert_eq!(told.query_mode(&asked).unwrap(), QueryMode::Encoded);
    let window = RankOptions {
        variant: Variant::Window1,
        ..asked
    };
    assert_eq!(told.query_mode(&window).unwrap(), QueryMode::Composed);
}
