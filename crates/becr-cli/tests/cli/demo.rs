//! `becr demo`: what a new user meets first.

use crate::full::run;
use crate::ranked::json;
use std::fs;
use std::path::Path;

/// The one test that encodes with the bundled model: what else needs it is looked at here too.
#[test]
fn the_demo_searches_and_measures_and_its_index_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(folder.path(), &["demo", "--keep", "sample.becr"]);
    for expected in [
        "dog in hot car",
        "A failure: ",
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
    every_suggested_query_finds_what_it_promises(folder.path());
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

/// What the page and the README tell people to try.
fn every_suggested_query_finds_what_it_promises(folder: &Path) {
    let page = include_str!("../../../becr-server/assets/app.js");
    let line = page
        .lines()
        .find(|line| line.contains("say(\"Try “"))
        .unwrap();
    let from_page = line.split('“').skip(1);
    let from_page: Vec<&str> = from_page
        .map(|rest| rest.split_once('”').unwrap().0)
        .collect();
    assert!(from_page.len() > 1, "{line}");
    let promised: [(&str, &[&str]); 5] = [
        ("dog in hot car", &["dog-hot-car"]),
        (
            "why do my ears hurt when the plane lands",
            &["ears-descent"],
        ),
        ("getting over a breakup", &["hearts-mend", "she-left-march"]),
        ("sourdough dense crumb", &["sourdough-tight-crumb"]),
        (
            "why does my bread not rise",
            &["sourdough-tight-crumb", "starter-strength", "brick-loaf"],
        ),
    ];
    let readme = include_str!("../../../../README.md");
    for query in from_page {
        assert!(
            promised.iter().any(|(promise, _)| *promise == query),
            "{query}"
        );
    }
    for (query, answers) in promised {
        assert!(page.contains(query) || readme.contains(query), "{query}");
        let found = json(
            &run(
                folder,
                &["search", "sample.becr", query, "-k", "3", "--json"],
            )
            .stdout,
        );
        let first = found["results"][0]["id"].as_str().unwrap();
        assert!(answers.contains(&first), "{query}: {found}");
    }
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
    // What the searches are shown for: BECR's first result answers, where BM25's does not. The last is a failure, and said to be one.
    let searches = told["searches"].as_array().unwrap();
    for search in searches {
        let grades = |ranking: &str| -> Vec<u64> {
            let rows = search[ranking].as_array().unwrap().iter();
            rows.map(|row| row["grade"].as_u64().unwrap()).collect()
        };
        let (bm25, becr) = (grades("bm25"), grades("becr"));
        assert_eq!(becr.len(), 5);
        if search["shows"].as_str().unwrap().starts_with("A failure") {
            assert!(!becr.contains(&3), "it is mended: show another one");
        } else {
            assert!(becr[0] == 3 && bm25[0] == 0, "{search}");
        }
    }
    assert_eq!(searches.len(), 4);
    assert!(
        searches[3]["shows"]
            .as_str()
            .unwrap()
            .starts_with("A failure")
    );
    let measured = &told["measured"]["measures"][0];
    assert_eq!(measured["measure"], "nDCG@10");
    // Without token groups there is one way to read a query.
    assert!(measured["becr"].as_f64() > Some(0.5) && measured.get("other_mode").is_none());
    assert!(told["measured"]["timing_ms"]["total"].as_f64() > Some(0.0));
    // The check for people without any other collection: the default ranking is better than BM25, whatever the kind of query.
    let kinds = told["measured"]["by_kind"].as_array().unwrap();
    assert_eq!(kinds.len(), 3);
    for kind in kinds {
        let (bm25, becr) = (
            kind["bm25"].as_f64().unwrap(),
            kind["becr"].as_f64().unwrap(),
        );
        let margin = match kind["kind"].as_str().unwrap() {
            "keywords" => 0.2,
            "questions" => 0.22,
            "other-words" => 0.35,
            other => panic!("{other}"),
        };
        assert!(becr > bm25 + margin, "{kind}");
    }
}
