use becr_corpus::{OnError, Pair, Pairs};

use crate::{Files, gzip, zstd};

const GOOD: &str = "\u{feff}{\"id\": \"a#1\", \"query\": \" owl nest \", \"title\": \"Owl\", \"text\": \"In barns.\"}\n\n\
    {\"_id\": 7, \"query\": \"mice\", \"text\": \"Grey.\", \"year\": 1999}";

fn read(name: &str, content: &[u8], on_error: OnError) -> (Vec<Pair>, Option<String>, u64) {
    let files = Files::new(&[(name, content)]);
    let root = files.path("").display().to_string();
    let mut pairs = Pairs::open(&files.path(name), on_error).unwrap();
    let (mut good, mut error) = (Vec::new(), None);
    for pair in &mut pairs {
        match pair {
            Ok(pair) => good.push(pair),
            Err(e) => error = Some(e.to_string().replace(&root, "")),
        }
    }
    let skipped = pairs.skipped().total_faults();
    (good, error, skipped)
}

#[test]
fn plain_and_compressed() {
    let pair = |id: &str, query: &str, title: &str, text: &str| Pair {
        id: id.into(),
        query: query.into(),
        title: title.into(),
        text: text.into(),
    };
    let expected = vec![
        pair("a#1", "owl nest", "Owl", "In barns."),
        pair("7", "mice", "", "Grey."),
    ];
    for content in [
        GOOD.as_bytes().to_vec(),
        gzip(GOOD.as_bytes()),
        zstd(GOOD.as_bytes()),
    ] {
        let (good, error, _) = read("pairs", &content, OnError::Stop);
        assert_eq!((good, error), (expected.clone(), None));
    }
}

#[test]
fn faults_are_named_or_counted() {
    let faulty = "{\"id\": 1, \"query\": \"q\", \"text\": \"t\"}\n{\"id\": 2, \"query\": \" \", \"text\": \"t\"}\n\
        {\"id\": 3, \"query\": \"q\"}\nnonsense\n{\"query\": \"q\", \"text\": \"t\"}\n{\"id\": 6, \"query\": \"q\", \"title\": \"t\"}\n";
    let (good, error, _) = read("pairs", faulty.as_bytes(), OnError::Stop);
    assert_eq!(good.len(), 1);
    let error = error.unwrap();
    assert!(
        error.ends_with(":2: \"2\" has no query: expected a field \"query\" with something in it"),
        "{error}"
    );
    let (good, error, skipped) = read("pairs", faulty.as_bytes(), OnError::Skip);
    let ids: Vec<&str> = good.iter().map(|pair| pair.id.as_str()).collect();
    assert_eq!((ids, error, skipped), (vec!["1", "6"], None, 4));
}
