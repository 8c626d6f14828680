//! What a program may rely on, with a small random model.

use becr::{
    Build, Candidate, Details, Document, Error, Existing, Index, IndexError, Model, Observer, Plan,
    Precision, QueryMode, RankOptions, Rules, SearchOptions, Stage, SyncOptions, Variant,
};
use becr_model::{
    Config, Feature, Head, Layers, MIXER_FILE, MixerKind, MixerShape, MixerWeights, Settings,
    Storage, Weights,
};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const WORDS: [&str; 10] = [
    "river", "bank", "money", "loan", "fish", "boat", "spring", "water", "zebra", "quay",
];

fn model(folder: &Path) -> Model {
    model_of(folder, &Config::new(14, 16, 2, 2, 24, 40))
}

fn model_of(folder: &Path, config: &Config) -> Model {
    std::fs::create_dir_all(folder).unwrap();
    config.write(&folder.join("config.json")).unwrap();
    let vocabulary = format!("[PAD]\n[UNK]\n[CLS]\n[SEP]\n{}\n", WORDS.join("\n"));
    std::fs::write(folder.join("vocab.txt"), vocabulary).unwrap();
    let weights = Weights::random(config, 3, 10.0);
    weights
        .write(&folder.join("model.safetensors"), Storage::F32)
        .unwrap();
    let mut model = Model::read(folder).unwrap();
    let layers = config.kept_layers().unwrap().len();
    let mut head = Head::blank(model.encoder_id(), layers);
    head.deep
        .alpha
        .iter_mut()
        .flatten()
        .for_each(|weight| *weight = 0.05);
    head.lexical = vec![Feature {
        name: "body_bm25_sum".into(),
        mean: 1.0,
        deviation: 1.0,
        weight: 0.5,
    }];
    head.write(&folder.join("head.json")).unwrap();
    model.head = Some(head);
    model
}

fn documents(numbers: std::ops::Range<usize>) -> impl Iterator<Item = Document> {
    numbers.map(|n| {
        let word = |k: usize| WORDS[(n * 7 + k * k * 3 + k) % WORDS.len()];
        let text: Vec<&str> = (0..6 + n % 20).map(word).collect();
        Document::new(format!("d{n}"), word(5), text.join(" "))
    })
}

fn built(count: usize) -> (TempDir, PathBuf, Index) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let model = model(&folder.path().join("model"));
    let (index, summary) = Build::new()
        .model(model)
        .run(&path, documents(0..count), &())
        .unwrap();
    assert_eq!(summary.documents, count as u64);
    (folder, path, index)
}

#[test]
fn the_model_is_read_once_for_many_changes_and_again_when_it_has_changed() {
    let (folder, path, _) = built(5);
    let index = Index::open(&path).unwrap();
    let add = |number| index.add(documents(number..number + 1), Existing::Refuse, &());
    add(5).unwrap();
    // The same size and time in the same place: only who reads the file again would notice.
    let weights = folder.path().join("model").join("model.safetensors");
    let meta = std::fs::metadata(&weights).unwrap();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&weights)
        .unwrap();
    std::io::Write::write_all(&mut &file, &vec![0xff; meta.len() as usize]).unwrap();
    file.set_modified(meta.modified().unwrap()).unwrap();
    add(6).unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
    assert!(matches!(add(7), Err(Error::ModelOfIndex { .. })));
    // Mended, it is taken up again.
    model(&folder.path().join("model"));
    add(7).unwrap();
}

#[test]
fn clones_and_second_openings_see_what_any_of_them_writes() {
    let (_folder, path, index) = built(20);
    let (clone, second) = (index.clone(), Index::open(&path).unwrap());
    index.add(documents(20..25), Existing::Refuse, &()).unwrap();
    second.delete(&["d0".into()]).unwrap();
    for index in [&index, &clone, &second] {
        assert_eq!(index.view().unwrap().documents().unwrap(), 24);
    }
    assert_eq!(index.reload().unwrap(), second.reload().unwrap());
}

#[test]
fn a_view_keeps_its_state_and_a_state_that_nobody_kept_is_gone() {
    let (_folder, _, index) = built(20);
    let view = index.view().unwrap();
    let before = view
        .search("river bank", &SearchOptions::default())
        .unwrap();
    index.delete(&[before.results[0].id.clone()]).unwrap();
    index.compact(&()).unwrap();
    let again = view
        .search("river bank", &SearchOptions::default())
        .unwrap();
    assert_eq!(before.results, again.results);
    let asked = view.generation();
    assert_eq!(index.at(asked).unwrap().documents().unwrap(), 20);
    drop(view);
    let gone = index.at(asked).err().unwrap();
    assert!(matches!(gone, Error::Gone { asked: a, newest } if a == asked && newest > a));
    let now = index
        .search("river bank", &SearchOptions::default())
        .unwrap();
    assert!(now.generation > asked);
    assert_ne!(now.results[0].id, before.results[0].id);
}

#[test]
fn adding_says_what_to_do_with_ids_that_are_there_and_how_many_are_in() {
    let (_folder, _, index) = built(10);
    let overlapping = || documents(8..13);
    let refused = index
        .add(overlapping(), Existing::Refuse, &())
        .err()
        .unwrap();
    assert!(refused.to_string().contains("d8"), "{refused}");
    assert_eq!(index.view().unwrap().documents().unwrap(), 10);
    // What comes before the one at fault is in, what comes behind it is not.
    let between = documents(20..21)
        .chain(documents(9..10))
        .chain(documents(21..23));
    let refused = index.add(between, Existing::Refuse, &()).err().unwrap();
    assert!(refused.to_string().contains("d9"), "{refused}");
    let view = index.view().unwrap();
    assert_eq!(view.documents().unwrap(), 11);
    assert!(view.text("d20").unwrap().is_some());
    index.delete(&["d20".to_owned()]).unwrap();
    let changed = index.add(overlapping(), Existing::Skip, &()).unwrap();
    assert_eq!((changed.added, changed.skipped), (3, 2));
    let changed = index.update(documents(12..15), &()).unwrap();
    assert_eq!((changed.added, changed.replaced), (2, 1));

    // The source fails after three documents: these are in, and the error says so.
    let failing = documents(20..23).map(Ok).chain([Err("the line went dead")]);
    let error = index.add(failing, Existing::Refuse, &()).err().unwrap();
    let Error::Index(IndexError::Incomplete { changed, .. }) = &error else {
        panic!("{error}");
    };
    assert_eq!(changed.added, 3);
    let said = error.to_string();
    assert!(
        said.contains("the line went dead") && said.contains("3 documents"),
        "{said}"
    );
    assert_eq!(index.view().unwrap().documents().unwrap(), 18);
    // Going on from there works.
    index.add(documents(20..26), Existing::Skip, &()).unwrap();
    assert_eq!(index.view().unwrap().documents().unwrap(), 21);
    // The same id twice in one call.
    let twice = documents(30..31).chain(documents(30..31));
    let error = index.add(twice, Existing::Refuse, &()).err().unwrap();
    assert!(error.to_string().contains("d30"), "{error}");
    assert!(index.verify().unwrap().problems.is_empty());
}

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
    let search = |mode, variant| {
        let rank = RankOptions {
            mode: Some(mode),
            variant,
            ..RankOptions::default()
        };
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
    for mode in [QueryMode::Composed, QueryMode::Encoded] {
        let answer = search(mode, Variant::Becr).unwrap();
        let first = &answer.results[0];
        let snippet = first.snippet.as_ref().unwrap();
        assert!(!snippet.text.is_empty() && first.title.is_some());
        assert!(!first.reasons.as_ref().unwrap().0.is_empty());
    }
    for mode in [QueryMode::Composed, QueryMode::Encoded] {
        let answer = search(mode, Variant::OneVector).unwrap();
        assert!(answer.results[0].parts.is_some());
    }
    for (mode, variant) in [
        (QueryMode::Encoded, Variant::NoPairs),
        (QueryMode::Composed, Variant::WholeQuery),
    ] {
        let contradiction = search(mode, variant).err().unwrap();
        assert!(matches!(contradiction, Error::Options(_)));
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

#[test]
fn a_build_with_an_identity_goes_on_and_one_without_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, partial) = (
        folder.path().join("index"),
        folder.path().join("index.partial"),
    );
    let model = model(&folder.path().join("model"));
    let failing = || documents(0..30).map(Ok).chain([Err("no more")]);
    let build = || Build::new().model(model.clone());
    assert!(build().run(&path, failing(), &()).is_err());
    assert!(!partial.exists() && !path.exists());

    // The documents are spooled in the first pass; the second fails when the observer gives up. Going on reads none.
    struct GivesUp(RefCell<u32>);
    impl Observer for GivesUp {
        fn begin(&self, stage: Stage, _: Option<u64>) {
            if stage == Stage::EncodingDocuments {
                *self.0.borrow_mut() += 1;
                panic!("interrupted");
            }
        }
    }
    let interrupted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let observer = GivesUp(RefCell::new(0));
        build()
            .identity("mine")
            .run(&path, documents(0..30), &observer)
    }));
    assert!(interrupted.is_err() && partial.exists());
    let other = build().identity("yours").run(&path, documents(0..5), &());
    assert!(matches!(
        other.err().unwrap(),
        Error::Index(IndexError::Unfinished(_))
    ));
    let nothing = std::iter::empty::<Document>();
    let (index, built) = build().identity("mine").run(&path, nothing, &()).unwrap();
    assert_eq!(built.documents, 30);
    assert!(index.verify().unwrap().problems.is_empty());
    let again = build().run(&path, documents(0..5), &());
    assert!(matches!(
        again.err().unwrap(),
        Error::Index(IndexError::Exists(_))
    ));
}

/// Asks to stop after some documents were encoded.
struct StopsAfter(RefCell<(bool, u64)>);

impl Observer for StopsAfter {
    fn begin(&self, stage: Stage, _: Option<u64>) {
        self.0.borrow_mut().0 = stage == Stage::EncodingDocuments;
    }

    fn advance(&self, steps: u64) {
        let (is_encoding, left) = &mut *self.0.borrow_mut();
        *left = left.saturating_sub(if *is_encoding { steps } else { 0 });
    }

    fn should_stop(&self) -> bool {
        self.0.borrow().1 == 0
    }
}

#[test]
fn work_that_is_stopped_keeps_what_it_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let model = model(&folder.path().join("model"));
    let build = || Build::new().model(model.clone()).identity("mine");
    let after = |documents| StopsAfter(RefCell::new((false, documents)));
    let stopped = build().run(&path, documents(0..30), &after(7));
    assert!(matches!(
        stopped.err().unwrap(),
        Error::Index(IndexError::Stopped)
    ));
    let (index, built) = build().run(&path, documents(0..30), &()).unwrap();
    assert_eq!((built.documents, built.resumed), (30, 7));

    let stopped = index.add(documents(100..130), Existing::Refuse, &after(5));
    let Error::Index(IndexError::Incomplete { changed, source }) = stopped.unwrap_err() else {
        panic!("another error");
    };
    assert!(matches!(*source, IndexError::Stopped));
    assert_eq!(changed.added, 5);
    assert_eq!(index.view().unwrap().documents().unwrap(), 35);
    assert!(index.verify().unwrap().problems.is_empty());
}

#[test]
fn an_index_built_in_the_place_of_an_open_one_is_followed() {
    let (folder, path, index) = built(20);
    let view = index.view().unwrap();
    let model = Model::read(folder.path().join("model")).unwrap();
    let build = Build::new().model(model).overwrite(true);
    build.run(&path, documents(100..107), &()).unwrap();
    assert_eq!(view.documents().unwrap(), 20, "what is kept is kept");
    assert_eq!(index.view().unwrap().documents().unwrap(), 7);
    assert!(index.reload().unwrap() > view.generation());
    let found = view
        .search("river bank", &SearchOptions::default())
        .unwrap();
    assert!(!found.results.is_empty());
}

#[test]
fn a_first_stage_that_cannot_be_written_leaves_both_as_they_were() {
    let (_folder, path, index) = built(10);
    let before = index.view().unwrap().digest().unwrap();
    let folder = path.join("first-stage");
    let hidden = path.join("hidden");
    let mut live = becr_index::live::LiveIndex::open(&path).unwrap();
    let delete = [becr_index::live::Change::Delete("d1")];
    std::fs::rename(&folder, &hidden).unwrap();
    assert!(live.apply(&delete).is_err());
    std::fs::rename(&hidden, &folder).unwrap();
    // The writer that failed half-way must not publish the other half with its next change.
    let refused = live.apply(&delete).err().unwrap();
    assert!(matches!(refused, IndexError::FailedWriter(_)), "{refused}");
    assert!(live.finish().is_err());
    assert_eq!(index.view().unwrap().digest().unwrap(), before);
    assert!(index.verify().unwrap().problems.is_empty());
    index.delete(&["d1".into()]).unwrap();
    assert_eq!(index.view().unwrap().documents().unwrap(), 9);
    assert!(index.verify().unwrap().problems.is_empty());
}

#[test]
fn many_updates_in_one_call_use_freed_pages_again() {
    let (_folder, path, index) = built(5);
    // Six thousand words each: more than half a megabyte of footprints, so that a batch is a dozen of them.
    let mut state = 1_u64;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        WORDS[(state >> 40) as usize % WORDS.len()]
    };
    let mut long = || (0..6000).map(|_| word()).collect::<Vec<_>>().join(" ");
    let versions = (0..100).map(|n| Document::new(format!("long{}", n % 4), "", long()));
    let changed = index.update(versions, &()).unwrap();
    assert_eq!((changed.added, changed.replaced), (4, 96));
    let size = std::fs::metadata(path.join("store/data.mdb"))
        .unwrap()
        .len();
    // A reader that lives through all batches would let the file grow to 60 megabytes.
    assert!(size < 40 << 20, "{size} bytes");
}

#[test]
fn the_store_counts_as_the_engine_does_also_after_deletes() {
    let (_folder, path, index) = built(60);
    let ids: Vec<String> = (0..60).step_by(3).map(|n| format!("d{n}")).collect();
    index.delete(&ids).unwrap();
    let engine = becr_index::first_stage::FirstStage::open(&path).unwrap();
    for query in ["river bank", "zebra", "money of the loan fish", "quay quay"] {
        let found = index
            .search(query, &SearchOptions::first_stage(100))
            .unwrap();
        let ours = found.results.iter().map(|r| (r.id.as_str(), r.score));
        let hits = engine.search(query, 100).unwrap();
        let theirs = hits.iter().map(|hit| (hit.id.as_str(), hit.score));
        assert_eq!(
            ours.collect::<Vec<_>>(),
            theirs.collect::<Vec<_>>(),
            "{query}"
        );
    }
}

#[test]
#[cfg(unix)]
fn a_link_to_an_index_is_the_index() {
    let (folder, path, index) = built(10);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let linked = Index::open(&link).unwrap();
    linked.delete(&["d1".into()]).unwrap();
    linked.compact(&()).unwrap();
    assert!(link.is_symlink());
    assert_eq!(index.view().unwrap().documents().unwrap(), 9);
    assert_eq!(index.reload().unwrap(), linked.reload().unwrap());
}

#[test]
fn odd_input_is_an_error_and_changes_nothing() {
    let (folder, path, index) = built(5);
    let digest = || index.view().unwrap().digest().unwrap();
    let before = digest();
    for (odd, said) in [
        (Document::default(), "id is empty"),
        (Document::new("x".repeat(70_000), "", "river"), "bytes"),
    ] {
        let error = index.add([odd], Existing::Refuse, &()).err().unwrap();
        assert!(error.to_string().contains(said), "{error}");
    }
    let nan = Document {
        features: vec![("pagerank".into(), f32::NAN)],
        ..Document::new("nan", "", "river")
    };
    assert!(index.add([nan], Existing::Refuse, &()).is_err());
    assert_eq!(digest(), before);
    // Text without a word, and text that no vocabulary knows, is a document.
    let words = [
        Document::new("empty", "", ""),
        Document::new("odd", "\u{0}\u{fffd}", "🦀 \u{202e}"),
    ];
    assert_eq!(index.add(words, Existing::Refuse, &()).unwrap().added, 2);
    for query in ["", " ", "🦀", "\u{0}", &"river ".repeat(3000)] {
        index.search(query, &SearchOptions::default()).unwrap();
    }
    for place in ["nowhere", "model"] {
        let error = Index::open(folder.path().join(place)).err().unwrap();
        assert!(
            matches!(error, Error::Index(IndexError::NotAnIndex { .. })),
            "{error}"
        );
    }
    let unknown = index.explain("river", &["nobody"], &Default::default());
    assert!(matches!(unknown.err().unwrap(), Error::UnknownDocument(_)));
    // Another process writes: its lock, as it shows itself to this one.
    let lock = std::fs::File::create(path.join("writer.lock")).unwrap();
    lock.lock().unwrap();
    let refused = index.delete(&["d1".into()]).err().unwrap();
    assert!(matches!(refused, Error::Index(IndexError::SecondWriter(_))));
    assert!(index.compact(&()).is_err());
}

#[test]
fn an_index_may_begin_empty_if_it_is_meant_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let model = model(&folder.path().join("model"));
    let nothing = std::iter::empty::<Document>;
    let refused = Build::new().model(model.clone()).run(&path, nothing(), &());
    assert!(matches!(
        refused.err().unwrap(),
        Error::Index(IndexError::NoDocuments)
    ));
    let build = Build::new().model(model).allow_empty(true);
    let (index, _) = build.run(&path, nothing(), &()).unwrap();
    assert!(
        index
            .search("river", &SearchOptions::default())
            .unwrap()
            .results
            .is_empty()
    );
    index.add(documents(0..3), Existing::Refuse, &()).unwrap();
    assert_eq!(index.view().unwrap().documents().unwrap(), 3);
}

#[test]
fn an_index_stays_in_the_precision_it_was_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let model = model(&folder.path().join("model"));
    let build = |name: &str, precision, count, groups| {
        let path = folder.path().join(name);
        let build = Build::new().model(model.clone()).precision(precision);
        let build = build.group_list(groups);
        build.run(&path, documents(0..count), &()).unwrap();
        path
    };
    let manifest = |path: &Path| std::fs::read_to_string(path.join("becr.json")).unwrap();
    let digest = |path: &Path| Index::open(path).unwrap().view().unwrap().digest().unwrap();
    let exact = build("exact", Precision::F32, 20, None);
    let rough = build("rough", Precision::Int8, 20, None);
    let grown = build(
        "grown",
        Precision::Int8,
        12,
        Some(rough.join("groups.list")),
    );
    assert!(!manifest(&exact).contains("precision"), "as before");
    assert!(manifest(&rough).contains("\"precision\": \"int8\""));
    assert_ne!(digest(&exact), digest(&rough));
    // What is added later comes out as if it had been there from the start.
    let index = Index::open(&grown).unwrap();
    assert_eq!(index.precision().unwrap(), Precision::Int8);
    index.add(documents(12..20), Existing::Refuse, &()).unwrap();
    assert_eq!(digest(&grown), digest(&rough));

    let encoder = becr::Encoder::with_precision(model.clone(), Precision::F32).unwrap();
    let other = becr::OpenOptions::new().encoder(encoder.into());
    let refused = other
        .open(&grown)
        .unwrap()
        .add(documents(20..21), Existing::Refuse, &());
    assert!(
        matches!(
            refused,
            Err(Error::Index(IndexError::Precision {
                has: Precision::Int8,
                asked: Precision::F32,
                ..
            }))
        ),
        "{refused:?}"
    );
    let joined = becr_index::merge(&[rough, exact], &folder.path().join("joined"), false, &());
    assert!(
        matches!(joined, Err(IndexError::Precision { .. })),
        "{joined:?}"
    );
}

/// Listens for the plan of a build.
#[derive(Default)]
struct Planning(RefCell<Vec<Plan>>);

impl Observer for Planning {
    fn wants_plan(&self) -> bool {
        true
    }

    fn expected_documents(&self) -> Option<u64> {
        Some(9000)
    }

    fn planned(&self, plan: &Plan) {
        self.0.borrow_mut().push(*plan);
    }
}

/// Before the long part of a build its observer hears how long that takes: from the count of all documents, or where they
/// are read once, from its own guess.
#[test]
fn a_build_says_how_long_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    let model = model(&folder.path().join("model"));
    let planned = |name: &str, mode, count: usize| {
        let observer = Planning::default();
        let long = documents(0..count).map(|document| {
            let text = [document.text.as_str(); 10].join(" ");
            Document::new(document.id, document.title, text)
        });
        let build = Build::new().model(model.clone()).mode(mode);
        let path = folder.path().join(name);
        let (_, summary) = build.run(path, long, &observer).unwrap();
        assert_eq!(
            summary.documents, count as u64,
            "none is lost or read twice"
        );
        observer.0.into_inner()
    };
    for (mode, expected) in [(QueryMode::Composed, 800), (QueryMode::Encoded, 9000)] {
        let plans = planned(&format!("{mode:?}"), mode, 800);
        let [plan] = plans[..] else {
            panic!("{mode:?}: {plans:?}");
        };
        assert_eq!(plan.documents.count, expected);
        assert!(plan.documents.seconds > 0.0 && plan.tokens_per_document > 50.0);
        // What is over before anyone has read of it is not worth a trial.
        assert!(planned(&format!("short {mode:?}"), mode, 20).is_empty());
    }
}

/// A program keeps an index in step with folders; what it has open sees it.
#[test]
fn an_index_follows_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (path, notes) = (folder.path().join("index"), folder.path().join("notes"));
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("a.md"), "river bank").unwrap();
    std::fs::write(notes.join("b.md"), "money loan").unwrap();
    let folders = becr::folders(std::slice::from_ref(&notes)).unwrap();
    let corpus = becr::corpus::Corpus::open_folders(&folders, &Default::default()).unwrap();
    let (index, _) = Build::new()
        .model(model(&folder.path().join("model")))
        .folders(folders)
        .run(&path, corpus, &())
        .unwrap();
    let again = Index::open(&path).unwrap();
    std::fs::write(notes.join("a.md"), "fish boat").unwrap();
    std::fs::remove_file(notes.join("b.md")).unwrap();
    let options = SyncOptions::default();
    let report = index.sync(&[], &options, &()).unwrap();
    assert_eq!(report.difference.changed, ["a.md"]);
    assert_eq!(report.difference.vanished, ["b.md"]);
    assert_eq!((report.changed.replaced, report.changed.deleted), (1, 1));
    assert_eq!(again.view().unwrap().documents().unwrap(), 1);
    assert_eq!(again.file_of("a.md").unwrap(), Some(notes.join("a.md")));
    assert_eq!(again.file_of("b.md").unwrap(), None);
    // Nothing is left to do, so nothing is published.
    let generation = again.reload().unwrap();
    index.sync(&[], &options, &()).unwrap();
    assert_eq!(again.reload().unwrap(), generation);
    std::fs::remove_file(notes.join("a.md")).unwrap();
    let refused = index.sync(&[], &options, &());
    assert!(matches!(refused, Err(Error::Corpus(_))), "{refused:?}");
    let (_others, _, plain) = built(3);
    let refused = plain.sync(&[], &options, &());
    assert!(matches!(refused, Err(Error::NoFolders(_))), "{refused:?}");
}
