//! Triples of MS MARCO: a query with a relevant and an irrelevant passage.

use crate::error::{Error, quote};
use crate::lines::{OnError, Place, Skips, for_each_line, open};
use crate::qrels::Qrels;
use std::io::Read;
use std::path::Path;

/// Reads triples by ids, plain or compressed (`qidpidtriples.train.full.2.tsv`): query, relevant document, irrelevant
/// document. They become judgements of grades 1 and 0; what is relevant in one line is not irrelevant by another.
///
/// # Errors
/// If the file cannot be read and, with [`OnError::Stop`], at the first line that is wrong.
pub fn read_triples(path: impl AsRef<Path>, on_error: OnError) -> Result<(Qrels, Skips), Error> {
    parse_triples(open(path.as_ref())?, path.as_ref(), on_error)
}

fn parse_triples(
    reader: impl Read,
    source: &Path,
    on_error: OnError,
) -> Result<(Qrels, Skips), Error> {
    let mut qrels = Qrels::default();
    let skips = for_each_line(reader, source, on_error, |line, at| {
        let [query, relevant, irrelevant] = columns(line, at)?;
        let documents = match qrels.queries.get_mut(query) {
            Some(documents) => documents,
            None => qrels.queries.entry(query.to_owned()).or_default(),
        };
        documents.insert(relevant.to_owned(), 1);
        documents.entry(irrelevant.to_owned()).or_insert(0);
        Ok(())
    })?;
    Ok((qrels, skips))
}

fn columns<'a>(line: &'a str, at: &Place<'_>) -> Result<[&'a str; 3], Error> {
    let columns: Vec<_> = line.split_ascii_whitespace().collect();
    <[&str; 3]>::try_from(columns).map_err(|columns| {
        at.error(
            "3 columns: query, relevant document, irrelevant document",
            format!("{} in {}", columns.len(), quote(line)),
            match columns.len() {
                4 => "this looks like qrels: check which file is which",
                _ => "triples are read by ids, not by texts; identifiers must not contain white space",
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(Qrels, Skips), Error> {
        parse_triples(text.as_bytes(), Path::new("t.tsv"), OnError::Stop)
    }

    #[test]
    fn triples_become_judgements() {
        let (qrels, _) = parse("1\ta\tb\n1\tc\ta\n2\tb\ta\n1\ta\tb\n").unwrap();
        assert_eq!(qrels.queries.keys().collect::<Vec<_>>(), ["1", "2"]);
        let grades = &qrels.queries["1"];
        assert_eq!((grades["a"], grades["b"], grades["c"]), (1, 0, 1));
        assert_eq!(grades.len(), 3);
    }

    #[test]
    fn other_files_are_named() {
        let error = parse("1\ta\tb\n1 0 a 1\n").unwrap_err().to_string();
        assert!(error.starts_with("t.tsv:2: expected 3 columns"), "{error}");
        assert!(error.contains("looks like qrels"), "{error}");
        let texts = parse("what is it\tit is this\tno\n").unwrap_err();
        assert!(texts.to_string().contains("not by texts"), "{texts}");
    }
}
