//! Documents found by meaning.

use super::*;
use becr::{ExplainOptions, FindBy};
use becr_store::{StoreContents, Table};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// An index whose model keeps vectors, and the folder of the model.
fn with_vectors(count: usize) -> (TempDir, PathBuf, Index) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::new(14, 16, 2, 2, 24, 40);
    config.becr = Some(Settings {
        layers: Layers::Last,
        relative: true,
        ..Settings::default()
    });
    let model = model_of(&folder.path().join("model"), &config);
    let path = folder.path().join("index");
    let build = Build::new().model(model).rules(Rules::default());
    let (index, _) = build.run(&path, documents(0..count), &()).unwrap();
    (folder, path, index)
}

fn options(mode: QueryMode, find_by: FindBy, depth: usize) -> SearchOptions {
    SearchOptions {
        k: 1000,
        depth,
        find_by,
        rank: Some(RankOptions {
            mode: Some(mode),
            ..RankOptions::default()
        }),
        ..SearchOptions::default()
    }
}

/// BM25 of every document by its record is that of the first stage, bit by bit, after changes too.
#[test]
fn bm25_by_records_is_that_of_the_first_stage() {
    let (_folder, _, index) = with_vectors(60);
    index.delete(&["d7", "d30"].map(String::from)).unwrap();
    index
        .update(
            [Document::new("d3", "river river", "bank ".repeat(700))],
            &(),
        )
        .unwrap();
    let view = index.view().unwrap();
    for query in [
        "river bank",
        "loan river river zebra",
        "quay",
        "nothing known",
        "the",
    ] {
        let hits = view
            .search(query, &SearchOptions::first_stage(1000))
            .unwrap();
        let expected: BTreeMap<String, f32> = hits
            .results
            .into_iter()
            .map(|hit| (hit.id, hit.score))
            .collect();
        let snapshot = view.snapshot().unwrap();
        let mut numbers = Vec::new();
        snapshot
            .scan(Table::Ids, &mut |key, _| {
                numbers.push(u64::from_be_bytes(key.try_into().unwrap()));
                ControlFlow::Continue(())
            })
            .unwrap();
        let ids = snapshot.ids(&numbers).unwrap();
        let bm25 = becr_rank::Bm25Query::new(&*snapshot, query).unwrap();
        let scores = bm25.scores(&*snapshot, &numbers).unwrap();
        assert!(!numbers.is_empty());
        for (id, score) in ids.into_iter().zip(scores) {
            let expected = expected.get(&id.unwrap()).copied().unwrap_or(0.0);
            assert_eq!(score, Some(expected), "{query}");
        }
    }
}

/// What words miss is found by meaning, says so, and has the first stage's score all the same.
#[test]
fn the_union_has_what_either_finds() {
    let (_folder, _, index) = with_vectors(80);
    let view = index.view().unwrap();
    for mode in [QueryMode::Composed, QueryMode::Encoded] {
        let found = |find_by| {
            let answer = view
                .search("zebra quay", &options(mode, find_by, 6))
                .unwrap();
            answer.results
        };
        let (words, meaning, both) = (
            found(FindBy::Words),
            found(FindBy::Meaning),
            found(FindBy::Both),
        );
        assert!(words.iter().all(|result| result.meaning_rank.is_none()));
        assert_eq!(meaning.len(), 6);
        assert!(
            meaning
                .iter()
                .all(|result| result.first_stage_rank.is_none())
        );
        let new: Vec<_> = both
            .iter()
            .filter(|result| result.first_stage_rank.is_none())
            .collect();
        for result in meaning.iter().chain(&words) {
            let same = both.iter().find(|other| other.id == result.id).unwrap();
            assert_eq!(same.first_stage_score, result.first_stage_score);
            assert!(same.first_stage_rank.is_some() || same.meaning_rank.is_some());
        }
        // Those beyond the depth follow without parts, and none comes twice.
        let ids: std::collections::BTreeSet<&str> =
            both.iter().map(|result| result.id.as_str()).collect();
        assert_eq!(ids.len(), both.len());
        let ranked = both.iter().filter(|result| result.parts.is_some()).count();
        assert!((6..=12).contains(&ranked), "{ranked}");
        let explained = ExplainOptions {
            depth: 6,
            rank: options(mode, FindBy::Both, 6).rank.unwrap(),
            ..ExplainOptions::default()
        };
        for result in new.iter().copied().chain(both.iter().take(2)) {
            let answer = view
                .explain("zebra quay", &[&result.id], &explained)
                .unwrap();
            let document = &answer.documents[0];
            assert_eq!(document.rank, Some(result.rank));
            assert_eq!(document.meaning_rank, result.meaning_rank);
            assert_eq!(document.first_stage_rank, result.first_stage_rank);
            assert!((document.explanation.score as f32 - result.score).abs() < 1e-4);
        }
    }
}

/// Composed queries find by meaning where there is no encoder.
#[test]
fn composed_queries_find_by_meaning_without_an_encoder() {
    let (folder, path, index) = with_vectors(40);
    let before = index
        .search("river bank", &options(QueryMode::Composed, FindBy::Both, 5))
        .unwrap();
    drop(index);
    std::fs::remove_dir_all(folder.path().join("model")).unwrap();
    for entry in std::fs::read_dir(path.join("model")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        assert!(
            !name.starts_with("model."),
            "the index keeps no encoder: {name}"
        );
    }
    let index = Index::open(&path).unwrap();
    let after = index
        .search("river bank", &options(QueryMode::Composed, FindBy::Both, 5))
        .unwrap();
    assert_eq!(after.results, before.results);
    assert!(
        after
            .results
            .iter()
            .any(|result| result.meaning_rank.is_some())
    );
    assert!(
        index
            .search("river bank", &options(QueryMode::Encoded, FindBy::Both, 5))
            .is_err()
    );
}

/// A model without vectors finds by words, and says so when asked for more.
#[test]
fn indexes_without_vectors_find_by_words() {
    let (_folder, _, index) = built(20);
    assert!(!index.view().unwrap().finds_by_meaning());
    let both = index
        .search("river", &options(QueryMode::Composed, FindBy::Both, 5))
        .unwrap();
    assert!(!both.results.is_empty());
    assert!(
        both.results
            .iter()
            .all(|result| result.meaning_rank.is_none())
    );
    let refused = index.search("river", &options(QueryMode::Composed, FindBy::Meaning, 5));
    assert!(matches!(refused, Err(Error::Options(_))));
}

/// The order does not depend on how the index came to be.
#[test]
fn changed_and_built_indexes_find_the_same() {
    let (_a, _, changed) = with_vectors(50);
    changed.delete(&["d1", "d2"].map(String::from)).unwrap();
    changed.add(documents(1..3), Existing::Refuse, &()).unwrap();
    let (_b, _, built) = with_vectors(50);
    changed.compact(&()).unwrap();
    for depth in [3, 10, 200] {
        let options = options(QueryMode::Composed, FindBy::Both, depth);
        let ids = |index: &Index| {
            let found = index.search("money boat spring", &options).unwrap().results;
            found
                .into_iter()
                .map(|result| (result.id, result.meaning_rank))
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(&changed), ids(&built));
    }
}
