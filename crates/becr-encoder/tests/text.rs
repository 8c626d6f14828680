//! Documents and token groups from text to footprints, on small random models.
#![allow(clippy::single_range_in_vec_init)] // lists of spans, some of one

use becr_encoder::{Batch, Document, EncodeError, EncodedDocument, Encoder, Wanted};
use becr_footprint::Relation;
use becr_model::{Centres, Config, Model, Settings, Storage, Weights};
use becr_text::groups::TokenGroup;
use tempfile::TempDir;

const VOCABULARY: &str =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\nneural\nrank\n##ing\nmodel\n##s\na\nb\n,\n##x\n";

/// A model of 13 words, 3 layers, 20 positions, on disk.
fn model() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut config = Config::new(13, 16, 3, 2, 24, 20);
    config.becr = Some(Settings {
        bits: Some(64),
        ..Settings::default()
    });
    config.write(&directory.path().join("config.json")).unwrap();
    std::fs::write(directory.path().join("vocab.txt"), VOCABULARY).unwrap();
    let weights = Weights::random(&config, 11, 10.0);
    weights
        .write(&directory.path().join("model.safetensors"), Storage::F32)
        .unwrap();
    directory
}

fn encoder() -> Encoder {
    Encoder::open(model().path()).unwrap()
}

/// What the backend itself says about one sequence of ids.
fn footprint(encoder: &Encoder, ids: &[u32], span: std::ops::Range<usize>) -> Vec<u32> {
    let batch = Batch::from_iter([ids.iter().copied()]);
    let wanted = Wanted {
        footprints: vec![span],
        ..Wanted::default()
    };
    encoder
        .backend()
        .encode(&batch, &wanted)
        .unwrap()
        .footprints
}

#[test]
fn a_short_document_is_one_segment() {
    let encoder = encoder();
    let document = encoder.document("Ranking", "neural, models").unwrap();
    assert_eq!(document.pieces.ids, [5, 6, 4, 11, 7, 8]);
    assert_eq!(document.title_pieces, 2);
    assert_eq!(
        document.pieces.words,
        [Some(0), Some(0), Some(0), None, Some(1), Some(1)]
    );
    let ids = [2, 5, 6, 4, 11, 7, 8, 3];
    for piece in 0..6 {
        let expected = footprint(&encoder, &ids, piece + 1..piece + 2);
        let found: Vec<u32> = (0..4)
            .flat_map(|layer| document.footprint(layer, piece, 2))
            .copied()
            .collect();
        assert_eq!(found, expected, "piece {piece}");
    }
    let states = encoder
        .backend()
        .hidden_states(&Batch::from_iter([ids]))
        .unwrap();
    assert_eq!(document.cls, states.vector(3, 0));
    let mean: Vec<f32> = (0..16)
        .map(|c| (1..7).map(|t| states.vector(3, t)[c]).sum::<f32>() / 6.0)
        .collect();
    assert!(
        document
            .mean
            .iter()
            .zip(&mean)
            .all(|(a, b)| (a - b).abs() < 1e-5)
    );
}

#[test]
fn a_long_document_is_cut_evenly_and_its_cls_averaged() {
    let encoder = encoder();
    // 40 pieces, at most 18 in a segment: 13 + 13 + 14.
    let document = encoder.document("", &"neural model ".repeat(20)).unwrap();
    assert_eq!(document.pieces.len(), 40);
    let mut cls = vec![0.0; 16];
    for (start, end) in [(0, 13), (13, 26), (26, 40)] {
        let ids: Vec<u32> = [&[2], &document.pieces.ids[start..end], &[3]].concat();
        let states = encoder
            .backend()
            .hidden_states(&Batch::from_iter([ids.iter().copied()]))
            .unwrap();
        cls.iter_mut()
            .zip(states.vector(3, 0))
            .for_each(|(sum, x)| *sum += x / 3.0);
        for piece in start..end {
            let expected = footprint(&encoder, &ids, piece - start + 1..piece - start + 2);
            let found: Vec<u32> = (0..4)
                .flat_map(|layer| document.footprint(layer, piece, 2))
                .copied()
                .collect();
            assert_eq!(found, expected, "piece {piece}");
        }
    }
    assert!(
        document
            .cls
            .iter()
            .zip(&cls)
            .all(|(a, b)| (a - b).abs() < 1e-5)
    );
}

#[test]
fn empty_and_odd_texts_are_documents_too() {
    let encoder = encoder();
    for text in ["", " \t\n", "\u{0}\u{1}\u{7f}\u{fffd}\u{200b}"] {
        let document = encoder.document("", text).unwrap();
        assert!(document.pieces.is_empty() && document.footprints.is_empty());
        assert!(
            document.cls.iter().any(|&x| x != 0.0),
            "[CLS] is there even so"
        );
        assert!(document.mean.iter().all(|&x| x == 0.0));
    }
    let with_controls = encoder
        .document("", "neu\u{0}ral\u{7} ran\u{200b}king")
        .unwrap();
    assert_eq!(
        with_controls.pieces.ids,
        [4, 5, 6],
        "control characters vanish"
    );
}

fn as_it_is(_: Document, encoded: EncodedDocument) -> Result<EncodedDocument, EncodeError> {
    Ok(encoded)
}

#[test]
fn streams_come_out_in_order_whatever_the_batch() {
    let source: Vec<Document> = (0..50)
        .map(|i| {
            let title = if i % 3 == 0 { "a b" } else { "" };
            Document::new("", title, "neural ranking models, ".repeat(i * 7 % 23))
        })
        .collect();
    let encode = |batch_tokens| -> Vec<EncodedDocument> {
        let encoder = encoder().with_batch_tokens(batch_tokens);
        let mut all = Vec::new();
        let emit = |document| {
            all.push(document);
            Ok::<_, EncodeError>(())
        };
        encoder.documents(source.clone(), as_it_is, emit).unwrap();
        all
    };
    let expected: Vec<_> = source
        .iter()
        .map(|d| encoder().document(&d.title, &d.text).unwrap())
        .collect();
    for batch_tokens in [1, 30, 4096] {
        assert!(
            encode(batch_tokens) == expected,
            "batches of {batch_tokens} tokens give other documents"
        );
    }
}

#[test]
fn a_stream_ends_at_the_first_error_of_its_reader() {
    let encoder = encoder().with_batch_tokens(1);
    let source = (0..1000).map(|_| Document::new("", "", "neural"));
    let mut seen = 0;
    let result = encoder.documents(source, as_it_is, |_| {
        seen += 1;
        if seen == 3 {
            Err(EncodeError::RawVectors)
        } else {
            Ok(())
        }
    });
    assert!(result.is_err() && seen == 3);
}

#[test]
fn a_text_of_ten_million_characters_is_a_document() {
    let encoder = encoder();
    let text = "neural ranking models, a b ".repeat(10_000_000 / 27);
    let document = encoder.document("", &text).unwrap();
    assert_eq!(document.pieces.len(), 10_000_000 / 27 * 8);
    assert_eq!(document.footprints.len(), document.pieces.len() * 4 * 2);
    let unbroken = encoder.document("", &"a".repeat(1_000_000)).unwrap();
    assert!(!unbroken.pieces.is_empty());
}

#[test]
fn words_of_groups_are_the_mean_of_their_pieces() {
    let encoder = encoder();
    let group = |word: &str| TokenGroup::Unigram(word.into());
    let pair = |a: &str, b: &str| TokenGroup::Pair(a.into(), b.into());
    let groups = [
        group("neural"),
        group("ranking"),
        pair("ranking", "models"),
        group("##x"),
        group("[UNK]"),
        pair("a", "a"),
    ];
    let encoded = encoder.groups(&groups).unwrap();
    let expected: [(&[u32], &[std::ops::Range<usize>]); 6] = [
        (&[2, 4, 3], &[1..2]),
        (&[2, 5, 6, 3], &[1..3]),
        (&[2, 5, 6, 7, 8, 3], &[1..3, 3..5]),
        (&[2, 12, 3], &[1..2]),
        (&[2, 1, 3], &[1..2]),
        (&[2, 9, 9, 3], &[1..2, 2..3]),
    ];
    for ((encoded, (ids, spans)), group) in encoded.iter().zip(expected).zip(&groups) {
        assert_eq!(encoded.vectors, spans.len(), "{group}");
        for (vector, span) in spans.iter().enumerate() {
            let found: Vec<u32> = (0..4)
                .flat_map(|layer| encoded.footprint(layer, vector, 2))
                .copied()
                .collect();
            assert_eq!(
                found,
                footprint(&encoder, ids, span.clone()),
                "{group}, vector {vector}"
            );
        }
    }
    let small = self::encoder()
        .with_batch_tokens(5)
        .groups(&groups)
        .unwrap();
    assert_eq!(small, encoded, "batches do not show");
}

#[test]
fn groups_that_are_no_words_are_refused() {
    let encoder = encoder();
    for text in ["", " ", "\u{0}"] {
        let result = encoder.groups(&[TokenGroup::Pair("a".into(), text.into())]);
        assert!(
            matches!(result, Err(EncodeError::NotAWord { .. })),
            "{text:?}"
        );
    }
    assert!(encoder.groups(&[]).unwrap().is_empty());
}

#[test]
fn int8_weights_keep_the_direction_of_vectors() {
    let directory = tempfile::tempdir().unwrap();
    let config = Config::new(13, 64, 4, 4, 128, 64);
    config.write(&directory.path().join("config.json")).unwrap();
    std::fs::write(directory.path().join("vocab.txt"), VOCABULARY).unwrap();
    let path = directory.path().join("model.safetensors");
    Weights::random(&config, 11, 3.0)
        .write(&path, Storage::F32)
        .unwrap();
    let model = Model::read(directory.path()).unwrap();
    let exact = Encoder::open(directory.path()).unwrap();
    model
        .write(directory.path().join("int8"), Storage::I8)
        .unwrap();
    let rounded = Encoder::open(directory.path().join("int8")).unwrap();
    let batch = Batch::from_iter((0..8u32).map(|i| (0..50).map(move |j| (i * 5 + j * j) % 13)));
    let states = [exact, rounded].map(|encoder| encoder.backend().hidden_states(&batch).unwrap());
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    let cosine = |token| {
        let [a, b] = [0, 1].map(|i: usize| states[i].vector(4, token));
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let mean = (0..batch.tokens()).map(cosine).sum::<f64>() / batch.tokens() as f64;
    assert!(mean > 0.999, "mean cosine {mean}");
}

#[test]
fn models_without_bits_have_no_footprints() {
    let directory = model();
    let mut config = Config::read(&directory.path().join("config.json")).unwrap();
    config.becr = Some(Settings {
        bits: None,
        ..Settings::default()
    });
    config.write(&directory.path().join("config.json")).unwrap();
    let encoder = Encoder::open(directory.path()).unwrap();
    assert!(matches!(
        encoder.document("", "neural"),
        Err(EncodeError::RawVectors)
    ));
}

#[test]
fn a_query_has_a_footprint_per_word_in_its_context() {
    let encoder = encoder();
    let found = encoder.query("Neural ranking, models").unwrap();
    let ids = [2, 4, 5, 6, 11, 7, 8, 3];
    let spans = [1..2, 2..4, 5..7];
    assert_eq!(found.len(), 4 * spans.len() * 2);
    for (word, span) in spans.into_iter().enumerate() {
        let expected = footprint(&encoder, &ids, span);
        for layer in 0..4 {
            let row = &found[(layer * 3 + word) * 2..][..2];
            assert_eq!(row, &expected[layer * 2..][..2], "{word} {layer}");
        }
    }
    assert!(encoder.query(" !? ").unwrap().is_empty());
    // Twenty positions: three segments of at most nine words of two pieces.
    let long = encoder.query(&"ranking ".repeat(20)).unwrap();
    assert_eq!(long.len(), 4 * 20 * 2);
    assert_eq!(long[..2], long[9 * 2..][..2], "both begin a segment");
}

/// The vector of a whole query is the mean of all its tokens, those of several segments too.
#[test]
fn a_query_has_a_vector_as_a_whole() {
    let encoder = encoder();
    let planes = encoder.backend().hyperplanes().unwrap();
    let check = |text: &str, sequences: &[&[u32]]| {
        let mut batch = becr_encoder::Batch::new();
        for ids in sequences {
            batch.push(ids.iter().copied());
        }
        let states = encoder.backend().hidden_states(&batch).unwrap();
        let last = states.layers.len() - 1;
        let mut mean = vec![0.0; states.dim];
        for token in 0..batch.tokens() {
            let parts = mean.iter_mut().zip(states.vector(last, token));
            parts.for_each(|(sum, x)| *sum += x / batch.tokens() as f32);
        }
        let mut expected = vec![0; planes.width()];
        planes.footprint(&mean, &mut expected).unwrap();
        let found = encoder.whole_query(text).unwrap();
        assert_eq!(found.vector, expected, "{text}");
        assert_eq!(found.words, encoder.query(text).unwrap());
    };
    check("Neural ranking, models", &[&[2, 4, 5, 6, 11, 7, 8, 3]]);
    let [nine, two]: [Vec<u32>; 2] = [9, 2].map(|words| {
        let pieces = [5, 6].repeat(words);
        [vec![2], pieces, vec![3]].concat()
    });
    check(&"ranking ".repeat(20), &[&nine, &nine, &two]);
    assert_eq!(
        encoder.whole_query("?").unwrap(),
        becr_encoder::WholeQuery::default()
    );
}

#[test]
fn relative_footprints_are_those_of_the_raw_vectors() {
    let directory = model();
    let mut model = Model::read(directory.path()).unwrap();
    let settings = model.config.becr.as_mut().unwrap();
    settings.relative = true;
    assert!(
        model.config.check("config.json".as_ref()).is_err(),
        "four layers"
    );
    model.config.becr.as_mut().unwrap().layers = becr_model::Layers::Last;
    let centre = |sign: f32| (0..4 * 16).map(|i| sign * (i % 5) as f32 / 9.0).collect();
    model.weights.centres = Some(Centres {
        documents: centre(1.0),
        groups: centre(-1.0),
    });
    model.write(directory.path(), Storage::F32).unwrap();
    let encoder = Encoder::open(directory.path()).unwrap();
    let planes = encoder.backend().hyperplanes().unwrap();
    // Two segments, and a document without text.
    for text in ["neural ranking models ".repeat(6), String::new()] {
        let raw = encoder.raw_document("", &text).unwrap();
        let encoded = encoder.document("", &text).unwrap();
        let (relation, footprints) = Relation::new(planes, &raw.vectors, &encoded.mean).unwrap();
        assert_eq!(encoded.footprints, footprints);
        assert_eq!(encoded.relation, Some(relation));
        let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-5;
        assert!(raw.mean.iter().zip(&encoded.mean).all(near));
    }
    // Documents come out alike whatever stands beside them in a batch.
    let small = Encoder::open(directory.path())
        .unwrap()
        .with_batch_tokens(7);
    let documents = ["rank", "neural models", "", "neural ranking models rank"];
    let mut one_by_one = documents
        .iter()
        .map(|text| encoder.document("", text).unwrap());
    let texts = documents.map(|text| Document::new("", "", text));
    small
        .documents(texts, as_it_is, |document| {
            assert_eq!(Some(document), one_by_one.next());
            Ok::<(), becr_encoder::EncodeError>(())
        })
        .unwrap();
    // Groups keep their vectors, and the words of a whole query theirs.
    let pair = TokenGroup::Pair("neural".into(), "ranking".into());
    let group = &encoder.groups(std::slice::from_ref(&pair)).unwrap()[0];
    let raw = encoder.raw_group(&pair).unwrap();
    let packed: Vec<u32> = raw
        .chunks_exact(16)
        .flat_map(becr_footprint::pack)
        .collect();
    assert_eq!(group.packed, packed);
    let whole = encoder.whole_query("neural ranking").unwrap();
    assert_eq!((whole.words.len(), whole.vector.len()), (2 * (2 + 3), 3));
}

#[test]
fn the_measured_centre_is_the_mean_of_vectors() {
    let directory = model();
    let mut model = Model::read(directory.path()).unwrap();
    let document = Document::new("", "neural", "ranking models");
    let centres = becr_encoder::measure_centres(&model, [document.clone()], |_| ()).unwrap();
    assert_eq!((centres.documents.len(), centres.groups.len()), (64, 64));
    // Seen from the centre, the document's mean vector is nothing.
    model.weights.centres = Some(centres);
    model.write(directory.path(), Storage::F32).unwrap();
    let encoder = Encoder::open(directory.path()).unwrap();
    let encoded = encoder.document(&document.title, &document.text).unwrap();
    assert!(encoded.mean.iter().all(|x| x.abs() < 1e-5), "{encoded:?}");
}

#[test]
fn footprints_are_those_of_the_raw_vectors() {
    let encoder = encoder();
    let planes = encoder.backend().hyperplanes().unwrap();
    let footprints = |vectors: &[f32]| -> Vec<u32> {
        let hash = |vector: &[f32]| {
            let mut footprint = vec![0; 2];
            planes.footprint(vector, &mut footprint).unwrap();
            footprint
        };
        vectors.chunks_exact(16).flat_map(hash).collect()
    };
    // Two segments.
    let text = "neural ranking models ".repeat(6);
    let (raw, encoded) = (
        encoder.raw_document("rank", &text).unwrap(),
        encoder.document("rank", &text).unwrap(),
    );
    assert_eq!(footprints(&raw.vectors), encoded.footprints);
    assert!(
        raw.mean
            .iter()
            .zip(&encoded.mean)
            .all(|(a, b)| (a - b).abs() < 1e-5)
    );
    for group in [
        TokenGroup::Unigram("##x".into()),
        TokenGroup::Pair("ranking".into(), "models".into()),
    ] {
        let raw = encoder.raw_group(&group).unwrap();
        assert_eq!(
            footprints(&raw),
            encoder.groups(&[group]).unwrap()[0].footprints
        );
    }
}
