//! Runs: what a system answered.

use crate::error::{Error, quote};
use crate::lines::{OnError, Place, Skips, for_each_line, open};
use indexmap::IndexMap;
use std::cmp::Ordering;
use std::io::Read;
use std::path::Path;

/// The documents a system returned for each query, with their scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The system's name, the last column of a TREC run; empty if the file has none.
    pub tag: String,
    /// Query id → (document id, score), queries and documents in the order of the file.
    pub queries: IndexMap<String, Vec<(String, f64)>>,
}

impl Run {
    /// An empty run.
    #[must_use]
    pub fn new(tag: impl Into<String>) -> Self {
        Self {
            tag: tag.into(),
            queries: IndexMap::new(),
        }
    }

    /// Adds one document to a query's answer.
    pub fn push(&mut self, query: &str, document: impl Into<String>, score: f64) {
        let documents = match self.queries.get_mut(query) {
            Some(documents) => documents,
            None => self.queries.entry(query.to_owned()).or_default(),
        };
        documents.push((document.into(), score));
    }
}

/// The order in which `trec_eval` sees documents, whatever order they come in: by descending score,
/// equal scores by descending document id. It holds scores in single precision, so that scores which
/// differ only beyond it are equal.
#[must_use]
pub fn ranking(documents: &[(String, f64)]) -> Vec<&(String, f64)> {
    let mut ranked: Vec<_> = documents.iter().collect();
    ranked.sort_unstable_by(|a, b| {
        let by_score = (b.1 as f32)
            .partial_cmp(&(a.1 as f32))
            .unwrap_or(Ordering::Equal);
        by_score.then_with(|| b.0.cmp(&a.0))
    });
    ranked
}

/// Reads a run, plain or compressed: TREC's six columns `query Q0 document rank score tag`, or MS
/// MARCO's three, `query document rank`, whose scores become minus the rank. A `top1000` of MS MARCO, which has query,
/// document, the query's text and the document's between tabs, is not in the order of any score: all scores are 0.
///
/// # Errors
/// If the file cannot be read and, with [`OnError::Stop`], at the first line that is wrong.
pub fn read_run(path: impl AsRef<Path>, on_error: OnError) -> Result<(Run, Skips), Error> {
    parse_run(open(path.as_ref())?, path.as_ref(), on_error)
}

/// Candidates to re-rank, and what was passed over on the way to them.
#[derive(Debug, Default)]
pub struct Candidates {
    /// The candidates of each query.
    pub run: Run,
    /// Lines that were wrong.
    pub skipped: Skips,
    /// Lines that name a document which its query has already.
    pub repeated: Skips,
}

/// [`read_run`] for candidates of a first stage: a document that stands twice in a list is no fault, its
/// first line counts and the others are told of.
///
/// # Errors
/// As [`read_run`], but for repeated documents.
pub fn read_candidates(path: impl AsRef<Path>, on_error: OnError) -> Result<Candidates, Error> {
    parse_candidates(open(path.as_ref())?, path.as_ref(), on_error)
}

fn parse_candidates(
    reader: impl Read,
    source: &Path,
    on_error: OnError,
) -> Result<Candidates, Error> {
    let mut parser = Parser::default();
    let mut repeated = Skips::default();
    let skipped = for_each_line(reader, source, on_error, |line, at| {
        match parser.line(line, at)? {
            Added::New => {}
            Added::Repeated(error) => repeated.add(error),
        }
        Ok(())
    })?;
    Ok(Candidates {
        run: parser.finish(),
        skipped,
        repeated,
    })
}

/// [`read_run`] from any reader; `source` is named in errors.
///
/// # Errors
/// As [`read_run`].
pub fn parse_run(
    reader: impl Read,
    source: &Path,
    on_error: OnError,
) -> Result<(Run, Skips), Error> {
    let mut parser = Parser::default();
    let skips = for_each_line(reader, source, on_error, |line, at| {
        match parser.line(line, at)? {
            Added::New => Ok(()),
            Added::Repeated(error) => Err(error),
        }
    })?;
    Ok((parser.finish(), skips))
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Trec,
    MsMarco,
    /// MS MARCO's `top1000`: query, document and their texts.
    Top1000,
}

/// What became of a line that is well-formed.
enum Added {
    New,
    /// The query has the document already.
    Repeated(Error),
}

#[derive(Default)]
struct Parser {
    /// Set by the first good line; the others must agree.
    form: Option<Form>,
    tag: String,
    queries: IndexMap<String, IndexMap<String, f64>>,
}

impl Parser {
    fn line(&mut self, line: &str, at: &Place<'_>) -> Result<Added, Error> {
        if self.form.is_none_or(|form| form == Form::Top1000)
            && let Some((query, document)) = top1000(line)
        {
            self.form = Some(Form::Top1000);
            return Ok(self.add(query, document, 0.0, at));
        }
        let columns: Vec<_> = line.split_ascii_whitespace().collect();
        let (form, query, document, score) = match columns[..] {
            [query, _, document, _, score, tag]
                if self.form.is_none_or(|form| form == Form::Trec) =>
            {
                let score = parse_score(score, at)?;
                if self.tag.is_empty() {
                    tag.clone_into(&mut self.tag);
                }
                (Form::Trec, query, document, score)
            }
            [query, document, rank] if self.form.is_none_or(|form| form == Form::MsMarco) => {
                (Form::MsMarco, query, document, -parse_rank(rank, at)?)
            }
            _ => return Err(self.wrong_columns(line, columns.len(), at)),
        };
        self.form = Some(form);
        Ok(self.add(query, document, score, at))
    }

    fn add(&mut self, query: &str, document: &str, score: f64, at: &Place<'_>) -> Added {
        let documents = match self.queries.get_mut(query) {
            Some(documents) => documents,
            None => self.queries.entry(query.to_owned()).or_default(),
        };
        if documents.contains_key(document) {
            return Added::Repeated(at.error(
                "each document once for a query",
                format!("query {} with {} again", quote(query), quote(document)),
                "keep one of the two lines",
            ));
        }
        documents.insert(document.to_owned(), score);
        Added::New
    }

    fn wrong_columns(&self, line: &str, columns: usize, at: &Place<'_>) -> Error {
        let expected = match self.form {
            Some(Form::Trec) => "6 columns, as before: query, Q0, document, rank, score, tag",
            Some(Form::MsMarco) => "3 columns, as before: query, document, rank",
            Some(Form::Top1000) => {
                "4 columns between tabs, as before: query, document, the query's text, the document's"
            }
            None => {
                "6 columns (query, Q0, document, rank, score, tag) or MS MARCO's 3 (query, document, rank)"
            }
        };
        let remedy = match columns {
            4 => "this looks like qrels: check which file is which",
            _ => "identifiers must not contain white space",
        };
        at.error(expected, format!("{columns} in {}", quote(line)), remedy)
    }

    fn finish(self) -> Run {
        let queries = self
            .queries
            .into_iter()
            .map(|(query, documents)| (query, documents.into_iter().collect()))
            .collect();
        Run {
            tag: self.tag,
            queries,
        }
    }
}

/// Query and document of a line of MS MARCO's `top1000`. Qrels have four columns too, but a grade in the last.
fn top1000(line: &str) -> Option<(&str, &str)> {
    let columns: Vec<_> = line.split('\t').map(str::trim).collect();
    let [query, document, text, passage] = columns[..] else {
        return None;
    };
    let is_id = |id: &str| !id.is_empty() && !id.contains(char::is_whitespace);
    let is_grade = passage.parse::<i32>().is_ok();
    (is_id(query) && is_id(document) && !text.is_empty() && !is_grade).then_some((query, document))
}

fn parse_score(text: &str, at: &Place<'_>) -> Result<f64, Error> {
    match text.parse::<f64>() {
        // Scores are held in single precision, here as in trec_eval: one that is beyond it would be no score.
        Ok(score) if (score as f32).is_finite() => Ok(score),
        Ok(score) if score.is_finite() => Err(at.error(
            "a score that single precision can hold in column 5, up to 3.4e38",
            quote(text),
            "scale the scores of this run: their order alone counts",
        )),
        _ => Err(at.error(
            "a finite number as score in column 5",
            quote(text),
            "fix what wrote the run: such a score has no place in a ranking",
        )),
    }
}

fn parse_rank(text: &str, at: &Place<'_>) -> Result<f64, Error> {
    match text.parse::<u32>() {
        Ok(rank) if rank > 0 => Ok(f64::from(rank)),
        _ => Err(at.error(
            "a rank counted from 1 in column 3",
            quote(text),
            "this line has three columns, so it is read as MS MARCO's query, document, rank",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str, on_error: OnError) -> Result<(Run, Skips), Error> {
        parse_run(text.as_bytes(), Path::new("r.run"), on_error)
    }

    fn message(text: &str) -> String {
        parse(text, OnError::Stop).unwrap_err().to_string()
    }

    #[test]
    fn trec_form() {
        let (run, _) = parse(
            "q2 Q0 a 1 1.5 sys\nq1\tQ0\tb\t1\t-2e3\tsys\n",
            OnError::Stop,
        )
        .unwrap();
        assert_eq!(run.tag, "sys");
        assert_eq!(run.queries.keys().collect::<Vec<_>>(), ["q2", "q1"]);
        assert_eq!(run.queries["q1"], [("b".to_owned(), -2000.0)]);
    }

    #[test]
    fn ms_marco_form_keeps_its_order() {
        let (run, _) = parse("1\ta\t2\n1\tb\t1\n1\tc\t3\n", OnError::Stop).unwrap();
        let order: Vec<_> = ranking(&run.queries["1"])
            .iter()
            .map(|d| d.0.as_str())
            .collect();
        assert_eq!(order, ["b", "a", "c"]);
    }

    #[test]
    fn top1000_has_texts_and_no_order() {
        let text = "188714\t1000052\tfoods and supplements\tWatch portion sizes.\n188714\t1000084\tfoods and supplements\tKids\n2\t7\tq\t\n";
        let (run, _) = parse(text, OnError::Stop).unwrap();
        let expected = [("1000052".to_owned(), 0.0), ("1000084".to_owned(), 0.0)];
        assert_eq!(run.queries["188714"], expected);
        assert_eq!(run.queries["2"].len(), 1);
        assert!(message("1\t0\ta\t1\n").contains("looks like qrels"));
        assert!(message("1\ta\tb c\td e\n1 a 1\n").contains("4 columns between tabs, as before"));
    }

    #[test]
    fn ties_go_to_the_greater_id_and_scores_are_single_precision() {
        let documents = [
            ("a", 1.0),
            ("c", 1.0 + 1e-12),
            ("b", 1.0),
            ("d", 0.0),
            ("e", -0.0),
        ];
        let documents = documents.map(|(id, score)| (id.to_owned(), score));
        let order: Vec<_> = ranking(&documents).iter().map(|d| d.0.as_str()).collect();
        assert_eq!(order, ["c", "b", "a", "e", "d"]);
    }

    #[test]
    fn errors_name_line_expectation_and_remedy() {
        for score in ["NaN", "inf", "-inf", "1e999", "x"] {
            let error = message(&format!("1 Q0 a 1 2 t\n1 Q0 b 2 {score} t"));
            assert!(
                error.starts_with("r.run:2: expected a finite number as score"),
                "{error}"
            );
        }
        for score in ["1e39", "-3.5e38"] {
            let error = message(&format!("1 Q0 a 1 2 t\n1 Q0 b 2 {score} t"));
            assert!(
                error.starts_with("r.run:2: expected a score that single precision can hold"),
                "{error}"
            );
        }
        assert!(parse("1 Q0 a 1 3.4e38 t", OnError::Stop).is_ok());
        assert!(message("1 0 a 1").contains("looks like qrels"));
        assert!(message("1 Q0 a 1 2 t\n1 a 1").contains("expected 6 columns, as before"));
        assert!(message("1 a 1\n1 Q0 b 2 1.0 t").contains("expected 3 columns, as before"));
        assert!(message("1 a 0").contains("a rank counted from 1"));
        assert!(
            message("1 Q0 a 1 2 t\n1 Q0 a 2 1 t")
                .starts_with("r.run:2: expected each document once")
        );
    }

    #[test]
    fn skipping_counts_and_keeps_the_rest() {
        let text = "1 Q0 a 1 NaN t\n1 Q0 b 2 3 t\n1 Q0 b 3 2 t\nx\n2 Q0 a 1 1 t\n";
        let (run, skips) = parse(text, OnError::Skip).unwrap();
        assert_eq!((skips.count, skips.examples.len()), (3, 3));
        assert_eq!(run.queries["1"], [("b".to_owned(), 3.0)]);
        assert_eq!(run.queries.len(), 2);
    }

    #[test]
    fn candidates_may_repeat_and_the_first_counts() {
        let text = "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 a 3 1 t\n2 Q0 a 1 1 t\n";
        let parse = |text: &str| parse_candidates(text.as_bytes(), Path::new("r"), OnError::Stop);
        let candidates = parse(text).unwrap();
        assert_eq!(
            candidates.run.queries["1"],
            [("a".to_owned(), 3.0), ("b".to_owned(), 2.0)]
        );
        assert_eq!(
            (candidates.repeated.count, candidates.skipped.count),
            (1, 0)
        );
        let told = candidates.repeated.examples[0].to_string();
        assert!(
            told.starts_with("r:3: expected each document once"),
            "{told}"
        );
        assert!(parse("1 Q0 a 1 NaN t\n").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>) {
            let _ = parse_run(&bytes[..], Path::new("f"), OnError::Stop);
            prop_assert!(parse_run(&bytes[..], Path::new("f"), OnError::Skip).is_ok());
        }

        #[test]
        fn near_misses_never_panic(text in "([0-9a-zé\t \n.+-]{0,16}\n?){0,8}") {
            let _ = parse(&text, OnError::Stop);
            prop_assert!(parse(&text, OnError::Skip).is_ok());
        }
    }
}
