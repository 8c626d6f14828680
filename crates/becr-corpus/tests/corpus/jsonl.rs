use becr_corpus::CorpusOptions;

use crate::{Files, document, read, read_skipping};

#[test]
fn fields_features_and_oddities() {
    let content = "\u{feff}{\"id\": \"a\", \"title\": \"T\", \"text\": \"x \\\"y\\\" é\", \"pagerank\": 0.5, \"age\": -3}\r\n\
        \r\n   \n\
        {\"_id\": 7, \"text\": null, \"title\": \"only a title\", \"metadata\": {\"deep\": [1, {}]}, \"tags\": [], \"ok\": true}\n\
        {\"id\": -2, \"contents\": \"c\"}\n\
        {\"id\": \"z\", \"body\": \"b\", \"n\": 1, \"n\": 2}";
    let outcome = read("corpus.jsonl", content.as_bytes());
    assert_eq!(outcome.error, None);
    let mut first = document("a", "T", "x \"y\" é");
    first.features = vec![("age".to_owned(), -3.0), ("pagerank".to_owned(), 0.5)];
    let mut last = document("z", "", "b");
    last.features = vec![("n".to_owned(), 2.0)];
    assert_eq!(
        outcome.documents,
        [
            first,
            document("7", "only a title", ""),
            document("-2", "", "c"),
            last
        ]
    );
}

#[test]
fn lone_surrogates_become_replacement_characters() {
    let content = br#"{"id": "a\\ud800", "text": "cut \ud83d, whole \ud83e\udd89, \udd89 \\ud800 \ud83d\ud83e\udd89"}"#;
    let outcome = read("corpus.jsonl", content);
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.documents[0].id, "a\\ud800");
    assert_eq!(
        outcome.documents[0].text,
        "cut \u{fffd}, whole \u{1f989}, \u{fffd} \\ud800 \u{fffd}\u{1f989}"
    );
}

/// One bad line each, with the message it must give.
const BAD: [(&[u8], &str); 11] = [
    (
        b"{\"id\": 1, \"text\": ",
        ":2: malformed JSON: EOF while parsing a value at column 18; expected one JSON object on the line",
    ),
    (
        b"{\"id\": 1, \"text\": \"\\ud800",
        ":2: malformed JSON: EOF while parsing a string at column 25",
    ),
    (
        b"[1]",
        ":2: malformed JSON: invalid type: sequence, expected a JSON object",
    ),
    (
        b"{\"id\": 1, \"text\": \"x\"} {",
        ":2: malformed JSON: trailing characters at column 24",
    ),
    (
        b"{\"text\": \"x\"}",
        ":2: missing id: expected a field \"id\" or \"_id\" with a string or an integer",
    ),
    (b"{\"id\": \" \", \"text\": \"x\"}", ":2: missing id"),
    (
        b"{\"id\": 1.5, \"text\": \"x\"}",
        ":2: field \"id\": expected a string or an integer of at most 64 bits, found a fraction",
    ),
    (
        b"{\"id\": 1, \"text\": [\"x\"]}",
        ":2: field \"text\": expected a string, found an array",
    ),
    (
        b"{\"id\": 1, \"text\": \"x\", \"pagerank\": 1e39}",
        ":2: field \"pagerank\": expected a number a 32-bit float can hold, found 1e39",
    ),
    (
        b"{\"id\": \"good\", \"text\": \"again\"}",
        ":2: duplicate id \"good\"",
    ),
    (
        b"{\"id\": 1, \"text\": \"caf\xe9\"}",
        ":2: not UTF-8: byte 0xe9 at column 23; convert the file with iconv",
    ),
];

#[test]
fn every_bad_line_is_named_or_counted() {
    for (line, message) in BAD {
        let content = [
            b"{\"id\":\"good\",\"text\":\"x\"}\n".as_slice(),
            line,
            b"\n{\"id\":\"last\",\"text\":\"x\"}\n",
        ]
        .concat();
        let stopped = read("corpus.jsonl", &content);
        assert_eq!(stopped.ids(), ["good"], "{message}");
        let expected = format!("corpus.jsonl{message}");
        assert!(
            stopped.error().starts_with(&expected),
            "expected {expected}\nfound {}",
            stopped.error()
        );

        let skipped = read_skipping("corpus.jsonl", &content);
        assert_eq!(skipped.error, None);
        assert_eq!(skipped.ids(), ["good", "last"], "{message}");
        assert_eq!(skipped.report.total_faults(), 1);
        assert_eq!(skipped.report.examples, [stopped.error()]);
    }
}

#[test]
fn duplicates_are_found_across_files_and_the_first_is_kept() {
    let files = Files::new(&[
        ("a.jsonl", b"{\"id\":\"x\",\"text\":\"first\"}\n"),
        (
            "b.jsonl",
            b"{\"id\":\"y\",\"text\":\"t\"}\n{\"id\":\"x\",\"text\":\"second\"}\n",
        ),
    ]);
    let stopped = files.read(&["a.jsonl", "b.jsonl"], &CorpusOptions::default());
    assert!(stopped.error().starts_with("b.jsonl:2: duplicate id \"x\""));
    let skipped = files.read(&["a.jsonl", "b.jsonl"], &crate::skip());
    assert_eq!(skipped.ids(), ["x", "y"]);
    assert_eq!(skipped.documents[0].text, "first");
    assert_eq!(skipped.report.faults["duplicate id"], 1);
    let unchecked = CorpusOptions {
        check_duplicates: false,
        ..CorpusOptions::default()
    };
    assert_eq!(
        files.read(&["a.jsonl", "b.jsonl"], &unchecked).ids(),
        ["x", "y", "x"]
    );
}

#[test]
fn the_report_reads_well() {
    let outcome = read_skipping(
        "corpus.jsonl",
        b"{\n{\"id\":1,\"text\":\"x\"}\n{\"id\":1,\"text\":\"y\"}\n[\n",
    );
    assert_eq!(
        outcome.report.to_string(),
        "skipped 1: duplicate id\nskipped 2: malformed JSON\n\
         \x20 corpus.jsonl:1: malformed JSON: EOF while parsing an object at column 1; expected one JSON object on the line\n\
         \x20 corpus.jsonl:3: duplicate id \"1\": an earlier document or query has it; ids must be unique over all files\n\
         \x20 corpus.jsonl:4: malformed JSON: invalid type: sequence, expected a JSON object; \
         expected one JSON object on the line\n"
    );
}

#[test]
fn an_unknown_format_says_how_the_file_begins() {
    let outcome = read("mystery.bin", b"hello there");
    assert!(
        outcome
            .error()
            .starts_with("mystery.bin: cannot tell the format"),
        "{}",
        outcome.error()
    );
    assert!(
        outcome
            .error()
            .contains("found \"hello there\"; name the format")
    );
}

#[test]
fn an_empty_document_is_kept_and_remarked_on() {
    let outcome = read(
        "c.jsonl",
        b"{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\",\"title\":\"\",\"text\":\" \"}\n",
    );
    assert_eq!(outcome.ids(), ["a", "b"]);
    assert_eq!(
        (outcome.report.empty, outcome.report.total_faults()),
        (1, 0)
    );
    assert!(outcome.report.examples[0].starts_with("c.jsonl:2: \"b\" is empty"));
}
