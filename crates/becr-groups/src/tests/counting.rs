use super::*;
use crate::Error;
use becr_text::groups::{Decomposition, Query};
use proptest::prelude::*;
use std::fs;

fn documents() -> impl Strategy<Value = Vec<Document>> {
    // Few words, some of them beginnings of others, so that keys meet and their order matters.
    let word = prop_oneof![
        8 => prop::sample::select(vec!["a", "ab", "abc", "b", "be", "Ä", "東京", "é,", "x-y", "the"]).prop_map(String::from),
        1 => "[a-z]{1,4}",
        1 => Just("w".repeat(101)),
    ];
    let field = prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "));
    prop::collection::vec(prop::collection::vec(field, 0..3), 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn agrees_with_the_naive_count(
        documents in documents(),
        window in 0u32..5,
        memory in prop::sample::select(vec![0, 8_000, 1 << 20]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let counter = count(&documents, &options(folder.path(), window, memory));
        let file = counter.finish(&folder.path().join("counts")).unwrap();
        let expected = naive(&documents, window);
        prop_assert_eq!(entries(&file), &expected[..]);
        prop_assert_eq!(&CountFile::open(file.path()).unwrap(), &file);
        let totals = file.totals();
        let of = |pairs| expected.iter().filter(move |e| e.key.contains(' ') == pairs);
        prop_assert_eq!(totals.documents, documents.len() as u64);
        prop_assert_eq!(totals.distinct_pairs, of(true).count() as u64);
        prop_assert_eq!(totals.distinct_words, of(false).count() as u64);
        prop_assert_eq!(totals.words, of(false).map(|e| e.occurrences).sum::<u64>());
        // Scratch folders and partial files are gone.
        prop_assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn order_threads_and_shards_do_not_show(
        documents in documents(),
        parts in 1usize..5,
        memory in prop::sample::select(vec![0, 1 << 20]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let whole = count(&documents, &options(folder.path(), 2, 1 << 20)).finish(&at("whole")).unwrap();
        let options = options(folder.path(), 2, memory);
        let part = |p: usize| -> Vec<Document> {
            documents.iter().rev().skip(p).step_by(parts).cloned().collect()
        };
        let mut first = count(&part(0), &options);
        for p in 1..parts {
            first.absorb(count(&part(p), &options)).unwrap();
        }
        let threads = first.finish(&at("threads")).unwrap();
        prop_assert_eq!(threads.digest(), whole.digest());
        let shards: Vec<CountFile> = (0..parts)
            .map(|p| count(&part(p), &options).finish(&at(&p.to_string())).unwrap())
            .collect();
        let merged = CountFile::merge(&shards, &at("merged"), folder.path(), memory).unwrap();
        prop_assert_eq!(merged.digest(), whole.digest());
        prop_assert_eq!(fs::read(merged.path()).unwrap(), fs::read(whole.path()).unwrap());
    }
}

#[test]
fn a_query_counts_as_it_is_decomposed() {
    let folder = tempfile::tempdir().unwrap();
    let text = "New York new hotels near the Hudson, new";
    let file = count_texts(folder.path(), "query", &[text]);
    let query = Query::new(text, &Decomposition::default());
    let mut expected: Vec<String> = query.groups.iter().map(ToString::to_string).collect();
    expected.sort();
    let keys: Vec<String> = entries(&file).into_iter().map(|entry| entry.key).collect();
    assert_eq!(keys, expected);
}

#[test]
fn fields_and_long_words_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    let long = "l".repeat(101);
    let documents = vec![vec!["one".into(), format!("two {long} three")]];
    let counter = count(&documents, &options(folder.path(), 2, 0));
    let file = counter.finish(&folder.path().join("counts")).unwrap();
    let keys: Vec<String> = entries(&file).into_iter().map(|entry| entry.key).collect();
    assert_eq!(keys, ["one", "three", "two", "two three"]);
    assert_eq!((file.totals().words, file.totals().long_words), (3, 1));
}

#[test]
fn a_document_larger_than_the_budget_is_counted_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let text: Vec<String> = (0..3000).map(|i| format!("w{}", i * i % 1009)).collect();
    let documents: Vec<Document> = (0..3).map(|_| vec![text.join(" ")]).collect();
    let counter = count(&documents, &options(folder.path(), 3, 10_000));
    let file = counter.finish(&folder.path().join("counts")).unwrap();
    assert_eq!(entries(&file), naive(&documents, 3));
}

#[test]
fn different_windows_are_not_added_up() {
    let folder = tempfile::tempdir().unwrap();
    let documents = vec![vec!["a b c".to_string()]];
    let files: Vec<CountFile> = [1, 2]
        .map(|window| {
            let counter = count(&documents, &options(folder.path(), window, 0));
            counter
                .finish(&folder.path().join(window.to_string()))
                .unwrap()
        })
        .to_vec();
    let out = folder.path().join("out");
    let error = CountFile::merge(&files, &out, folder.path(), 0).unwrap_err();
    assert!(matches!(&error, Error::Window { path, expected: 1, found: 2 } if path.ends_with("2")));
    let error = CountFile::merge(&[], &out, folder.path(), 0).unwrap_err();
    assert!(matches!(error, Error::NothingToMerge));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_missing_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    let mut counter = Counter::new(&options(&nowhere, 3, 0));
    let error = (0..100)
        .find_map(|i| counter.add(&[&format!("word{i} {i}")]).err())
        .unwrap();
    assert!(error.to_string().contains("nowhere"), "{error}");
    let counter = Counter::new(&options(folder.path(), 3, 0));
    let error = counter.finish(&nowhere.join("counts")).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}
