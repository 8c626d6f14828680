//! Features of query and document together, such as a click rate: what a caller knows and no index does.

use crate::error::{Error, quote};
use crate::lines::{OnError, Place, Skips, for_each_line, open};
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

/// Named numbers of (query, document) pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairFeatures {
    /// Query id → document id → name and value, in the order of the file.
    pub queries: HashMap<String, HashMap<String, Vec<(String, f32)>>>,
    /// How many values each name has.
    pub names: BTreeMap<String, usize>,
}

impl PairFeatures {
    /// The features of a document for a query; none if there are none.
    #[must_use]
    pub fn of(&self, query: &str, document: &str) -> &[(String, f32)] {
        let found = self.queries.get(query).and_then(|of| of.get(document));
        found.map_or(&[], Vec::as_slice)
    }
}

/// Reads a file of features, plain or compressed: query, document, name and value a line, between tabs.
///
/// # Errors
/// If the file cannot be read and, with [`OnError::Stop`], at the first line that is wrong or repeats a feature.
pub fn read_features(
    path: impl AsRef<Path>,
    on_error: OnError,
) -> Result<(PairFeatures, Skips), Error> {
    parse(open(path.as_ref())?, path.as_ref(), on_error)
}

fn parse(
    reader: impl Read,
    source: &Path,
    on_error: OnError,
) -> Result<(PairFeatures, Skips), Error> {
    let mut features = PairFeatures::default();
    let skips = for_each_line(reader, source, on_error, |line, at| {
        add(&mut features, line, at)
    })?;
    Ok((features, skips))
}

fn add(features: &mut PairFeatures, line: &str, at: &Place<'_>) -> Result<(), Error> {
    let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [query, document, name, value] = columns[..] else {
        return Err(at.error(
            "4 columns between tabs: query, document, name, value",
            format!("{} in {}", columns.len(), quote(line)),
            "check the separators",
        ));
    };
    let value = match value.parse::<f32>() {
        Ok(value) if value.is_finite() => value,
        _ => {
            return Err(at.error(
                "a finite number in column 4",
                quote(value),
                "leave the line out if the value is not known: a missing feature contributes nothing",
            ));
        }
    };
    let of_query = features.queries.entry(query.to_owned()).or_default();
    let of_document = of_query.entry(document.to_owned()).or_default();
    if of_document.iter().any(|(known, _)| known == name) {
        return Err(at.error(
            "each feature once for a query and document",
            format!("{} again", quote(name)),
            "keep one of the two lines",
        ));
    }
    of_document.push((name.to_owned(), value));
    *features.names.entry(name.to_owned()).or_default() += 1;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_become_features_and_faults_are_named() {
        let read = |text: &str| parse(text.as_bytes(), Path::new("f.tsv"), OnError::Stop);
        let (features, _) =
            read("q1\td 1\tclicks\t0.5\nq1\td 1\tage\t-3\nq2\td2\tage\t1\n").unwrap();
        let expected = [("clicks".to_owned(), 0.5), ("age".to_owned(), -3.0)];
        assert_eq!(features.of("q1", "d 1"), expected);
        assert!(features.of("q2", "d 1").is_empty() && features.of("q3", "x").is_empty());
        assert_eq!((features.names["age"], features.names["clicks"]), (2, 1));
        for (text, told) in [
            ("q d age 1\n", "f.tsv:1: expected 4 columns"),
            ("q\td\tage\tNaN\n", "f.tsv:1: expected a finite number"),
            (
                "q\td\tage\t1\nq\td\tage\t1\n",
                "f.tsv:2: expected each feature once",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(told), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_never_panics(text in "([0-9a-zé\t \n.+-]{0,16}\n?){0,8}") {
            let _ = parse(text.as_bytes(), Path::new("f"), OnError::Stop);
            prop_assert!(parse(text.as_bytes(), Path::new("f"), OnError::Skip).is_ok());
        }
    }
}
