use super::*;
use crate::usefulness::Usefulness;
use crate::{
    Error, Frequency, GroupList, RecordBytes, Rules, SelectionReport, Sources, Vocabulary,
};
use proptest::prelude::*;
use std::fs;

/// Every group is kept, of 10 and 20 bytes.
const ALL: Rules = Rules {
    by: Frequency::Documents,
    pair_distance: None,
    min_word_documents: 1,
    min_pair_documents: 1,
    vocabulary_words_only: false,
    budget: None,
    record_bytes: RecordBytes {
        unigram: 10,
        pair: 20,
    },
};

fn keys(list: &GroupList) -> Vec<String> {
    list.iter()
        .unwrap()
        .map(|group| group.unwrap().group.to_string())
        .collect()
}

/// Selects from texts, with a log if there are queries.
fn select(
    folder: &Path,
    texts: &[&str],
    queries: &[&str],
    vocabulary: &[&str],
    rules: &Rules,
) -> Result<(GroupList, SelectionReport), Error> {
    let counts = count_texts(folder, "counts", texts);
    let log = count_texts(folder, "log", queries);
    let sources = Sources {
        counts: &counts,
        log: (!queries.is_empty()).then_some(&log),
        vocabulary: &Vocabulary::new(vocabulary.iter().copied()),
    };
    sources.select(rules, &folder.join("groups"))
}

/// The paper's rule: what occurs more than once in all, if in one document alone.
#[test]
fn by_collection_frequency() {
    let folder = tempfile::tempdir().unwrap();
    let texts = ["dough rises dough rises", "bread"];
    let more_than_once = |by| Rules {
        min_word_documents: 2,
        min_pair_documents: 2,
        by,
        ..ALL
    };
    let chosen = |by| {
        let rules = more_than_once(by);
        let (list, _) = select(folder.path(), &texts, &[], &[], &rules).unwrap();
        keys(&list)
    };
    assert_eq!(chosen(Frequency::Documents), [""; 0]);
    let by_occurrences = chosen(Frequency::Occurrences);
    for (key, is_chosen) in [("dough", true), ("dough rises", true), ("bread", false)] {
        let has = by_occurrences.iter().any(|chosen| chosen == key);
        assert_eq!(has, is_chosen, "{key}: {by_occurrences:?}");
    }
}

const TEXTS: [&str; 3] = ["neural ranking", "neural ranking", "neural nets"];

#[test]
fn thresholds() {
    let folder = tempfile::tempdir().unwrap();
    let rules = Rules {
        min_word_documents: 3,
        min_pair_documents: 2,
        ..ALL
    };
    let (list, report) = select(folder.path(), &TEXTS, &[], &["##s", "[PAD]"], &rules).unwrap();
    assert_eq!(keys(&list), ["##s", "neural", "neural ranking"]);
    assert_eq!((report.cut.rare_words, report.cut.rare_pairs), (2, 1));
    assert_eq!(
        (report.bytes(), report.groups(), report.special_pieces),
        (40, 3, 1)
    );
    let documents: Vec<u64> = list
        .iter()
        .unwrap()
        .map(|group| group.unwrap().documents)
        .collect();
    assert_eq!(documents, [0, 3, 2]);
    assert_eq!((list.len(), list.window(), list.documents()), (3, 3, 3));
}

#[test]
fn only_words_of_the_vocabulary() {
    let folder = tempfile::tempdir().unwrap();
    let rules = Rules {
        vocabulary_words_only: true,
        ..ALL
    };
    let (list, report) = select(folder.path(), &TEXTS, &[], &["neural", "nets"], &rules).unwrap();
    assert_eq!(keys(&list), ["nets", "neural", "neural nets"]);
    assert_eq!(
        (
            report.cut.words_outside_vocabulary,
            report.cut.pairs_outside_vocabulary
        ),
        (1, 1)
    );
}

#[test]
fn the_log_overrides_thresholds_and_comes_first_in_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let rules = Rules {
        min_word_documents: 2,
        min_pair_documents: 9,
        ..ALL
    };
    let queries = ["deep nets", "deep"];
    let (list, report) = select(folder.path(), &TEXTS, &queries, &[], &rules).unwrap();
    assert_eq!(
        keys(&list),
        ["deep", "deep nets", "nets", "neural", "ranking"]
    );
    assert_eq!(report.from_log, 3);
    // deep is asked twice; nets and deep nets once each, and nets is in a document.
    for (budget, expected) in [
        (10, &["deep"][..]),
        (20, &["deep", "nets"]),
        (40, &["deep", "deep nets", "nets"]),
    ] {
        let rules = Rules {
            budget: Some(budget),
            ..rules
        };
        let (list, _) = select(folder.path(), &TEXTS, &queries, &[], &rules).unwrap();
        assert_eq!(keys(&list), expected);
    }
}

#[test]
fn the_budget_keeps_the_most_useful_and_ties_go_by_key() {
    let folder = tempfile::tempdir().unwrap();
    let cut = |budget| {
        let rules = Rules {
            budget: Some(budget),
            ..ALL
        };
        select(folder.path(), &TEXTS, &[], &["##s"], &rules).map(|(list, _)| keys(&list))
    };
    assert_eq!(cut(10).unwrap(), ["##s"]);
    assert_eq!(cut(20).unwrap(), ["##s", "neural"]);
    // "neural ranking" (20 bytes, two documents, two vectors) ties with "ranking".
    assert_eq!(cut(30).unwrap(), ["##s", "neural", "ranking"]);
    assert_eq!(cut(40).unwrap(), ["##s", "neural", "neural ranking"]);
    assert_eq!(
        cut(50).unwrap(),
        ["##s", "neural", "neural ranking", "ranking"]
    );
    assert_eq!(cut(1000).unwrap().len(), 6);
    let error = cut(9).unwrap_err();
    assert!(matches!(
        error,
        Error::Budget {
            budget: 9,
            pieces: 1,
            needed: 10
        }
    ));
    assert!(!folder.path().join("groups.partial").exists());
}

#[test]
fn coverage_of_queries() {
    let folder = tempfile::tempdir().unwrap();
    let (list, mut report) = select(folder.path(), &TEXTS, &[], &[], &ALL).unwrap();
    let queries = count_texts(
        folder.path(),
        "queries",
        &["neural nets", "neural search", "nets neural"],
    );
    let coverage = list.coverage(&queries).unwrap();
    assert_eq!(
        (
            coverage.queries,
            coverage.words.distinct,
            coverage.words.distinct_found
        ),
        (3, 3, 2)
    );
    assert_eq!(
        (coverage.words.occurrences, coverage.words.occurrences_found),
        (6, 5)
    );
    assert_eq!(
        (coverage.pairs.distinct, coverage.pairs.distinct_found),
        (3, 1)
    );
    assert_eq!(
        (
            coverage.pair_vectors.distinct,
            coverage.pair_vectors.distinct_found
        ),
        (6, 2)
    );
    report.coverage = Some(coverage);
    let text = report.to_string();
    assert!(
        text.contains("pairs of 3 queries: 1 of 3 found (33.3 %), 1 of 3 occurrences (33.3 %)"),
        "{text}"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["coverage"]["words"]["occurrences_found"], 5);
    assert_eq!(json["pairs"]["groups"], 2);
}

#[test]
fn another_window_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let counts = count_texts(folder.path(), "counts", &TEXTS);
    let narrow = count(&[], &options(folder.path(), 1, 0))
        .finish(&folder.path().join("narrow"))
        .unwrap();
    let vocabulary = Vocabulary::default();
    let sources = Sources {
        counts: &counts,
        log: Some(&narrow),
        vocabulary: &vocabulary,
    };
    let out = folder.path().join("groups");
    let error = sources.select(&ALL, &out).unwrap_err();
    assert!(error.to_string().contains("narrow"), "{error}");
    let sources = Sources {
        log: None,
        ..sources
    };
    let (list, _) = sources.select(&ALL, &out).unwrap();
    assert!(matches!(list.coverage(&narrow), Err(Error::Window { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn budgets_are_kept_and_spent_on_the_best(
        texts in prop::collection::vec("([abc]|the|of|zz)( ([abc]|the|of|zz)){0,6}", 1..8),
        queries in prop::collection::vec("[abq]( [abq]){0,2}", 0..3),
        budget in 20u64..600,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
        let rules = Rules { budget: Some(budget), ..ALL };
        let (list, report) = select(folder.path(), &texts, &queries, &["a", "##x"], &rules).unwrap();
        let kept = keys(&list);
        let bytes: u64 = kept.iter().map(|key| rules.record_bytes.of(key)).sum();
        prop_assert!(bytes <= budget);
        prop_assert_eq!(bytes, report.bytes());
        let counts = CountFile::open(&folder.path().join("counts")).unwrap();
        let log = CountFile::open(&folder.path().join("log")).unwrap();
        let of = |file: &CountFile| -> BTreeMap<String, u64> {
            entries(file).into_iter().map(|entry| (entry.key, entry.documents)).collect()
        };
        let (corpus, asked) = (of(&counts), of(&log));
        let all: BTreeSet<&String> = corpus.keys().chain(asked.keys()).collect();
        let useful = |key: &str| {
            let number = |from: &BTreeMap<String, u64>| from.get(key).copied().unwrap_or(0);
            Usefulness::new(key, number(&corpus), number(&asked), &rules.record_bytes)
        };
        let worst_kept = kept.iter().filter(|key| !["a", "##x"].contains(&key.as_str())).map(|key| useful(key)).min();
        let left_out: Vec<&String> = all.into_iter().filter(|key| !kept.contains(key)).collect();
        for key in &left_out {
            prop_assert!(worst_kept.is_none_or(|worst| useful(key) <= worst), "{key}");
        }
        // Nothing more would have fitted.
        prop_assert!(left_out.is_empty() || budget - bytes < 20);
        let cut = report.cut;
        prop_assert_eq!(left_out.len() as u64, cut.words_over_budget + cut.pairs_over_budget);
        // The same again.
        let before = fs::read(list.path()).unwrap();
        select(folder.path(), &texts, &queries, &["a", "##x"], &rules).unwrap();
        prop_assert_eq!(before, fs::read(list.path()).unwrap());
    }
}
