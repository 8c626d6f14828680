//! `becr-lab folds`.

use crate::becr;
use serde_json::Value;
use std::fs;

#[test]
fn made_folds_are_shown_and_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let queries: String = (1..=20).map(|id| format!("{id}\tquery {id}\n")).collect();
    fs::write(folder.path().join("queries.tsv"), queries).unwrap();
    fs::write(folder.path().join("extra.txt"), "11\n12\n13\n14\n15\n").unwrap();
    let make = [
        "folds",
        "make",
        "--queries",
        "queries.tsv",
        "--always-train",
        "extra.txt",
    ];
    let made = becr(
        folder.path(),
        &[&make[..], &["--out", "folds.json"]].concat(),
    );
    assert_eq!(
        (made.code, made.stdout.as_str()),
        (Some(0), ""),
        "{}",
        made.stderr
    );
    let shown = becr(folder.path(), &["folds", "show", "folds.json"]);
    let expected = "\
fold  train  validation  test
1        14           3     3
2        14           3     3
3        14           3     3
4        14           3     3
5        14           3     3
15 queries tested once, 5 more always trained on, seed 42
";
    assert_eq!(shown.stdout, expected);

    let file = fs::read_to_string(folder.path().join("folds.json")).unwrap();
    assert_eq!(
        becr(folder.path(), &make).stdout,
        file,
        "a seed gives one split"
    );
    let other = becr(folder.path(), &[&make[..], &["--seed", "1"]].concat()).stdout;
    assert_ne!(other, file);
    let value: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(value["always_train"].as_array().unwrap().len(), 5);
    assert_eq!(value["folds"][4]["test"].as_array().unwrap().len(), 3);
}

#[test]
fn queries_with_the_same_words_are_in_one_fold() {
    let folder = tempfile::tempdir().unwrap();
    let queries: String = (0..20)
        .map(|id| format!("{id}\t{} {}!\n", ["Query", "query"][id % 2], id / 2))
        .collect();
    fs::write(folder.path().join("queries.tsv"), queries).unwrap();
    let made = becr(
        folder.path(),
        &["folds", "make", "--queries", "queries.tsv"],
    );
    let value: Value = serde_json::from_str(&made.stdout).unwrap();
    for fold in value["folds"].as_array().unwrap() {
        let tested: Vec<usize> = (fold["test"].as_array().unwrap().iter())
            .map(|id| id.as_str().unwrap().parse().unwrap())
            .collect();
        assert_eq!(tested.len(), 4);
        assert!(
            tested.iter().all(|id| tested.contains(&(id ^ 1))),
            "{tested:?}"
        );
    }
}

#[test]
fn judged_queries_and_one_file_a_fold() {
    let folder = tempfile::tempdir().unwrap();
    let qrels: String = (1..=6)
        .map(|id| format!("{id} 0 a 1\n{id} 0 b 0\n"))
        .collect();
    fs::write(folder.path().join("qrels.txt"), qrels).unwrap();
    let made = becr(
        folder.path(),
        &["folds", "make", "--qrels", "qrels.txt", "--folds", "3"],
    );
    let value: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!(value["folds"].as_array().unwrap().len(), 3);

    for (name, ids) in [("a", "1\n2\n"), ("b", "3\n"), ("c", "4\n5\n")] {
        fs::write(folder.path().join(name), ids).unwrap();
    }
    let shown = becr(folder.path(), &["folds", "show", "a", "b", "c"]);
    assert!(
        shown
            .stdout
            .contains("5 queries tested once, 0 more always trained on\n"),
        "{}",
        shown.stdout
    );
    let converted = becr(folder.path(), &["folds", "show", "a", "b", "c", "--json"]).stdout;
    let value: Value = serde_json::from_str(&converted).unwrap();
    assert_eq!(
        value["folds"][2],
        serde_json::json!({"train": ["3"], "validation": ["1", "2"], "test": ["4", "5"]})
    );
}

#[test]
fn leaks_and_nonsense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("leak.json"),
        r#"[["1","2"],["3"],["2"]]"#,
    )
    .unwrap();
    let outcome = becr(folder.path(), &["folds", "show", "leak.json"]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome
            .stderr
            .contains("fold file leak.json: fold 3 tests query \"2\""),
        "{}",
        outcome.stderr
    );
    fs::write(folder.path().join("few.tsv"), "1\ta\n2\tb\n").unwrap();
    let outcome = becr(folder.path(), &["folds", "make", "--queries", "few.tsv"]);
    assert!(
        outcome.stderr.contains("for each of 5 folds, found 2"),
        "{}",
        outcome.stderr
    );
    assert_eq!(becr(folder.path(), &["folds", "make"]).code, Some(2));
}
