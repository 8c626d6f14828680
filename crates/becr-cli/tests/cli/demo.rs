//! `becr demo`: what a new user meets first.

use crate::full::run;
use crate::ranked::json;
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
        "BECR encoded  BECR composed",
        "other words",
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
    assert!(found.contains("[new]  (BM25: 1"), "{found}");
    // Contextual vectors of a text's function words are near to whatever the text is about. They are not what a reader is
    // shown, however the query is read.
    for mode in ["encoded", "composed"] {
        let arguments = [
            "search",
            "sample.becr",
            "dog in hot car",
            "--mode",
            mode,
            "-k",
            "1",
            "--color",
            "always",
        ];
        let found = run(folder.path(), &arguments).stdout;
        let mut bold = found.split("\u{1b}[1m").skip(2);
        let mut marked = bold
            .by_ref()
            .filter_map(|from| from.split("\u{1b}[").next());
        let first: Vec<&str> = marked.by_ref().take(3).collect();
        assert_eq!(first, ["dog", "hot", "car"], "{mode}: {found}");
        assert!(marked.all(|word| word.len() > 3), "{mode}: {found}");
    }
    // The whole query through the bundled encoder.
    let minus = ["search", "sample.becr", "quokka", "--mode", "encoded"];
    assert!(run(folder.path(), &minus).stdout.contains("[new]"));
}

#[test]
fn the_demo_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(folder.path(), &["demo", "--mode", "encoded", "--json"]).stdout;
    let told = json(&told);
    assert_eq!(
        (&told["documents"], &told["mode"]),
        (&1016.into(), &"encoded".into())
    );
    assert_eq!(told["searches"][0]["query"], "jaguar running speed");
    assert_eq!(told["searches"][0]["becr"].as_array().unwrap().len(), 5);
    let measured = &told["measured"]["measures"][0];
    assert_eq!(measured["measure"], "nDCG@10");
    // Without token groups there is one way to read a query.
    assert!(measured["becr"].as_f64() > Some(0.5) && measured.get("other_mode").is_none());
    assert!(told["measured"]["timing_ms"]["total"].as_f64() > Some(0.0));
    // The check for people without any other collection: the default ranking is better than BM25, whatever the kind of query.
    let kinds = told["measured"]["by_kind"].as_array().unwrap();
    assert_eq!(kinds.len(), 3);
    for kind in kinds {
        let (bm25, becr) = (kind["bm25"].as_f64().unwrap(), kind["becr"].as_f64().unwrap());
        let margin = match kind["kind"].as_str().unwrap() {
            "keywords" => 0.15,
            "questions" => 0.18,
            // What BM25 does not find cannot be ranked: the answers have no word of the query.
            "other-words" => 0.01,
            other => panic!("{other}"),
        };
        assert!(becr > bm25 + margin, "{kind}");
    }
}
