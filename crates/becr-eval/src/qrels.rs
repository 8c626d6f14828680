//! Relevance judgements.

use crate::error::{Error, quote};
use crate::lines::{OnError, Place, Skips, for_each_line, open};
use indexmap::IndexMap;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

/// Judgements: for each query, in the order of the file, the grades of its judged documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qrels {
    /// Query id → document id → grade. A grade of 0 or less means not relevant.
    pub queries: IndexMap<String, HashMap<String, i32>>,
}

impl Qrels {
    /// Adds one judgement; the grade the document already has, if it was judged before.
    pub fn insert(&mut self, query: &str, document: &str, grade: i32) -> Option<i32> {
        let documents = match self.queries.get_mut(query) {
            Some(documents) => documents,
            None => self.queries.entry(query.to_owned()).or_default(),
        };
        if let Some(&before) = documents.get(document) {
            return Some(before);
        }
        documents.insert(document.to_owned(), grade);
        None
    }
}

/// Reads qrels, plain or compressed: TREC's four columns `query iteration document grade`, or three
/// tab-separated ones under the header `query-id corpus-id score`, as BEIR has them.
///
/// # Errors
/// If the file cannot be read and, with [`OnError::Stop`], at the first line that is wrong.
pub fn read_qrels(path: impl AsRef<Path>, on_error: OnError) -> Result<(Qrels, Skips), Error> {
    parse_qrels(open(path.as_ref())?, path.as_ref(), on_error)
}

/// [`read_qrels`] from any reader; `source` is named in errors.
///
/// # Errors
/// As [`read_qrels`].
pub fn parse_qrels(
    reader: impl Read,
    source: &Path,
    on_error: OnError,
) -> Result<(Qrels, Skips), Error> {
    let mut parser = Parser::default();
    let skips = for_each_line(reader, source, on_error, |line, at| parser.line(line, at))?;
    Ok((parser.qrels, skips))
}

#[derive(Default)]
struct Parser {
    qrels: Qrels,
    beir: bool,
}

impl Parser {
    fn line(&mut self, line: &str, at: &Place<'_>) -> Result<(), Error> {
        if at.line == 1
            && line
                .split_ascii_whitespace()
                .eq(["query-id", "corpus-id", "score"])
        {
            self.beir = true;
            return Ok(());
        }
        let (query, document, grade) = if self.beir {
            beir(line, at)
        } else {
            trec(line, at)
        }?;
        let grade = grade.parse().map_err(|_| {
            at.error(
                "an integer grade in the last column",
                quote(grade),
                "grades are whole numbers such as -2, 0, 1, 3",
            )
        })?;
        match self.qrels.insert(query, document, grade) {
            None => Ok(()),
            Some(before) => Err(at.error(
                "each document judged once for a query",
                format!(
                    "query {} judging {} again (grade {before} before)",
                    quote(query),
                    quote(document)
                ),
                "keep one of the two lines",
            )),
        }
    }
}

fn trec<'a>(line: &'a str, at: &Place<'_>) -> Result<(&'a str, &'a str, &'a str), Error> {
    let columns: Vec<_> = line.split_ascii_whitespace().collect();
    let [query, _, document, grade] = columns[..] else {
        return Err(at.error(
            "4 columns: query, iteration (usually 0), document, grade",
            format!("{} in {}", columns.len(), quote(line)),
            match columns.len() {
                3 => {
                    "add the iteration column, or the header `query-id corpus-id score` \
                      if these are BEIR's tab-separated columns"
                }
                6 => "this looks like a run: check which file is which",
                _ => "identifiers must not contain white space",
            },
        ));
    };
    Ok((query, document, grade))
}

fn beir<'a>(line: &'a str, at: &Place<'_>) -> Result<(&'a str, &'a str, &'a str), Error> {
    let columns: Vec<_> = line.split('\t').map(str::trim).collect();
    match columns[..] {
        [query, document, grade] if !query.is_empty() && !document.is_empty() => {
            Ok((query, document, grade))
        }
        _ => Err(at.error(
            "3 tab-separated columns: query, document, grade",
            format!("{} in {}", columns.len(), quote(line)),
            "write what the header line promises",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write;

    fn parse(text: &str, on_error: OnError) -> Result<(Qrels, Skips), Error> {
        parse_qrels(text.as_bytes(), Path::new("q.txt"), on_error)
    }

    fn message(text: &str) -> String {
        parse(text, OnError::Stop).unwrap_err().to_string()
    }

    #[test]
    fn trec_with_negative_grades() {
        let (qrels, _) = parse("7 0 d1 2\n7\t0\td2\t-2\n3 Q0 d1 0\n", OnError::Stop).unwrap();
        assert_eq!(qrels.queries.keys().collect::<Vec<_>>(), ["7", "3"]);
        assert_eq!(qrels.queries["7"]["d2"], -2);
    }

    #[test]
    fn beir_header() {
        let (qrels, _) = parse("query-id\tcorpus-id\tscore\nq 1\td 1\t1\n", OnError::Stop).unwrap();
        assert_eq!(qrels.queries["q 1"]["d 1"], 1);
    }

    #[test]
    fn errors_name_line_expectation_and_remedy() {
        let three = message("1 0 a 1\n1 b 1\n");
        assert!(three.starts_with("q.txt:2: expected 4 columns"), "{three}");
        assert!(
            three.contains("found 3 in \"1 b 1\"; add the iteration column"),
            "{three}"
        );
        assert!(message("1 Q0 a 1 3.5 tag").contains("looks like a run"));
        assert!(message("1 0 a 1.5").contains("expected an integer grade"));
        assert!(
            message("1 0 a 1\n2 0 a 1\n1 0 a 1")
                .starts_with("q.txt:3: expected each document judged once")
        );
        assert!(message("query-id\tcorpus-id\tscore\n1\t\t1").starts_with("q.txt:2:"));
    }

    #[test]
    fn skipping_keeps_the_first_of_two() {
        let (qrels, skips) = parse("1 0 a 1\n1 b 1\n1 0 a 3\n1 0 c x\n", OnError::Skip).unwrap();
        assert_eq!(skips.count, 3);
        assert_eq!(qrels.queries["1"], HashMap::from([("a".to_owned(), 1)]));
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>, beir: bool) {
            let header = if beir { "query-id\tcorpus-id\tscore\n" } else { "" };
            let bytes = [header.as_bytes(), &bytes].concat();
            let _ = parse_qrels(&bytes[..], Path::new("f"), OnError::Stop);
            prop_assert!(parse_qrels(&bytes[..], Path::new("f"), OnError::Skip).is_ok());
        }

        #[test]
        fn near_misses_never_panic(text in "([0-9a-zé\t \n.-]{0,12}\n?){0,8}") {
            let _ = parse(&text, OnError::Stop);
            prop_assert!(parse(&text, OnError::Skip).is_ok());
        }

        #[test]
        fn what_is_written_is_read(
            rows in prop::collection::btree_map(("[!-~é]{1,6}", "[!-~ß]{1,6}"), any::<i32>(), 0..40),
        ) {
            let mut text = String::new();
            let mut expected = Qrels::default();
            for ((query, document), grade) in &rows {
                writeln!(text, "{query} 0 {document}\t{grade}").unwrap();
                expected.insert(query, document, *grade);
            }
            prop_assert_eq!(parse(&text, OnError::Stop).unwrap().0, expected);
        }
    }
}
