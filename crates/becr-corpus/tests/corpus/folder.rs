use becr_corpus::{CorpusOptions, Format};

use crate::{Files, document, gzip, read, read_skipping};

#[test]
fn notes_in_a_deterministic_order() {
    let packed = gzip(b"packed note");
    let files = Files::new(&[
        ("notes/b.md", b"# Owls\n\nThey *hunt* [mice](x).".as_slice()),
        ("notes/a note.txt", b"\xef\xbb\xbfplain words\n"),
        ("notes/sub/page.html", b"<title>Page</title><p>caf\xe9"),
        ("notes/sub/heading.htm", b"<h2>A heading</h2>text"),
        ("notes/sub/packed.txt.gz", &packed),
        ("notes/empty.txt", b""),
        ("notes/.hidden.md", b"no"),
        ("notes/.git/x.md", b"no"),
        ("notes/picture.png", b"\x89PNG"),
        ("notes/data.tsv", b"1\tx\n"),
    ]);
    let outcome = files.read(&["notes"], &CorpusOptions::default());
    assert_eq!(outcome.error, None);
    assert_eq!(
        outcome.documents,
        [
            document("a note.txt", "a note", "plain words"),
            document("b.md", "Owls", "They hunt mice."),
            document("empty.txt", "empty", ""),
            document("sub/heading.htm", "A heading", "A heading text"),
            document("sub/packed.txt.gz", "packed", "packed note"),
            document("sub/page.html", "Page", "café"),
        ]
    );
    assert_eq!(
        outcome.report.left_out["file of another kind in a folder"],
        2
    );
    assert_eq!(
        read("single.md", b"# T\nx").documents,
        [document("single.md", "T", "x")]
    );
}

#[test]
fn bad_notes() {
    let stopped = read("n.txt", b"ok\nbad \xff byte\n");
    assert_eq!(
        stopped.error(),
        "n.txt:2: not UTF-8: byte 0xff at column 5; convert the file with iconv"
    );
    assert_eq!(
        read_skipping("n.txt", b"ok\nbad \xff byte\n").report.faults["not UTF-8"],
        1
    );
    assert!(
        read("n.md", b"\xef\xbb\xbfx\n\n\xff")
            .error()
            .starts_with("n.md:3: not UTF-8: byte 0xff at column 1")
    );
    let packed = gzip("words ".repeat(5000).as_bytes());
    assert!(
        read("n.txt.gz", &packed[..40])
            .error()
            .contains("n.txt.gz: truncated")
    );
}

#[test]
fn a_folder_without_documents_says_so() {
    let files = Files::new(&[("empty/picture.png", b"\x89PNG")]);
    let outcome = files.read(&["empty"], &CorpusOptions::default());
    assert_eq!(
        outcome.error(),
        "empty: no collection files in this folder; check the path, or name the format"
    );
    let options = CorpusOptions {
        format: Some(Format::Folder),
        ..CorpusOptions::default()
    };
    assert!(
        files
            .read(&["empty"], &options)
            .error()
            .starts_with("empty: no folder files")
    );
}

#[test]
fn a_folder_of_parts_of_a_collection() {
    let part = gzip(b"{\"id\":2,\"text\":\"b\"}\n");
    let files = Files::new(&[
        ("parts/1.jsonl", b"{\"id\":1,\"text\":\"a\"}\n".as_slice()),
        ("parts/2.jsonl.gz", &part),
    ]);
    assert_eq!(
        files.read(&["parts"], &CorpusOptions::default()).ids(),
        ["1", "2"]
    );
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_in_circles() {
    let files = Files::new(&[("notes/a.txt", b"x")]);
    std::os::unix::fs::symlink(files.path("notes"), files.path("notes/again")).unwrap();
    std::os::unix::fs::symlink(files.path("nowhere"), files.path("notes/broken.txt")).unwrap();
    std::os::unix::fs::symlink(files.path("notes/a.txt"), files.path("notes/link.txt")).unwrap();
    let outcome = files.read(&["notes"], &CorpusOptions::default());
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.ids(), ["a.txt", "link.txt"]);
}
