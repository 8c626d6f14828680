//! Indexes of every format that was ever current, checked in, stay readable.
//!
//! `formats/3` was written by the program as it was before it had generations: no commit of the store knows the first
//! stage's, which is in the engine's own file.

use becr::{Document, Existing, Index, Model, OpenOptions, SearchOptions};
use std::fs;
use std::path::{Path, PathBuf};

/// A result: id, score, rank in the first stage.
type Expected = (&'static str, f32, usize);

/// What that program said of it.
const DIGEST: &str = "7dccf7ea5ade23adb39778c749976d83";
const ANSWERS: [(&str, [Expected; 4]); 2] = [
    (
        "river bank",
        [
            ("d35", 1.7455056, 4),
            ("d31", 1.6206187, 1),
            ("d23", 1.2223719, 5),
            ("d19", 1.0932742, 2),
        ],
    ),
    (
        "zebra quay fish",
        [
            ("d29", 1.9573772, 2),
            ("d35", 1.9362415, 1),
            ("d23", 1.6754141, 3),
            ("d26", 1.5469936, 18),
        ],
    ),
];

/// A copy that may be written to.
fn copy(folder: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/3");
    copy_tree(&from, folder);
    folder.join("index")
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn check_answers(index: &Index) {
    for (query, expected) in ANSWERS {
        let answer = index.search(query, &SearchOptions::default()).unwrap();
        for (result, (id, score, first_stage_rank)) in answer.results.iter().zip(expected) {
            let found = (result.id.as_str(), result.first_stage_rank);
            assert_eq!(found, (id, Some(first_stage_rank)), "{query}");
            // Ways of pooling may change; what they compute may not.
            assert!((result.score - score).abs() < 1e-3, "{query}: {result:?}");
        }
    }
}

#[test]
fn an_index_without_generations_is_read_changed_and_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(folder.path());
    let model = Model::read(folder.path().join("model")).unwrap();
    let index = OpenOptions::new().model(model).open(&path).unwrap();
    let before = index.view().unwrap();
    assert_eq!(before.generation().commit, 0);
    assert_eq!(before.digest().unwrap(), DIGEST);
    check_answers(&index);
    assert!(index.verify().unwrap().problems.is_empty());

    let more = Document::new("new", "", "river bank");
    index.add([more], Existing::Refuse, &()).unwrap();
    assert!(index.reload().unwrap() > before.generation());
    assert_eq!(index.view().unwrap().documents().unwrap(), 41);
    index.delete(&["new".to_owned()]).unwrap();
    check_answers(&index);
    index.compact(&()).unwrap();
    check_answers(&index);
    assert_eq!(index.view().unwrap().digest().unwrap(), DIGEST);
    assert!(index.verify().unwrap().problems.is_empty());
    drop(before);
}

#[test]
fn another_format_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(folder.path());
    let manifest = path.join("becr.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"format\": 1", "\"format\": 9")).unwrap();
    let error = Index::open(&path).err().unwrap().to_string();
    assert!(
        error.contains("format 9") && error.contains("build the index again"),
        "{error}"
    );
}
