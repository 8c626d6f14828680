//! Builds: how they stop, go on, announce themselves, and what they keep to.

use super::*;

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

/// What was given for one index is refused for another that takes its place.
#[test]
fn what_was_given_does_not_serve_another_index() {
    let (folder, path, index) = built(5);
    let first = index.model().unwrap();
    let open = |options: becr::OpenOptions| options.open(&path).unwrap();
    let with_model = open(becr::OpenOptions::new().model(first.clone()));
    let with_encoder = open(becr::OpenOptions::new().encoder(index.encoder().unwrap()));
    let with_head = open(becr::OpenOptions::new().head(first.head.clone().unwrap()));
    let encoded = RankOptions {
        mode: Some(QueryMode::Encoded),
        ..RankOptions::default()
    };
    let asked = SearchOptions {
        rank: Some(encoded),
        ..SearchOptions::default()
    };
    for index in [&index, &with_model, &with_encoder, &with_head] {
        index.search("river bank", &asked).unwrap();
    }
    let config = Config::new(14, 16, 1, 2, 24, 40);
    let other = model_of(&folder.path().join("other"), &config);
    let build = Build::new().model(other).overwrite(true);
    let (new, _) = build.run(&path, documents(0..5), &()).unwrap();
    let expected = new.search("river bank", &asked).unwrap().results;
    for index in [&with_model, &with_encoder, &with_head] {
        let error = index
            .search("river bank", &asked)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("encoder"), "{error}");
    }
    for index in [&with_model, &with_encoder] {
        let added = index.add(documents(9..10), Existing::Refuse, &());
        assert!(added.is_err_and(|error| error.to_string().contains("encoder")));
    }
    let found = open(becr::OpenOptions::new()).search("river bank", &asked);
    assert_eq!(found.unwrap().results, expected);
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
