use crate::{document, read, read_skipping};

#[test]
fn passages_and_documents() {
    let passages = read(
        "collection.tsv",
        b"0\tThe presence of words.\r\n\n1\tMore words\n",
    );
    assert_eq!(
        passages.documents,
        [
            document("0", "", "The presence of words."),
            document("1", "", "More words")
        ]
    );
    let documents = read(
        "docs",
        b"D1\thttp://x\tTitle\tBody one\nD2\thttp://y\t\tBody two\n",
    );
    assert_eq!(
        documents.documents,
        [
            document("D1", "Title", "Body one"),
            document("D2", "", "Body two")
        ]
    );
}

#[test]
fn bad_lines() {
    for (line, message) in [
        (
            "1",
            ":2: expected tab-separated columns, 2 (id, text) as on the lines before; found 1",
        ),
        (
            "1\ta\tb",
            ":2: expected tab-separated columns, 2 (id, text) as on the lines before; found 3",
        ),
        (
            "1\tu\tt\tb",
            ":2: expected tab-separated columns, 2 (id, text) as on the lines before; found 4",
        ),
        (
            "\ttext",
            ":2: missing id: expected the id in the first column",
        ),
        ("0\tagain", ":2: duplicate id \"0\""),
    ] {
        let content = format!("0\tgood\n{line}\n2\tlast\n");
        let stopped = read("c.tsv", content.as_bytes());
        assert!(
            stopped.error().starts_with(&format!("c.tsv{message}")),
            "{}",
            stopped.error()
        );
        let skipped = read_skipping("c.tsv", content.as_bytes());
        assert_eq!(skipped.ids(), ["0", "2"]);
        assert_eq!(skipped.report.total_faults(), 1);
    }
    let first = read("c.tsv", b"a\tb\tc\n");
    assert!(first.error().starts_with(
        "c.tsv:1: expected tab-separated columns, 2 (id, text) or 4 (id, url, title, body); found 3"
    ));
    assert!(
        read("c.tsv", b"0\t\xff\n")
            .error()
            .starts_with("c.tsv:1: not UTF-8: byte 0xff at column 3")
    );
}
