//! The promises of the module, on small random collections.

use super::{FirstStage, Writer};
use crate::manifest::Manifest;
use proptest::prelude::*;
use std::path::Path;

type Document = (&'static str, String);

/// Writes documents, a commit after every `every` of them, and deletes `deleted` at the end.
fn build(dir: &Path, documents: &[Document], every: usize, deleted: &[&str]) {
    Manifest::default().write(dir).unwrap();
    let mut writer = Writer::create(&Manifest::default().first_stage(dir)).unwrap();
    for batch in documents.chunks(every) {
        for (id, body) in batch {
            writer.add(id, &format!("about {id}"), body).unwrap();
        }
        writer.commit().unwrap();
    }
    deleted.iter().for_each(|id| writer.delete(id));
    writer.finish().unwrap();
}

fn hits(dir: &Path, query: &str, k: usize) -> Vec<(String, f32)> {
    let hits = FirstStage::open(dir).unwrap().search(query, k).unwrap();
    hits.into_iter().map(|hit| (hit.id, hit.score)).collect()
}

const IDS: [&str; 12] = [
    "ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay", "kiwi", "lynx",
];

/// Bodies over a small vocabulary, so that words repeat and scores tie.
fn collection() -> impl Strategy<Value = Vec<Document>> {
    let word = prop::sample::select(vec![
        "river", "bank", "money", "loan", "the", "fish", "boat",
    ]);
    let body = prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "));
    prop::collection::vec(body, IDS.len()).prop_map(|bodies| IDS.into_iter().zip(bodies).collect())
}

/// A writer may clear a replaced commit's files away while it is opened: that shows then, and not in the first search.
#[test]
fn a_file_that_is_gone_is_missed_at_once() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), &[("ant", "river bank".to_owned())], 9, &[]);
    let folder = Manifest::default().first_stage(dir.path());
    let files = || {
        std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let of_segment = |path: &std::path::PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str());
        name.is_some_and(|name| name.len() == 32)
    };
    let segment: Vec<_> = files().filter(of_segment).collect();
    assert!(segment.len() >= 6, "{segment:?}");
    for path in segment {
        let aside = path.with_extension("aside");
        std::fs::rename(&path, &aside).unwrap();
        assert!(FirstStage::open(dir.path()).is_err(), "{}", path.display());
        std::fs::rename(&aside, &path).unwrap();
    }
    assert_eq!(hits(dir.path(), "river", 9).len(), 1);
}

#[test]
fn bm25_is_the_formula() {
    let dir = tempfile::tempdir().unwrap();
    let documents = [
        ("ant", "river bank river".to_owned()),
        ("bee", "money bank".to_owned()),
    ];
    build(dir.path(), &documents, 9, &[]);
    // Two documents, "river" in one of them; 3 words where 2.5 is the average.
    let idf = (1.0f64 + (2.0 - 1.0 + 0.5) / (1.0 + 0.5)).ln();
    let tf = 2.0 * 2.2 / (2.0 + 1.2 * (1.0 - 0.75 + 0.75 * 3.0 / 2.5));
    let found = hits(dir.path(), "rivers", 10);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "ant");
    assert!(
        (f64::from(found[0].1) - idf * tf).abs() < 1e-5,
        "{found:?} {}",
        idf * tf
    );
}

#[test]
fn titles_count_and_repeated_words_count_again() {
    let dir = tempfile::tempdir().unwrap();
    let documents = [("ant", "bank".to_owned()), ("bee", "money".to_owned())];
    build(dir.path(), &documents, 9, &[]);
    assert_eq!(hits(dir.path(), "bees", 10)[0].0, "bee");
    let (once, twice) = (
        hits(dir.path(), "bank", 10),
        hits(dir.path(), "bank bank", 10),
    );
    assert!((twice[0].1 - 2.0 * once[0].1).abs() < 1e-5);
    let first_stage = FirstStage::open(dir.path()).unwrap();
    let hit = &first_stage.search("bank", 1).unwrap()[0];
    assert_eq!(first_stage.title(&hit.id).unwrap(), "about ant");
}

#[test]
fn odd_queries_are_answered() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), &[("ant", "the who".to_owned())], 9, &[]);
    assert!(hits(dir.path(), "", 10).is_empty());
    assert!(hits(dir.path(), "?! \u{0}", 10).is_empty());
    assert!(hits(dir.path(), "zebra 🦓", 10).is_empty());
    assert!(hits(dir.path(), "who", 0).is_empty());
    assert_eq!(
        hits(dir.path(), "The Who", usize::MAX).len(),
        1,
        "stop words, for want of others"
    );
    assert_eq!(hits(dir.path(), &"who ".repeat(10_000), 10).len(), 1);
}

#[test]
fn an_empty_index_finds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), &[], 1, &[]);
    assert!(hits(dir.path(), "bank", 10).is_empty());
}

#[test]
fn more_ties_than_the_cut() {
    let dir = tempfile::tempdir().unwrap();
    Manifest::default().write(dir.path()).unwrap();
    let writer = Writer::create(&Manifest::default().first_stage(dir.path())).unwrap();
    for n in (0..500).rev() {
        writer.add(&format!("d{n:03}"), "", "bank").unwrap();
    }
    writer.finish().unwrap();
    let found: Vec<String> = hits(dir.path(), "bank", 3)
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(found, ["d000", "d001", "d002"]);
}

/// A background merge that ends between the taking of a list and its publication replaces files that the list names.
/// They stay until a list is published that does without them: whoever dies before that leaves an index that can be read.
#[test]
fn a_merge_before_publication_leaves_the_published_files() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("first-stage");
    let mut writer = Writer::held(&folder, None).unwrap();
    let found = |list: &[u8]| {
        let first_stage = FirstStage::at(&folder, Some(list)).unwrap();
        first_stage.search("river", 100).unwrap().len()
    };
    let mut merges = 0;
    for n in 0..24 {
        writer.add(&format!("d{n}"), "", "river bank").unwrap();
        let list = writer.commit().unwrap().unwrap();
        // The policy merges eight segments of a size.
        let is_merging = segments(&list) >= 8;
        let waiting = std::time::Instant::now();
        while is_merging && writer.newest() == Some(list.clone()) {
            assert!(waiting.elapsed().as_secs() < 60, "no merge");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        writer.published(&list);
        merges += usize::from(is_merging);
        assert_eq!(found(&list), n + 1);
    }
    assert!(merges >= 2, "{merges}");
    let finished = writer.finish().unwrap();
    let list = finished.commit().unwrap();
    finished.published();
    assert_eq!(found(&list), 24);
    let of_segments = std::fs::read_dir(&folder).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
        !name.starts_with('.') && !name.ends_with(".json")
    });
    assert!(of_segments.count() <= 7 * segments(&list), "nothing stays");
}

fn segments(list: &[u8]) -> usize {
    let list: serde_json::Value = serde_json::from_slice(list).unwrap();
    list["segments"].as_array().unwrap().len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn deleted_documents_leave_no_trace(documents in collection(), mask in 0u16..4096) {
        let is_deleted = |n: usize| mask >> n & 1 == 1;
        let deleted: Vec<&str> = (0..12).filter(|&n| is_deleted(n)).map(|n| IDS[n]).collect();
        let kept: Vec<Document> =
            (0..12).filter(|&n| !is_deleted(n)).map(|n| documents[n].clone()).collect();
        let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        build(with.path(), &documents, 5, &deleted);
        build(without.path(), &kept, 100, &[]);
        for query in ["river bank", "money", "the", "about loan boat fish", "elk"] {
            prop_assert_eq!(hits(with.path(), query, 5), hits(without.path(), query, 5));
        }
    }

    #[test]
    fn the_layout_does_not_show(documents in collection(), every in 1usize..12) {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut reversed = documents.clone();
        reversed.reverse();
        build(one.path(), &documents, 100, &[]);
        build(other.path(), &reversed, every, &[]);
        for query in ["river bank money fish", "the bank", "boat boat loan"] {
            prop_assert_eq!(hits(one.path(), query, 4), hits(other.path(), query, 4));
        }
    }
}
