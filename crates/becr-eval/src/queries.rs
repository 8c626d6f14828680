//! Query texts, needed here only for their lengths and ids.

use crate::error::{Error, quote};
use crate::lines::{OnError, Skips, for_each_line, open};
use indexmap::IndexMap;
use std::io::Read;
use std::path::Path;

/// Reads `id TAB text` lines, plain or compressed, into id → text in the order of the file.
///
/// # Errors
/// If the file cannot be read and, with [`OnError::Stop`], at the first line that is wrong.
pub fn read_queries(
    path: impl AsRef<Path>,
    on_error: OnError,
) -> Result<(IndexMap<String, String>, Skips), Error> {
    parse(open(path.as_ref())?, path.as_ref(), on_error)
}

fn parse(
    reader: impl Read,
    source: &Path,
    on_error: OnError,
) -> Result<(IndexMap<String, String>, Skips), Error> {
    let mut queries = IndexMap::new();
    let skips = for_each_line(reader, source, on_error, |line, at| {
        let Some((id, text)) = line
            .split_once('\t')
            .filter(|(id, _)| !id.trim().is_empty())
        else {
            let remedy = "write one query a line, its id and its text separated by a tab";
            return Err(at.error(
                "2 tab-separated columns: query id, text",
                quote(line),
                remedy,
            ));
        };
        match queries.insert(id.trim().to_owned(), text.trim().to_owned()) {
            None => Ok(()),
            Some(before) => {
                queries.insert(id.trim().to_owned(), before);
                Err(at.error(
                    "each query id once",
                    quote(id),
                    "keep one of the lines, or rename one",
                ))
            }
        }
    })?;
    Ok((queries, skips))
}

/// The number of words of a query: runs of letters and digits, so that punctuation separates words
/// and is none.
#[must_use]
pub fn count_words(text: &str) -> usize {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, on_error: OnError) -> Result<(IndexMap<String, String>, Skips), Error> {
        parse(text.as_bytes(), Path::new("queries.tsv"), on_error)
    }

    #[test]
    fn reads_and_refuses() {
        let (queries, _) = read("2\tneural ranking\n1\twhat's new?\n", OnError::Stop).unwrap();
        assert_eq!(queries.keys().collect::<Vec<_>>(), ["2", "1"]);
        let error = read("1\ta\n2 b\n", OnError::Stop).unwrap_err().to_string();
        assert!(
            error.contains("queries.tsv:2: expected 2 tab-separated columns"),
            "{error}"
        );
        let (queries, skips) = read("1\ta\n1\tb\n\tc\n", OnError::Skip).unwrap();
        assert_eq!((skips.count, queries["1"].as_str()), (2, "a"));
    }

    #[test]
    fn words() {
        for (text, words) in [
            ("", 0),
            ("?!", 0),
            ("neural ranking model", 3),
            ("e-mail, Zürich", 3),
        ] {
            assert_eq!(count_words(text), words, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes[..], Path::new("f"), OnError::Stop);
            prop_assert!(parse(&bytes[..], Path::new("f"), OnError::Skip).is_ok());
        }

        #[test]
        fn what_is_written_is_read(rows in prop::collection::btree_map("[a-z0-9]{1,5}", "[a-zß]( ?[a-z]){0,9}", 0..20)) {
            let text: String = rows.iter().map(|(id, text)| format!("{id}\t{text}\n")).collect();
            let (queries, _) = read(&text, OnError::Stop).unwrap();
            prop_assert!(queries.into_iter().eq(rows));
        }
    }
}
