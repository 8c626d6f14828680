//! Anything in, never a panic, always an end; what was written is what is read.

use becr_corpus::{CorpusOptions, Format, OnError, QueryOptions, TopicField, read_queries};
use proptest::prelude::*;

use crate::{Document, Files, gzip, zstd};

/// Bytes in which the formats' own marks are common, so that the parsers get past their first lines.
fn nearly(marks: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => prop::sample::select(marks).prop_map(|mark| mark.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
        1 => "\\PC{0,8}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const MARKS: &[&str] = &[
    "{",
    "}",
    "\"id\":",
    "\"_id\":",
    "\"text\":",
    "\"title\":",
    "\"a\"",
    "1",
    "-1e400",
    ",",
    "\"\\ud800\"",
    "[",
    "null",
    "\n",
    "\t",
    "\r\n",
    "<DOC>",
    "</DOC>",
    "<DOCNO>",
    "</DOCNO>",
    "<TEXT>",
    "</TEXT>",
    "<TI>",
    "<!--",
    "-->",
    "&amp;",
    "&blank;",
    "&#",
    "<",
    ">",
    "x",
    "WARC/1.0\n",
    "\nWARC/0.18\n",
    "WARC-Type: response\n",
    "WARC-TREC-ID: a\n",
    "Content-Length: 7\n",
    "Content-Length: 70\n",
    "\n\n",
    "HTTP/1.1 200 OK\n",
    "Transfer-Encoding: chunked\n",
    "<p>",
    "<script>",
    "</script>",
    "<title>",
    "# h\n",
    "---\n",
    "`",
    "\x1f\u{8b}",
    "<top>",
    "</top>",
    "<num>",
    "<title>",
    "<desc>",
    "<topic number=\"1\">",
    "a 1\n",
];

fn read_as(format: Option<Format>, name: &str, content: &[u8]) {
    let files = Files::new(&[(name, content)]);
    for on_error in [OnError::Stop, OnError::Skip] {
        let outcome = files.read(
            &[name],
            &CorpusOptions {
                format,
                on_error,
                ..CorpusOptions::default()
            },
        );
        if on_error == OnError::Skip {
            assert_eq!(outcome.error, None);
        }
        for document in &outcome.documents {
            assert!(!document.id.is_empty());
            assert!(document.features.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_in_any_format(content in prop_oneof![nearly(MARKS), prop::collection::vec(any::<u8>(), 0..300)]) {
        for format in Format::ALL {
            for name in ["a.txt", "a.md", "a.html"].iter().take(if format == Format::Folder { 3 } else { 1 }) {
                read_as(Some(format), name, &content);
            }
        }
        read_as(None, "unknown", &content);
    }

    #[test]
    fn damaged_compression(content in prop::collection::vec(any::<u8>(), 0..300), at in 0usize..600, flip: u8, cut in 0usize..600) {
        for mut packed in [gzip(&content), zstd(&content)] {
            let length = packed.len();
            packed[at % length] ^= flip;
            packed.truncate(cut % (length + 1));
            for format in [Format::Jsonl, Format::TrecSgml, Format::Warc, Format::Folder] {
                read_as(Some(format), "a.txt", &packed);
            }
        }
    }

    #[test]
    fn any_bytes_as_queries(content in nearly(MARKS), tsv: bool) {
        let name = if tsv { "q.tsv" } else { "q" };
        let files = Files::new(&[(name, &content)]);
        for on_error in [OnError::Stop, OnError::Skip] {
            for topic_field in [TopicField::Title, TopicField::Description, TopicField::Both] {
                if let Ok(read) = read_queries(&files.path(name), &QueryOptions { topic_field, on_error }) {
                    prop_assert!(read.queries.iter().all(|query| !query.id.is_empty() && !query.text.is_empty()));
                }
            }
        }
    }

    #[test]
    fn json_lines_round_trip(
        documents in prop::collection::vec(("\\PC{0,20}", "(\\PC|\n|\t|\"|\\\\){1,60}", prop::collection::btree_map("f[a-z]{1,3}", -1e6f32..1e6, 0..4)), 1..20),
        packing in 0..3,
    ) {
        let expected: Vec<Document> = documents
            .iter()
            .enumerate()
            .map(|(index, (title, text, features))| Document {
                id: format!("d{index}"),
                title: title.clone(),
                text: format!("x{text}"),
                features: features.iter().map(|(name, value)| (name.clone(), *value)).collect(),
            })
            .collect();
        let lines: String = expected
            .iter()
            .map(|document| {
                let mut object = serde_json::json!({"id": document.id, "title": document.title, "text": document.text});
                for (name, value) in &document.features {
                    object[name] = serde_json::json!(value);
                }
                format!("{object}\n")
            })
            .collect();
        let content = match packing {
            0 => lines.into_bytes(),
            1 => gzip(lines.as_bytes()),
            _ => zstd(lines.as_bytes()),
        };
        let outcome = crate::read("c.jsonl", &content);
        prop_assert_eq!(outcome.error, None);
        prop_assert_eq!(outcome.documents, expected);
    }

    #[test]
    fn tsv_round_trips(documents in prop::collection::vec(("[^\t\r\n\u{feff}]{0,20}", "[^\t\r\n]{0,40}"), 1..20)) {
        let content: String = documents.iter().enumerate().map(|(id, (title, text))| format!("D{id}\turl\t{title}\tx{text}\n")).collect();
        let outcome = crate::read("c.tsv", content.as_bytes());
        prop_assert_eq!(outcome.error, None);
        prop_assert_eq!(outcome.documents.len(), documents.len());
        for (document, (title, text)) in outcome.documents.iter().zip(&documents) {
            prop_assert_eq!(&document.title, title);
            prop_assert_eq!(&document.text, &format!("x{text}"));
        }
    }

    #[test]
    fn marked_up_words_round_trip(documents in prop::collection::vec(prop::collection::vec("[a-zé&<>\"]{1,8}", 1..12), 1..10)) {
        let escape = |words: &Vec<String>| words.join(" ").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let sgml: String = documents
            .iter()
            .enumerate()
            .map(|(id, words)| format!("<DOC>\n<DOCNO> D{id} </DOCNO>\n<TEXT>\n<P>{}</P>\n</TEXT>\n</DOC>\n", escape(words)))
            .collect();
        let warc: String = documents
            .iter()
            .enumerate()
            .map(|(id, words)| {
                let body = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body><p>{}</p>", escape(words));
                let length = body.len();
                format!("WARC/1.0\r\nWARC-Type: response\r\nWARC-TREC-ID: D{id}\r\nContent-Length: {length}\r\n\r\n{body}\r\n\r\n")
            })
            .collect();
        for (name, content) in [("trec", sgml), ("x.warc", warc)] {
            let outcome = crate::read(name, &gzip(content.as_bytes()));
            prop_assert_eq!(&outcome.error, &None);
            prop_assert_eq!(outcome.documents.len(), documents.len());
            for (id, (document, words)) in outcome.documents.iter().zip(&documents).enumerate() {
                prop_assert_eq!(&document.id, &format!("D{id}"));
                prop_assert_eq!(&document.text, &words.join(" "));
            }
        }
    }
}
