use becr_corpus::{CorpusOptions, OnError, SideFiles};

use crate::{Files, zstd};

const CORPUS: &[u8] = b"{\"id\":\"a\",\"text\":\"x\",\"pagerank\":9}\n{\"id\":\"b\",\"text\":\"x\"}\n{\"id\":\"c\",\"text\":\"x\"}\n";

fn options(files: &Files, spam_threshold: Option<f32>, on_error: OnError) -> CorpusOptions {
    let side = SideFiles {
        pagerank: Some(files.path("pagerank")),
        spam: Some(files.path("spam")),
        spam_threshold,
    };
    CorpusOptions {
        side,
        on_error,
        ..CorpusOptions::default()
    }
}

#[test]
fn scores_become_features_and_spam_is_left_out() {
    let pagerank = zstd(b"a\t0.25\nc\t1e-3\nnot-there\t5\n");
    let files = Files::new(&[
        ("c.jsonl", CORPUS),
        ("pagerank", &pagerank),
        ("spam", b"69 a\n70 b\n"),
    ]);
    let outcome = files.read(&["c.jsonl"], &options(&files, None, OnError::Stop));
    assert_eq!(outcome.error, None);
    assert_eq!(
        outcome.documents[0].features,
        [("pagerank".to_owned(), 0.25), ("spam".to_owned(), 69.0)]
    );
    assert_eq!(outcome.documents[1].features, [("spam".to_owned(), 70.0)]);
    assert_eq!(
        outcome.documents[2].features,
        [("pagerank".to_owned(), 1e-3)]
    );
    let strict = files.read(&["c.jsonl"], &options(&files, Some(70.0), OnError::Stop));
    assert_eq!(strict.ids(), ["b", "c"]);
    assert_eq!(
        strict.report.left_out["document below the spam threshold"],
        1
    );
}

#[test]
fn bad_lines_are_named_or_counted() {
    let files = Files::new(&[
        ("c.jsonl", CORPUS),
        ("pagerank", b"a 0.5\nb nan\nc 1 2\n"),
        ("spam", b""),
    ]);
    let stopped = files.read(&["c.jsonl"], &options(&files, None, OnError::Stop));
    assert_eq!(
        stopped.error(),
        "pagerank:2: expected an id and a score, in the order of the first line, found \"b\" and \"nan\""
    );
    let skipped = files.read(&["c.jsonl"], &options(&files, None, OnError::Skip));
    assert_eq!(skipped.documents.len(), 3);
    assert_eq!(skipped.report.faults["malformed record"], 2);
}
