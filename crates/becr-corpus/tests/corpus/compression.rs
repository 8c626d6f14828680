use becr_corpus::{CorpusOptions, Format};

use crate::{Files, gzip, read, read_skipping, zstd};

fn lines(from: usize, to: usize) -> Vec<u8> {
    (from..to)
        .map(|id| {
            format!(
                "{{\"id\":{id},\"text\":\"words of document {}\"}}\n",
                id * id
            )
        })
        .collect::<String>()
        .into_bytes()
}

/// Written by the `compress` of ncompress 4.2.4: `{"id":1,"text":"words words words"}`.
const UNIX_COMPRESS: &[u8] = &[
    0x1f, 0x9d, 0x90, 0x7b, 0x44, 0xa4, 0x21, 0x23, 0x42, 0x47, 0x0c, 0x16, 0x22, 0xe8, 0x94, 0xc1,
    0x43, 0xa7, 0xa0, 0x88, 0x3b, 0x6f, 0xe4, 0x90, 0x99, 0x03, 0x02, 0xa2, 0x44, 0x8a, 0x16, 0x27,
    0x8a, 0xe8, 0xa3, 0x00,
];

#[test]
fn compression_is_told_by_content_and_may_come_in_several_members() {
    let (a, b) = (lines(0, 500), lines(500, 1000));
    let gz = [gzip(&a), gzip(&b)].concat();
    let zst = [zstd(&a), zstd(&b)].concat();
    let plain = [a, b].concat();
    for (name, content) in [
        ("a.jsonl", &plain),
        ("b.jsonl.zst", &gz),
        ("c", &gz),
        ("d.gz", &zst),
        ("e.jsonl", &zst),
    ] {
        let outcome = read(name, content);
        assert_eq!(outcome.error, None);
        assert_eq!(outcome.documents.len(), 1000, "{name}");
        assert_eq!(outcome.documents[999].text, "words of document 998001");
    }
    assert_eq!(
        read("f.Z", UNIX_COMPRESS).documents[0].text,
        "words words words"
    );
    assert_eq!(read("empty.jsonl", b"").documents.len(), 0);
    assert_eq!(read("empty.jsonl.gz", &gzip(b"")).documents.len(), 0);
}

#[test]
fn a_truncated_file_is_an_error_and_what_came_before_is_kept() {
    for (packed, inside) in [
        (gzip(&lines(0, 20000)), "a gzip member"),
        (zstd(&lines(0, 20000)), "a zstd frame"),
    ] {
        let half = &packed[..packed.len() / 2];
        let stopped = read("c.jsonl", half);
        let expected =
            format!(": truncated: the file ends inside {inside}; copy or download it again");
        assert!(
            stopped.error().starts_with("c.jsonl:") && stopped.error().ends_with(&expected),
            "{}",
            stopped.error()
        );
        let skipped = read_skipping("c.jsonl", half);
        assert_eq!(skipped.error, None);
        assert!(
            skipped.documents.len() > 5000,
            "{}",
            skipped.documents.len()
        );
        assert_eq!(skipped.documents, stopped.documents);
        assert_eq!(skipped.report.faults["truncated file"], 1);
        assert_eq!(skipped.report.total_faults(), 1);
    }
}

#[test]
fn after_a_truncated_file_the_next_one_is_read() {
    let packed = gzip(&lines(0, 100));
    let files = Files::new(&[
        ("a.jsonl.gz", &packed[..packed.len() - 9]),
        ("b.jsonl", b"{\"id\":\"b\",\"text\":\"x\"}"),
    ]);
    let outcome = files.read(&["a.jsonl.gz", "b.jsonl"], &crate::skip());
    assert_eq!(outcome.ids().last(), Some(&"b"));
    assert_eq!(outcome.report.faults["truncated file"], 1);
}

#[test]
fn damaged_compression_is_an_error() {
    let mut packed = gzip(&lines(0, 5000));
    let middle = packed.len() / 2;
    packed[middle..middle + 64].fill(0xff);
    let stopped = read("c.jsonl.gz", &packed);
    assert!(
        stopped.error().contains(": damaged gzip data ("),
        "{}",
        stopped.error()
    );
    assert_eq!(
        read_skipping("c.jsonl.gz", &packed).report.faults["damaged compression"],
        1
    );
    let garbage = [gzip(&lines(0, 10)), b"something else entirely".to_vec()].concat();
    assert!(
        read("c.jsonl.gz", &garbage)
            .error()
            .contains("damaged gzip data")
    );
    let options = CorpusOptions {
        format: Some(Format::Jsonl),
        ..CorpusOptions::default()
    };
    let compress = Files::new(&[("c", b"\x1f\x9d\x80")]).read(&["c"], &options);
    assert!(
        compress.error().contains("damaged Unix compress data"),
        "{}",
        compress.error()
    );
}
