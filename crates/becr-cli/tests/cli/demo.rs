//! `becr demo`: what a new user meets first.

use crate::full::run;
use std::fs;

/// The one test that encodes with the bundled model: what else needs it is looked at here too.
#[test]
fn the_demo_searches_and_measures_and_its_index_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(folder.path(), &["demo", "--keep", "sample.becr"]);
    for expected in [
        "jaguar running speed",
        "BECR",
        "***",
        "Why ",
        "nDCG@10",
        "look-up",
        "becr index FOLDER",
    ] {
        assert!(
            outcome.stdout.contains(expected),
            "{expected}: {}",
            outcome.stdout
        );
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing but the index is left behind"
    );
    // The index knows that its model is the bundled one, and takes more documents without being told.
    let manifest = fs::read_to_string(folder.path().join("sample.becr/becr.json")).unwrap();
    assert!(manifest.contains("\"bundled:becr-small\""), "{manifest}");
    let more =
        r#"{"id": "new", "title": "Quokkas", "text": "The quokka smiles on Rottnest Island."}"#;
    fs::write(folder.path().join("more.jsonl"), more).unwrap();
    run(folder.path(), &["add", "sample.becr", "more.jsonl"]);
    let found = run(folder.path(), &["search", "sample.becr", "smiling quokka"]).stdout;
    assert!(found.contains("[new]  (BM25: 1)"), "{found}");
    // The whole query through the bundled encoder.
    let minus = ["search", "sample.becr", "quokka", "--variant", "becr-minus"];
    assert!(run(folder.path(), &minus).stdout.contains("[new]"));
}
