use becr_corpus::{OnError, Queries, Query, QueryOptions, TopicField, read_queries};

use crate::{Files, gzip};

fn read(
    name: &str,
    content: &[u8],
    topic_field: TopicField,
    on_error: OnError,
) -> Result<Queries, String> {
    let files = Files::new(&[(name, content)]);
    let path = files.path(name);
    let folder = format!("{}/", path.parent().unwrap().display());
    read_queries(
        &path,
        &QueryOptions {
            topic_field,
            on_error,
        },
    )
    .map_err(|error| error.to_string().replace(&folder, ""))
}

fn good(name: &str, content: &[u8], topic_field: TopicField) -> Vec<(String, String)> {
    let queries = read(name, content, topic_field, OnError::Stop).unwrap();
    queries
        .queries
        .into_iter()
        .map(|Query { id, text }| (id, text))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|&(id, text)| (id.to_owned(), text.to_owned()))
        .collect()
}

#[test]
fn tsv_and_json_lines() {
    let expected = pairs(&[("1", "owl nest"), ("q2", "barn <owl>")]);
    let tsv = "\u{feff}1\towl nest\r\n\nq2\tbarn <owl>".as_bytes();
    assert_eq!(good("q.tsv", tsv, TopicField::Title), expected);
    assert_eq!(good("q.tsv.gz", &gzip(tsv), TopicField::Title), expected);
    let json = b"{\"_id\": 1, \"text\": \"owl nest\", \"metadata\": {}}\n{\"qid\": \"q2\", \"query\": \"barn <owl>\"}\n";
    assert_eq!(good("q.jsonl", json, TopicField::Title), expected);
    assert_eq!(
        good("q.tsv", b"{1}\tx\n<2>\ty\n", TopicField::Title),
        pairs(&[("{1}", "x"), ("<2>", "y")])
    );
}

#[test]
fn numbers_before_a_colon() {
    let titles = b"51:owl family tree\r\n52:mice: a barn's view\n\n";
    let expected = pairs(&[("51", "owl family tree"), ("52", "mice: a barn's view")]);
    assert_eq!(
        good("wt10.topics.queries-only", titles, TopicField::Title),
        expected
    );
    let broken = b"51:owl family tree\nmice\n";
    let error = read("t", broken, TopicField::Title, OnError::Stop).unwrap_err();
    assert!(
        error.contains("t:2") && error.contains("a number and a colon"),
        "{error}"
    );
    // With a tab, it is an id like others.
    assert_eq!(
        good("t", b"51:a\towl\n", TopicField::Title),
        pairs(&[("51:a", "owl")])
    );
}

/// Invented topics in the manner of the ad hoc tracks: no closing tags.
const AD_HOC: &str = "<top>\n\n<num> Number: 301 \n<title> Owls in Barns \n\n<desc> Description: \nWhich owls nest\nin barns &amp; mills?\n\n\
    <narr> Narrative: \nA relevant document names the owl.\n\n</top>\n\n\n<top>\n<num> Number: 302\n<title> Topic: Mice\n<desc> Description:\nMice.\n</top>\n";
const WEB: &str = "<webtrack2009>\n<topic number=\"1\" type=\"faceted\">\n  <query>owl family tree</query>\n  <description>Find the tree.\n  </description>\n\
    <subtopic number=\"1\" type=\"nav\">\n  Find a page.\n  </subtopic>\n</topic>\n<topic number=\"2\" type=\"x\"><query>mice</query><description>Mice!</description></topic>\n</webtrack2009>";

#[test]
fn topics_of_both_forms() {
    assert_eq!(
        good("t", AD_HOC.as_bytes(), TopicField::Title),
        pairs(&[("301", "Owls in Barns"), ("302", "Mice")])
    );
    assert_eq!(
        good("t", AD_HOC.as_bytes(), TopicField::Description),
        pairs(&[
            ("301", "Which owls nest in barns & mills?"),
            ("302", "Mice.")
        ])
    );
    assert_eq!(
        good("t.xml", WEB.as_bytes(), TopicField::Title),
        pairs(&[("1", "owl family tree"), ("2", "mice")])
    );
    assert_eq!(
        good("t.xml", WEB.as_bytes(), TopicField::Both),
        pairs(&[("1", "owl family tree Find the tree."), ("2", "mice Mice!")])
    );
}

#[test]
fn bad_queries_are_named_or_counted() {
    let long = "<top><num>1<title>a</top>\n<top><num>2<title>\n</top>\n<top><num>3<title>c</top>";
    for (name, content, message) in [
        (
            "q.tsv",
            "1\ta\n2 no tab\n3\tc",
            "q.tsv:2: expected tab-separated columns, 2 (id, text); found 1",
        ),
        (
            "q.tsv",
            "1\ta\n2\tb\tc\n3\tc",
            "q.tsv:2: expected tab-separated columns, 2 (id, text); found 3",
        ),
        ("q.tsv", "1\ta\n\tb\n3\tc", "q.tsv:2: missing id"),
        ("q.tsv", "1\ta\n2\t \n3\tc", "q.tsv:2: \"2\" is empty"),
        ("q.tsv", "1\ta\n1\tb\n3\tc", "q.tsv:2: duplicate id \"1\""),
        (
            "q.jsonl",
            "{\"id\":1,\"text\":\"a\"}\n{\"id\":\n{\"id\":3,\"text\":\"c\"}",
            "q.jsonl:2: malformed JSON",
        ),
        ("t", long, "t:2: \"2\" is empty"),
        (
            "t",
            "<top><num>1<title>a</top>\n<top><title>b</top><top><num>3<title>c</top>",
            "t:2: missing id",
        ),
    ] {
        let error = read(name, content.as_bytes(), TopicField::Title, OnError::Stop).unwrap_err();
        assert!(error.starts_with(message), "{error}");
        let skipped = read(name, content.as_bytes(), TopicField::Title, OnError::Skip).unwrap();
        assert_eq!(
            skipped
                .queries
                .iter()
                .map(|query| query.id.as_str())
                .collect::<Vec<_>>(),
            ["1", "3"]
        );
        assert_eq!(skipped.skipped.total_faults(), 1);
    }
    let cut = read(
        "t",
        b"<top>\n<num> 1\n<title> a\n",
        TopicField::Title,
        OnError::Stop,
    )
    .unwrap_err();
    assert!(
        cut.starts_with("t:1: truncated: the file ends inside a topic without </top>"),
        "{cut}"
    );
    let page = read("t", b"<html>", TopicField::Title, OnError::Stop).unwrap_err();
    assert_eq!(
        page,
        "t:1: expected <top> or <topic> records, found \"<html>\""
    );
    let latin = read(
        "t",
        b"<top>\n<title>caf\xe9</top>",
        TopicField::Title,
        OnError::Stop,
    )
    .unwrap_err();
    assert!(latin.starts_with("t:2: not UTF-8: byte 0xe9"), "{latin}");
}
