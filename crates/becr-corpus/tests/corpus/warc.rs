use crate::{document, gzip, read, read_skipping};

/// A record as ClueWeb09 has it: line feeds only, and a length that is off by `off` bytes.
fn clueweb(id: &str, html: &str, off: i64) -> String {
    let http = format!(
        "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: {}\n\n{html}",
        html.len()
    );
    format!(
        "WARC/0.18\nWARC-Type: response\nWARC-Target-URI: http://x/\nWARC-TREC-ID: {id}\n\
         Content-Type: application/http;msgtype=response\nContent-Length: {}\n\n{http}\n\n",
        http.len() as i64 + off
    )
}

const INFO: &str = "WARC/0.18\nWARC-Type: warcinfo\nWARC-Date: 2009-03-65T08:43:19-0800\nContent-Length: 9\n\nsoftware\n\n\n";

/// A record of the standard form.
fn standard(kind: &str, name: &str, http: &str, content: &str) -> String {
    let body = format!("{http}{content}");
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{name}>\r\nContent-Type: text/plain\r\n\
         Content-Length: {}\r\n\r\n{body}\r\n\r\n",
        body.len()
    )
}

#[test]
fn clueweb_records_with_wrong_lengths_are_resynchronised() {
    for off in [0, -1, -5, -40, 1, 2, 3, 5, 12, 30, 60, 200] {
        let content = [
            INFO.to_owned(),
            clueweb(
                "clueweb09-en0000-00-00000",
                "<title>One</title><p>first page",
                off,
            ),
            clueweb(
                "clueweb09-en0000-00-00001",
                "<title>Two</title><p>second page",
                off,
            ),
            clueweb(
                "clueweb09-en0000-00-00002",
                "<title>Three</title><p>third page",
                off.min(2),
            ),
        ]
        .concat();
        for bytes in [content.clone().into_bytes(), gzip(content.as_bytes())] {
            let outcome = read("00.warc.gz", &bytes);
            assert_eq!(outcome.error, None, "off by {off}");
            assert_eq!(outcome.ids().len(), 3, "off by {off}");
            assert_eq!(
                outcome.documents[1],
                document("clueweb09-en0000-00-00001", "Two", "second page")
            );
            assert_eq!(outcome.documents[2].title, "Three");
        }
    }
}

#[test]
fn standard_records_and_what_is_left_out() {
    let html = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=windows-1251\r\n\r\n";
    let mut content = standard("warcinfo", "i", "", "x").into_bytes();
    content.extend(standard("request", "r", "GET / HTTP/1.1\r\n\r\n", "").bytes());
    content.extend(standard("response", "a", html, "<h1>Page</h1>WARC/1.0 is a format").bytes());
    content.extend(standard("response", "b", "HTTP/1.1 404 Not Found\r\n\r\n", "gone").bytes());
    content.extend(
        standard(
            "response",
            "c",
            "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n",
            "png",
        )
        .bytes(),
    );
    content.extend(standard("response", "d", html, "<script>only()</script>").bytes());
    content.extend(standard("conversion", "e", "", "plain text of a page").bytes());
    let outcome = read("crawl.warc", &content);
    assert_eq!(outcome.error, None);
    assert_eq!(
        outcome.documents,
        [
            document("urn:uuid:a", "", "Page\n\nWARC/1.0 is a format"),
            document("urn:uuid:e", "", "plain text of a page")
        ]
    );
    assert_eq!(
        outcome.report.left_out["web record that is not a text page"],
        2
    );
    assert_eq!(outcome.report.left_out["web page without text"], 1);
}

#[test]
fn a_blank_line_in_a_header_does_not_end_it() {
    let record = clueweb("id-1", "<p>text", 0).replace("WARC-TREC-ID", "\nWARC-TREC-ID");
    assert_eq!(read("x.warc", record.as_bytes()).ids(), ["id-1"]);
}

#[test]
fn bad_records_are_named_and_the_next_one_is_found() {
    let good = clueweb("good", "<p>text", 0);
    let cases = [
        (
            clueweb("bad", "<p>x", 0).replace("Content-Length: 63", "Content-Length: many"),
            "a Content-Length with a number, found \"many",
        ),
        (
            clueweb("bad", "<p>x", 0).replace("Content-Length: 63", "Content-Length: 999999999999"),
            "longer than 67108864 bytes",
        ),
        (
            clueweb("bad", "<p>x", 0).replace("WARC-TREC-ID: bad\n", ""),
            "missing id: expected a WARC-TREC-ID",
        ),
        (
            "WARC/0.18\nWARC-Type: response\n\n".to_owned(),
            "a Content-Length and a blank line, found a header without it",
        ),
    ];
    for (bad, message) in cases {
        let content = format!("{good}{bad}{}", clueweb("last", "<p>text", 0));
        let stopped = read("x.warc", content.as_bytes());
        let place = format!("x.warc: record 2 (byte {}): ", good.len());
        assert!(
            stopped.error().starts_with(&place) && stopped.error().contains(message),
            "{message}: {}",
            stopped.error()
        );
        let skipped = read_skipping("x.warc", content.as_bytes());
        assert_eq!(skipped.ids(), ["good", "last"], "{message}");
        assert_eq!(skipped.report.total_faults(), 1);
    }
}

#[test]
fn a_truncated_file_keeps_the_records_before() {
    let content = format!(
        "{}{}",
        clueweb("a", "<p>one", 0),
        clueweb("b", &"<p>two".repeat(100), 0)
    );
    for cut in [content.len() - 300, content.len() - 700] {
        let outcome = read("x.warc", &content.as_bytes()[..cut]);
        assert_eq!(outcome.ids(), ["a"]);
        assert!(
            outcome.error().contains("record 2") && outcome.error().contains("truncated"),
            "{}",
            outcome.error()
        );
        let skipped = read_skipping("x.warc", &content.as_bytes()[..cut]);
        assert_eq!(
            (skipped.ids(), skipped.report.total_faults()),
            (vec!["a"], 1)
        );
    }
    let packed = [
        gzip(clueweb("a", "<p>one", 0).as_bytes()),
        gzip(clueweb("b", "<p>two", 0).as_bytes()),
    ]
    .concat();
    let outcome = read("x.warc.gz", &packed[..packed.len() - 20]);
    assert!(
        outcome
            .error()
            .contains("truncated: the file ends inside a gzip member"),
        "{}",
        outcome.error()
    );
    assert_eq!(
        read_skipping("x.warc.gz", &packed[..packed.len() - 20])
            .report
            .faults["truncated file"],
        1
    );
}

#[test]
fn what_is_no_warc_says_so() {
    let options = becr_corpus::CorpusOptions {
        format: Some(becr_corpus::Format::Warc),
        ..Default::default()
    };
    let outcome = crate::Files::new(&[("x", b"hello\nthere\n")]).read(&["x"], &options);
    assert!(outcome.error().contains(
        "record 1 (byte 0): expected a line with WARC/ and a version, found \"hello\\n\""
    ));
}
