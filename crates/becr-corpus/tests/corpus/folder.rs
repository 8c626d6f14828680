use becr_corpus::{CorpusOptions, Format};

use crate::{Files, document, gzip, read, read_skipping, skip};

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
        ("notes/data.tsv", b"1\tx\ty\n"),
    ]);
    let outcome = files.read(&["notes"], &CorpusOptions::default());
    assert_eq!(outcome.error, None);
    assert_eq!(
        outcome.documents,
        [
            document("a note.txt", "a note", "plain words"),
            document("b.md", "Owls", "They hunt mice.\n\nb.md"),
            document("empty.txt", "empty", ""),
            document(
                "sub/heading.htm",
                "A heading",
                "A heading\n\ntext\n\nsub/heading.htm"
            ),
            document(
                "sub/packed.txt.gz",
                "packed",
                "packed note\n\nsub/packed.txt"
            ),
            document("sub/page.html", "Page", "café\n\nsub/page.html"),
        ]
    );
    assert_eq!(
        outcome.report.left_out["file of another kind in a folder"],
        1
    );
    assert_eq!(
        outcome.report.left_out["table without documents in a folder"],
        1
    );
    assert!(outcome.report.to_string().contains("picture.png"));
    assert_eq!(
        read("single.md", b"# T\nx").documents,
        [document("single.md", "T", "x\n\nsingle.md")]
    );
}

#[test]
fn bad_notes() {
    let stopped = read("n.txt", b"ok\nbad \xff\0 byte\n");
    assert_eq!(
        stopped.error(),
        "n.txt: not text: byte 0x00 at offset 8; a line in .becrignore leaves the file out"
    );
    let skipped = read_skipping("n.txt", b"ok\nbad \xff\0 byte\n").report;
    assert_eq!(skipped.faults["not text"], 1);
    assert!(skipped.to_string().contains(".becrignore"), "{skipped}");
    let packed = gzip("words ".repeat(5000).as_bytes());
    assert!(
        read("n.txt.gz", &packed[..40])
            .error()
            .contains("n.txt.gz: truncated")
    );
}

#[test]
fn text_of_other_encodings_is_converted_and_counted() {
    let files = Files::new(&[
        ("n/a.txt", b"un caf\xe9 cr\xe8me".as_slice()),
        ("n/c.md", b"\xff\xfe#\0 \0o\0w\0l\0"),
        ("n/d.org", b"* Gr\xfc\xdfe aus K\xf6ln\n"),
        ("n/e.txt", "plain é".as_bytes()),
    ]);
    let outcome = files.read(&["n"], &CorpusOptions::default());
    assert_eq!(outcome.error, None);
    let titles: Vec<&str> = outcome
        .documents
        .iter()
        .map(|it| it.title.as_str())
        .collect();
    assert_eq!(titles[1..3], ["owl", "Grüße aus Köln"]);
    assert_eq!(outcome.documents[0].text, "un café crème");
    assert_eq!(outcome.report.converted["windows-1252"], 2);
    assert_eq!(outcome.report.converted["UTF-16LE"], 1);
    let report = outcome.report.to_string();
    assert!(
        report.contains("converted 2 to UTF-8: windows-1252"),
        "{report}"
    );
    assert!(
        report.contains("d.org") && !report.contains("e.txt"),
        "{report}"
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
    assert_eq!(outcome.ids(), ["a.txt"]);
    let report = outcome.report;
    assert_eq!(report.left_out["link to a file of the same folder"], 1);
}

/// A link that somebody else put into a folder must not make any file of the machine searchable.
#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_read_only_where_that_is_asked_for() {
    let files = Files::new(&[
        ("secret/passwords.txt", b"secret".as_slice()),
        ("notes/a.txt", b"x"),
        ("notes/.hidden/b.txt", b"y"),
    ]);
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(files.path(target), files.path(name)).unwrap();
    };
    link("secret/passwords.txt", "notes/pw.txt");
    link("secret/passwords.txt", "notes/pw2.txt");
    link("notes/.hidden/b.txt", "notes/b.txt");
    link("secret", "notes/all");
    let outcome = files.read(&["notes"], &CorpusOptions::default());
    assert_eq!(outcome.ids(), ["a.txt", "b.txt"]);
    assert_eq!(
        outcome.report.left_out["link that leads out of its folder"],
        2
    );
    assert!(outcome.report.to_string().contains("pw.txt"));
    let options = CorpusOptions {
        follow_links: true,
        ..CorpusOptions::default()
    };
    let asked = files.read(&["notes"], &options);
    assert_eq!(asked.ids(), ["a.txt", "b.txt", "pw.txt"]);
}

#[test]
fn a_copy_is_read_once_and_named() {
    let files = Files::new(&[
        ("a/1.md", b"# Owls\n".as_slice()),
        ("a/2.md", b"# Owls\n"),
        ("a/3.md", b"# Owls"),
        ("a/empty.txt", b""),
        ("a/none.txt", b" \n"),
        ("a/part.jsonl", b"{\"id\": 1, \"text\": \"x\"}\n"),
        ("b/1.md", b"# Owls\n"),
    ]);
    let outcome = files.read(&["a", "b"], &CorpusOptions::default());
    assert_eq!(
        outcome.ids(),
        ["a/1.md", "a/3.md", "a/empty.txt", "a/none.txt", "1"]
    );
    assert_eq!(
        outcome.report.left_out["copy of another file, byte for byte"],
        2
    );
    assert!(outcome.report.to_string().contains("a/2.md"));
    // Files that are named are meant.
    let named = files.read(&["a/1.md", "b/1.md"], &skip());
    assert_eq!(named.documents.len(), 1, "the same id");
    assert_eq!(named.report.faults["duplicate id"], 1);
}

/// Each file by its own kind: notes, a collection beside them, and JSON that is something else.
#[test]
fn a_folder_of_all_sorts() {
    let files = Files::new(&[
        ("all/a.md", b"# Owls\nhunt".as_slice()),
        ("all/b.md", b"mice"),
        ("all/c.md", b"at night"),
        ("all/1.json", b"{\"id\":1,\"text\":\"a document\"}\n"),
        ("all/2.json", b"{\n  \"name\": \"settings\"\n}\n"),
        ("all/3.json", b"{\"name\": \"settings\", \"size\": 3}"),
        ("all/4.json", b"[1, 2, 3]"),
        ("all/part.jsonl", b"{\"id\":2,\"text\":\"another\"}\n"),
        ("all/Makefile", b"all:\n\tcargo build\n"),
        (
            "all/wsj",
            b"<DOC><DOCNO>w1</DOCNO><TEXT>news</TEXT></DOC>\n",
        ),
        ("all/notes.becr/becr.json", b"{}"),
        ("all/notes.becr/model/vocab.txt", b"no note"),
        ("all/notes.becr.partial/becr.build", b"a build"),
        ("all/notes.becr.partial/x.txt", b"no note"),
    ]);
    let outcome = files.read(&["all"], &CorpusOptions::default());
    assert_eq!(outcome.error, None);
    let expected = ["1", "Makefile", "a.md", "b.md", "c.md", "2", "w1"];
    assert_eq!(outcome.ids(), expected);
    let report = outcome.report.to_string();
    for name in [
        "2.json",
        "3.json",
        "4.json",
        "all/notes.becr\n",
        "notes.becr.partial",
    ] {
        assert!(report.contains(name), "{name}: {report}");
    }
    assert_eq!(
        outcome.report.left_out["JSON without documents in a folder"],
        3
    );
    assert_eq!(
        outcome.report.left_out["index of this program in a folder"],
        2
    );
    // A collection that says what it is has to be one.
    let broken = Files::new(&[("all/part.jsonl", b"{\"name\": 1}\n"), ("all/a.md", b"x")]);
    let outcome = broken.read(&["all"], &CorpusOptions::default());
    assert!(
        outcome.error().contains("part.jsonl:1"),
        "{}",
        outcome.error()
    );
}

#[test]
fn the_identity_is_that_of_the_documents() {
    let files = Files::new(&[("notes/a.md", b"x".as_slice()), ("notes/c.png", b"x")]);
    let identity = || {
        let corpus = becr_corpus::Corpus::open(&[files.path("notes")], &CorpusOptions::default());
        corpus.unwrap().identity().unwrap().to_owned()
    };
    let before = identity();
    std::fs::create_dir_all(files.path("notes/.git")).unwrap();
    std::fs::create_dir_all(files.path("notes/out.partial")).unwrap();
    for name in [
        "notes/.git/x.md",
        "notes/picture.png",
        "notes/out.partial/becr.build",
    ] {
        std::fs::write(files.path(name), "new").unwrap();
    }
    std::fs::write(files.path("notes/c.png"), "changed").unwrap();
    assert_eq!(identity(), before);
    std::fs::write(files.path("notes/a.md"), "xy").unwrap();
    assert_ne!(identity(), before);
}

/// `/proc/self/mem` is a file that opens and cannot be read at its beginning.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_read_is_skipped() {
    let files = Files::new(&[("notes/a.txt", b"x"), ("notes/c.txt", b"y")]);
    std::os::unix::fs::symlink("/proc/self/mem", files.path("notes/b.txt")).unwrap();
    let options = |on_error| CorpusOptions {
        on_error,
        follow_links: true,
        ..CorpusOptions::default()
    };
    let outcome = files.read(&["notes"], &options(becr_corpus::OnError::Stop));
    assert!(outcome.error().contains("b.txt"), "{}", outcome.error());
    let outcome = files.read(&["notes"], &options(becr_corpus::OnError::Skip));
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.ids(), ["a.txt", "c.txt"]);
    assert_eq!(outcome.report.faults["unreadable"], 1);
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_are_read() {
    use std::os::unix::ffi::OsStrExt;
    let files = Files::new(&[("notes/a.txt", b"x")]);
    let name = std::ffi::OsStr::from_bytes(b"notes/caf\xe9.md");
    std::fs::write(files.path("").join(name), "# Coffee\nbeans").unwrap();
    let outcome = files.read(&["notes"], &CorpusOptions::default());
    assert_eq!(outcome.ids(), ["a.txt", "caf\u{fffd}.md"]);
    assert_eq!(outcome.documents[1].title, "Coffee");
}

#[test]
fn ids_that_no_index_can_hold_are_named_by_line() {
    let long = "x".repeat(4097);
    let lines = format!("{{\"id\":1,\"text\":\"a\"}}\n{{\"id\":\"{long}\",\"text\":\"b\"}}\n");
    let outcome = read("a.jsonl", lines.as_bytes());
    assert!(
        outcome
            .error()
            .starts_with("a.jsonl:2: the id has 4097 bytes"),
        "{}",
        outcome.error()
    );
    let outcome = read_skipping("a.jsonl", lines.as_bytes());
    assert_eq!(
        (outcome.ids(), outcome.report.faults["id too long"]),
        (vec!["1"], 1)
    );
}

/// Rules of `.gitignore`, with and without git, and of `.becrignore`, which wins.
#[test]
fn ignore_files_are_respected() {
    let files = Files::new(&[
        ("notes/.gitignore", b"*.log.txt\n/build/\n".as_slice()),
        ("notes/.becrignore", b"!kept.log.txt\nprivate/\n"),
        ("notes/a.md", b"yes, a"),
        ("notes/x.log.txt", b"no"),
        ("notes/kept.log.txt", b"yes, kept"),
        ("notes/build/b.md", b"no"),
        ("notes/sub/build/c.md", b"yes, c"),
        ("notes/sub/.gitignore", b"d.md\n"),
        ("notes/sub/d.md", b"no"),
        ("notes/private/e.md", b"no"),
        ("repository/.gitignore", b"docs/out/\n"),
        ("repository/.git/HEAD", b"ref: x\n"),
        ("repository/docs/f.md", b"yes"),
        ("repository/docs/out/g.md", b"no"),
    ]);
    let ids = |folder: &str| -> Vec<String> {
        let outcome = files.read(&[folder], &CorpusOptions::default());
        outcome.ids().into_iter().map(str::to_owned).collect()
    };
    assert_eq!(ids("notes"), ["a.md", "kept.log.txt", "sub/build/c.md"]);
    assert_eq!(ids("repository/docs"), ["f.md"]);
}

#[test]
fn several_folders_are_told_apart() {
    let files = Files::new(&[
        ("a/notes/README.md", b"one".as_slice()),
        ("b/notes/README.md", b"two"),
        ("c/x.md", b"three"),
    ]);
    let outcome = files.read(&["a/notes", "b/notes", "c"], &CorpusOptions::default());
    assert_eq!(outcome.error, None);
    let expected = ["a/notes/README.md", "b/notes/README.md", "c/x.md"];
    assert_eq!(outcome.ids(), expected);
}

#[test]
fn other_kinds_of_notes() {
    let files = Files::new(&[
        ("n/a.org", b"#+TITLE: Owls\n\n* Food\nmice\n".as_slice()),
        ("n/b.rst", b"Owls\n====\n\nhunt mice\n"),
        ("n/c.RS", b"fn main() {}\n"),
        ("n/d.md", b"---\ntitle: \"On owls\"\n---\n# Barn\n\nhunt\n"),
        ("n/e.docx", b"no archive"),
        ("n/f.pdf", b"%PDF-1.4"),
    ]);
    let skip = CorpusOptions {
        on_error: becr_corpus::OnError::Skip,
        ..CorpusOptions::default()
    };
    let outcome = files.read(&["n"], &skip);
    assert_eq!(outcome.error, None);
    assert_eq!(
        outcome.documents,
        [
            document("a.org", "Owls", "Food\n\nmice\n\na.org"),
            document("b.rst", "Owls", "hunt mice\n\nb.rst"),
            document("c.RS", "c.RS", "fn main() {}"),
            document("d.md", "On owls", "Barn\n\nhunt\n\nd.md"),
        ]
    );
    let report = outcome.report.to_string();
    assert!(report.contains("e.docx: damaged docx data"), "{report}");
    assert!(
        report.contains("`pdftotext`") && report.contains("f.pdf"),
        "{report}"
    );
}

#[test]
fn texts_without_an_ending_letters_notebooks_tables_and_logs_are_documents() {
    let files = Files::new(&[
        ("n/FAQ", b"Why?\tBecause.\n".as_slice()),
        ("n/LICENSE-MIT", b"MIT\n"),
        ("n/NEWS.Debian", b"news of it"),
        ("n/README", b"{read} me"),
        ("n/a.log", b"2024 error EADDRINUSE"),
        ("n/b.csv", b"name,size\n\"barn owl\",3\n"),
        (
            "n/c.eml",
            b"Subject: =?utf-8?Q?Caf=C3=A9?=\nFrom: me\n\ntonight",
        ),
        (
            "n/d.ipynb",
            br##"{"cells": [{"cell_type": "markdown", "source": "# Owls\nhunt"}]}"##,
        ),
        ("n/program", b"\x7fELF\x02\0\0"),
        ("n/LICENSE.png", b"\x89PNG\0\0"),
        ("n/data.bin", b"text, but of what?"),
    ]);
    for format in [None, Some(Format::Folder)] {
        let options = CorpusOptions {
            format,
            ..CorpusOptions::default()
        };
        let outcome = files.read(&["n"], &options);
        assert_eq!(outcome.error, None);
        assert_eq!(
            outcome.documents,
            [
                document("FAQ", "FAQ", "Why?\tBecause."),
                document("LICENSE-MIT", "LICENSE-MIT", "MIT"),
                document("NEWS.Debian", "NEWS.Debian", "news of it"),
                document("README", "README", "{read} me"),
                document("a.log", "a.log", "2024 error EADDRINUSE"),
                document("b.csv", "b.csv", "name,size\n\"barn owl\",3"),
                document("c.eml", "Café", "From: me\n\ntonight\n\nc.eml"),
                document("d.ipynb", "Owls", "hunt\n\nd.ipynb"),
            ]
        );
        assert_eq!(
            outcome.report.left_out["file of another kind in a folder"],
            3
        );
    }
    assert_eq!(read("README", b"read me").ids(), ["README"]);
}

#[test]
fn more_than_twenty_files_that_are_left_out_are_all_remembered() {
    let names: Vec<String> = (0..25).map(|n| format!("n/{n:02}.png")).collect();
    let mut all: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), &b"\x89PNG"[..]))
        .collect();
    all.push(("n/a.md", b"x"));
    let report = Files::new(&all)
        .read(&["n"], &CorpusOptions::default())
        .report;
    assert!(report.is_cut());
    assert_eq!(report.files["file of another kind in a folder"].len(), 25);
    let text = report.to_string();
    assert!(
        text.contains("19.png") && text.contains("and 5 more") && !text.contains("20.png"),
        "{text}"
    );
}
