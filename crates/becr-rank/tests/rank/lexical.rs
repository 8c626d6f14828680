//! Lexical features against the slow implementation.

use crate::collection::{Collection, Dice, WINDOW, pieces, shape};
use crate::slow::Texts;
use becr_lmdb::Store;
use becr_model::{Head, Proximity};
use becr_rank::{Candidate, LEXICAL_FEATURES, RankError, RankOptions, RankWorkspace, Ranker};
use becr_store::{Header, NewDocument};
use becr_text::groups::TokenGroup;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The features of some documents as the ranker computes them.
fn fast(ranker: &Ranker, store: &Store, query: &str, numbers: &[u64]) -> Vec<Vec<f32>> {
    let snapshot = store.snapshot().unwrap();
    let query = ranker
        .query(&snapshot, query, &RankOptions::default(), None)
        .unwrap();
    let candidates: Vec<_> = numbers
        .iter()
        .map(|&number| Candidate {
            number,
            ..Default::default()
        })
        .collect();
    let mut rows = Vec::new();
    let mut work = RankWorkspace::new();
    ranker
        .features(&query, &snapshot, &candidates, &mut work, |document| {
            rows.push(document.lexical().to_vec());
            Ok::<(), RankError>(())
        })
        .unwrap();
    rows
}

fn compare(texts: &Texts<'_>, query: &str, document: usize, found: &[f32]) -> Result<(), String> {
    let expected = texts.features(query, document);
    assert_eq!(expected.len() + 1, LEXICAL_FEATURES.len());
    for (name, found) in LEXICAL_FEATURES.iter().zip(found) {
        let expected = expected.get(*name).copied().unwrap_or(0.0);
        let error = (f64::from(*found) - expected).abs();
        if error > 2e-5 * expected.abs().max(1.0) {
            return Err(format!(
                "{query:?}, document {document}: {name} is {found}, expected {expected}"
            ));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn equal_to_the_formulas(seed in any::<u64>(), documents in 1usize..12, length in 0usize..9) {
        let collection = Collection::new(seed, documents);
        let mut head = Head::blank("encoder-1", usize::from(collection.shape.layers));
        let query = Dice(!seed).words(length);
        let counted = |pair: &str| collection.groups.contains_key(pair);
        let texts = collection.documents.iter().map(|d| (d.title.as_str(), d.text.as_str()));
        let mut texts = Texts::new(texts, &counted);
        let numbers: Vec<u64> = (0..documents as u64).collect();
        for proximity in [Proximity::Window, Proximity::Query] {
            head.proximity = proximity;
            texts.any_two = proximity == Proximity::Query;
            let ranker = collection.ranker(head.clone());
            for (document, found) in fast(&ranker, &collection.store, &query, &numbers).iter().enumerate() {
                prop_assert_eq!(compare(&texts, &query, document, found), Ok(()));
            }
        }
    }
}

/// The same on a real collection. `BECR_TEST_CORPUS` names a directory with `corpus.jsonl.zst` (`id`, `title`,
/// `text` a line) and `queries.tsv` (id TAB text); without it there is nothing to check.
#[test]
fn equal_to_the_formulas_on_a_corpus() {
    let Some(folder) = std::env::var_os("BECR_TEST_CORPUS").map(PathBuf::from) else {
        return;
    };
    let corpus = std::fs::File::open(folder.join("corpus.jsonl.zst")).unwrap();
    let corpus = String::from_utf8(zstd::decode_all(corpus).unwrap()).unwrap();
    let rows: Vec<serde_json::Value> = corpus
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let queries = std::fs::read_to_string(folder.join("queries.tsv")).unwrap();
    let queries: Vec<&str> = queries
        .lines()
        .filter_map(|line| Some(line.split_once('\t')?.1))
        .collect();
    let pairs = every_second_pair(&queries);
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path(), &pairs, &rows);
    let head = Head::blank("encoder-1", usize::from(shape(0).layers));
    let ranker = Ranker::for_store(store.header(), head, pieces()).unwrap();
    let counted = |pair: &str| pairs.contains(pair);
    let field = |row: &'static str| {
        move |value: &serde_json::Value| value[row].as_str().unwrap_or("").to_owned()
    };
    let texts: Vec<(String, String)> = rows
        .iter()
        .map(|row| (field("title")(row), field("text")(row)))
        .collect();
    let texts = Texts::new(
        texts.iter().map(|(a, b)| (a.as_str(), b.as_str())),
        &counted,
    );
    let mut dice = Dice(5);
    for query in queries.iter().take(20) {
        let numbers: Vec<u64> = (0..5).map(|_| dice.below(rows.len()) as u64).collect();
        let found = fast(&ranker, &store, query, &numbers);
        for (&number, found) in numbers.iter().zip(&found) {
            compare(&texts, query, number as usize, found).unwrap();
        }
    }
}

/// Pairs of the queries that are put into the token store, so that both kinds are met.
fn every_second_pair(queries: &[&str]) -> BTreeSet<String> {
    let mut pairs = BTreeSet::new();
    for query in queries {
        let words = crate::slow::words(query);
        for i in 0..words.len() {
            for j in i + 1..words.len().min(i + WINDOW + 1) {
                pairs.insert(format!("{} {}", words[i], words[j]));
            }
        }
    }
    pairs.into_iter().step_by(2).collect()
}

/// A store of texts without footprints.
fn store(dir: &std::path::Path, pairs: &BTreeSet<String>, rows: &[serde_json::Value]) -> Store {
    let store = Store::create(dir, &Header::new("encoder-1", shape(0), WINDOW)).unwrap();
    let mut update = store.update().unwrap();
    for pair in pairs {
        let (first, second) = pair.split_once(' ').unwrap();
        let group = TokenGroup::Pair(first.into(), second.into());
        update.put_group(&group, &[0; 32]).unwrap();
    }
    for row in rows {
        let document = NewDocument {
            id: row["id"].as_str().unwrap(),
            title: row["title"].as_str().unwrap_or(""),
            text: row["text"].as_str().unwrap_or(""),
            mean: &[0; 8],
            ..Default::default()
        };
        update.put(&document).unwrap();
    }
    update.commit().unwrap();
    store
}
