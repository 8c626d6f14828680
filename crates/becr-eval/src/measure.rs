//! The measures, and their names as `ir_measures` writes them.

use crate::error::Error;
use std::fmt;
use std::str::FromStr;

/// What a measure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Normalised discounted cumulative gain; the gain is the grade, the discount log₂(rank + 1).
    Ndcg,
    /// Precision: the share of relevant documents among the first k.
    Precision,
    /// Recall: the share of the relevant documents found among the first k.
    Recall,
    /// Reciprocal rank of the first relevant document.
    ReciprocalRank,
    /// Average precision.
    AveragePrecision,
}

/// One measure, such as `nDCG@10`, `RR` or `P(rel=2)@20`.
///
/// ```
/// let measure: becr_eval::Measure = "p(rel=2)@20".parse()?;
/// assert_eq!(measure.to_string(), "P(rel=2)@20");
/// # Ok::<(), becr_eval::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Measure {
    kind: Kind,
    /// The lowest grade that counts as relevant, at least 1.
    relevant: i32,
    cutoff: Option<usize>,
}

impl Measure {
    /// What it counts.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How many documents it looks at; `None` is all of them.
    #[must_use]
    pub fn cutoff(&self) -> Option<usize> {
        self.cutoff
    }

    /// The value for one query: `ranked` holds the grades of the returned documents from the first
    /// rank on (0 for unjudged ones), `judged` the grades of all judged documents in any order.
    #[must_use]
    pub fn value(&self, ranked: &[i32], judged: &[i32]) -> f64 {
        let seen = &ranked[..self.cutoff.unwrap_or(ranked.len()).min(ranked.len())];
        let is_relevant = |&&grade: &&i32| grade >= self.relevant;
        let hits = seen.iter().filter(is_relevant).count() as f64;
        let relevant = judged.iter().filter(is_relevant).count() as f64;
        match self.kind {
            Kind::Ndcg => ndcg(seen, judged, self.cutoff),
            Kind::Precision => hits / self.cutoff.unwrap_or(seen.len()).max(1) as f64,
            Kind::Recall => ratio(hits, relevant),
            Kind::ReciprocalRank => {
                let first = seen.iter().position(|&grade| grade >= self.relevant);
                first.map_or(0.0, |position| 1.0 / (position + 1) as f64)
            }
            Kind::AveragePrecision => ratio(self.precision_at_hits(seen), relevant),
        }
    }

    /// The sum of the precisions at the ranks of the relevant documents.
    fn precision_at_hits(&self, seen: &[i32]) -> f64 {
        let hits = seen
            .iter()
            .enumerate()
            .filter(|(_, grade)| **grade >= self.relevant);
        hits.zip(1..)
            .map(|((position, _), found)| f64::from(found) / (position + 1) as f64)
            .sum()
    }
}

/// A query without relevant documents counts as 0, as in `trec_eval`.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn ndcg(seen: &[i32], judged: &[i32], cutoff: Option<usize>) -> f64 {
    let mut ideal: Vec<i32> = judged.iter().copied().filter(|&grade| grade > 0).collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    ideal.truncate(cutoff.unwrap_or(usize::MAX));
    ratio(dcg(seen), dcg(&ideal))
}

fn dcg(grades: &[i32]) -> f64 {
    let gain = |grade: i32| f64::from(grade.max(0));
    grades
        .iter()
        .enumerate()
        .map(|(i, &grade)| gain(grade) / ((i + 2) as f64).log2())
        .sum()
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Ndcg => "nDCG",
            Kind::Precision => "P",
            Kind::Recall => "R",
            Kind::ReciprocalRank => "RR",
            Kind::AveragePrecision => "AP",
        })?;
        if self.relevant != 1 {
            write!(f, "(rel={})", self.relevant)?;
        }
        self.cutoff.map_or(Ok(()), |cutoff| write!(f, "@{cutoff}"))
    }
}

impl FromStr for Measure {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parser = Parser { text, at: 0 };
        let measure = parser.measure()?;
        parser.separators();
        match parser.rest().is_empty() {
            true => Ok(measure),
            false => Err(parser.error(
                "expected the end",
                "give several measures to parse_measures",
            )),
        }
    }
}

/// Reads measures separated by white space or commas; a repeated one counts once.
///
/// # Errors
/// If a name, parameter or cutoff cannot be understood, or if there is no measure at all.
///
/// ```
/// let measures = becr_eval::parse_measures("nDCG@10, P(rel=2)@20 RR")?;
/// assert_eq!(measures.len(), 3);
/// assert!(becr_eval::parse_measures("P").unwrap_err().to_string().contains("P@10"));
/// # Ok::<(), becr_eval::Error>(())
/// ```
pub fn parse_measures(text: &str) -> Result<Vec<Measure>, Error> {
    let mut parser = Parser { text, at: 0 };
    let mut measures = Vec::new();
    loop {
        parser.separators();
        if parser.rest().is_empty() {
            break;
        }
        let measure = parser.measure()?;
        if !measures.contains(&measure) {
            measures.push(measure);
        }
    }
    match measures.is_empty() {
        true => Err(parser.error("expected a measure, found none", NAMES)),
        false => Ok(measures),
    }
}

const NAMES: &str =
    "known are nDCG, nDCG@k, P@k, R@k, RR, RR@k, AP, AP@k, as in \"nDCG@10 P(rel=2)@20\"";

/// Recursive descent over `name [ "(" "rel" "=" number ")" ] [ "@" number ]`.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error(&self, problem: impl Into<String>, remedy: impl Into<String>) -> Error {
        Error::Measure {
            text: self.text.to_owned(),
            position: self.text[..self.at].chars().count() + 1,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn separators(&mut self) {
        self.take_while(|c| c.is_whitespace() || c == ',');
    }

    /// Steps over `symbol`, with the white space around it inside parentheses.
    fn eat(&mut self, symbol: char) -> bool {
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    fn measure(&mut self) -> Result<Measure, Error> {
        let start = self.at;
        let kind = self.kind()?;
        let relevant = if self.eat('(') {
            self.parameters(kind)?
        } else {
            1
        };
        let cutoff = if self.eat('@') {
            Some(self.cutoff()?)
        } else {
            None
        };
        if cutoff.is_none() && matches!(kind, Kind::Precision | Kind::Recall) {
            let name = &self.text[start..self.at];
            let remedy = format!("write {name}@10 for the first 10 documents");
            return Err(self.error(format!("{name} needs a cutoff"), remedy));
        }
        if !matches!(self.rest().chars().next(), None | Some(','))
            && !self.rest().starts_with(char::is_whitespace)
        {
            return Err(self.error("expected a space or comma after the measure", NAMES));
        }
        Ok(Measure {
            kind,
            relevant,
            cutoff,
        })
    }

    fn kind(&mut self) -> Result<Kind, Error> {
        let start = self.at;
        let name = self.take_while(char::is_alphanumeric);
        match name.to_ascii_lowercase().as_str() {
            "ndcg" => Ok(Kind::Ndcg),
            "p" | "precision" => Ok(Kind::Precision),
            "r" | "recall" => Ok(Kind::Recall),
            "rr" | "mrr" => Ok(Kind::ReciprocalRank),
            "ap" | "map" => Ok(Kind::AveragePrecision),
            _ => {
                self.at = start;
                Err(self.error(format!("unknown measure {name:?}"), NAMES))
            }
        }
    }

    fn parameters(&mut self, kind: Kind) -> Result<i32, Error> {
        const REMEDY: &str =
            "the one parameter is rel, the lowest relevant grade, as in P(rel=2)@10";
        self.take_while(char::is_whitespace);
        if kind == Kind::Ndcg {
            return Err(self.error(
                "nDCG takes no parameter",
                "it uses every grade: leave it out",
            ));
        }
        if self.take_while(char::is_alphanumeric) != "rel" {
            return Err(self.error("unknown parameter", REMEDY));
        }
        self.take_while(char::is_whitespace);
        if !self.eat('=') {
            return Err(self.error("expected = after rel", REMEDY));
        }
        self.take_while(char::is_whitespace);
        let start = self.at;
        let Some(relevant) = self.number::<i32>() else {
            self.at = start;
            return Err(self.error("expected a grade of at least 1", REMEDY));
        };
        self.take_while(char::is_whitespace);
        if !self.eat(')') {
            return Err(self.error("expected ) after the grade", REMEDY));
        }
        Ok(relevant)
    }

    fn cutoff(&mut self) -> Result<usize, Error> {
        let start = self.at;
        self.number().ok_or_else(|| {
            self.at = start;
            self.error(
                "expected a cutoff of at least 1 after @",
                "write the number of documents, as in nDCG@10",
            )
        })
    }

    /// A number of at least 1.
    fn number<N: FromStr + Default + PartialOrd>(&mut self) -> Option<N> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        digits.parse().ok().filter(|number| *number > N::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(measure: &str, ranked: &[i32], judged: &[i32]) -> f64 {
        measure.parse::<Measure>().unwrap().value(ranked, judged)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn worked_example() {
        let (ranked, judged) = ([0, 2, -1, 1], [1, 2, -1, 3, 0]);
        assert!(close(value("P@3", &ranked, &judged), 1.0 / 3.0));
        assert!(close(value("P@10", &ranked, &judged), 0.2));
        assert!(close(value("R@4", &ranked, &judged), 2.0 / 3.0));
        assert!(close(value("RR", &ranked, &judged), 0.5));
        assert!(close(value("RR@1", &ranked, &judged), 0.0));
        assert!(close(value("RR(rel=1)", &ranked, &judged), 0.5));
        assert!(close(value("RR(rel=3)", &ranked, &judged), 0.0));
        assert!(close(value("AP", &ranked, &judged), (0.5 + 0.5) / 3.0));
        assert!(close(value("AP@2", &ranked, &judged), 0.5 / 3.0));
        assert!(close(value("AP(rel=2)", &ranked, &judged), 0.5 / 2.0));
        let log3 = 3f64.log2();
        assert!(close(
            value("nDCG@2", &ranked, &judged),
            (2.0 / log3) / (3.0 + 2.0 / log3)
        ));
        let ideal = 3.0 + 2.0 / log3 + 0.5;
        assert!(close(
            value("nDCG", &ranked, &judged),
            (2.0 / log3 + 1.0 / 5f64.log2()) / ideal
        ));
    }

    #[test]
    fn nothing_relevant_or_nothing_returned_is_zero() {
        for measure in parse_measures("nDCG nDCG@5 P@5 R@5 RR RR@5 AP AP@5").unwrap() {
            assert_eq!(measure.value(&[0, -1, 0], &[0, -1]), 0.0, "{measure}");
            assert_eq!(measure.value(&[], &[1]), 0.0, "{measure}");
            assert_eq!(measure.value(&[], &[]), 0.0, "{measure}");
        }
    }

    #[test]
    fn names() {
        let text = "ndcg@10,MRR@10 map  P( rel = 2 )@5 R@100 recall@100 AP@1000 nDCG";
        let names: Vec<_> = parse_measures(text)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            names,
            [
                "nDCG@10",
                "RR@10",
                "AP",
                "P(rel=2)@5",
                "R@100",
                "AP@1000",
                "nDCG"
            ]
        );
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, part) in [
            ("", "found none"),
            ("nDCG@10 ERR@20", "character 9: unknown measure \"ERR\""),
            ("P", "write P@10"),
            ("nDCG@", "character 6: expected a cutoff"),
            ("nDCG@0", "expected a cutoff of at least 1"),
            ("P@99999999999999999999999", "expected a cutoff"),
            ("nDCG(rel=2)@5", "nDCG takes no parameter"),
            ("P(min=2)@5", "unknown parameter"),
            ("P(rel)@5", "expected = after rel"),
            ("P(rel=0)@5", "expected a grade of at least 1"),
            ("P(rel=2@5", "expected ) after the grade"),
            ("P@5x", "expected a space or comma"),
            ("§", "unknown measure \"\""),
        ] {
            let error = parse_measures(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!("P@5 P@10".parse::<Measure>().is_err());
    }

    /// The definitions spelled out rank by rank, sharing no code with the above.
    fn naive(kind: Kind, relevant: i32, k: usize, ranked: &[i32], judged: &[i32]) -> f64 {
        let total = judged.iter().filter(|g| **g >= relevant).count() as f64;
        let (mut hits, mut precisions, mut first, mut gain) = (0.0, 0.0, 0.0, 0.0);
        let mut rank = 0.0;
        for &grade in ranked.iter().take(k) {
            rank += 1.0;
            if grade > 0 {
                gain += f64::from(grade) * 2f64.ln() / f64::ln(rank + 1.0);
            }
            if grade >= relevant {
                hits += 1.0;
                precisions += hits / rank;
                if hits == 1.0 {
                    first = 1.0 / rank;
                }
            }
        }
        let mut best = 0.0;
        let mut left: Vec<i32> = judged.iter().copied().filter(|g| *g > 0).collect();
        for rank in 1..=k {
            let Some(top) = left.iter().copied().max() else {
                break;
            };
            best += f64::from(top) * 2f64.ln() / f64::ln(rank as f64 + 1.0);
            let position = left.iter().position(|g| *g == top).unwrap();
            left.swap_remove(position);
        }
        match kind {
            Kind::Precision => hits / k as f64,
            Kind::ReciprocalRank => first,
            Kind::Recall if total > 0.0 => hits / total,
            Kind::AveragePrecision if total > 0.0 => precisions / total,
            Kind::Ndcg if best > 0.0 => gain / best,
            _ => 0.0,
        }
    }

    fn kinds() -> impl Strategy<Value = Kind> {
        prop::sample::select(vec![
            Kind::Ndcg,
            Kind::Precision,
            Kind::Recall,
            Kind::ReciprocalRank,
            Kind::AveragePrecision,
        ])
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_definition(
            kind in kinds(),
            relevant in 1..4i32,
            cutoff in 1..30usize,
            judged in prop::collection::vec(-2..5i32, 0..30),
            found in prop::collection::vec(any::<(bool, prop::sample::Index)>(), 0..40),
        ) {
            // A ranking returns a judged document at most once, and unjudged ones (grade 0).
            let mut left = judged.clone();
            let ranked: Vec<i32> = found
                .iter()
                .map(|(judged, i)| match *judged && !left.is_empty() {
                    true => left.swap_remove(i.index(left.len())),
                    false => 0,
                })
                .collect();
            let relevant = if kind == Kind::Ndcg { 1 } else { relevant };
            let measure = Measure { kind, relevant, cutoff: Some(cutoff) };
            let value = measure.value(&ranked, &judged);
            prop_assert!((0.0..=1.0 + 1e-12).contains(&value));
            prop_assert!((value - naive(kind, relevant, cutoff, &ranked, &judged)).abs() < 1e-12);
        }

        #[test]
        fn names_round_trip(kind in kinds(), relevant in 1..9i32, cutoff in prop::option::of(1..5000usize)) {
            let needs_cutoff = matches!(kind, Kind::Precision | Kind::Recall);
            let relevant = if kind == Kind::Ndcg { 1 } else { relevant };
            let cutoff = if needs_cutoff { cutoff.or(Some(7)) } else { cutoff };
            let measure = Measure { kind, relevant, cutoff };
            prop_assert_eq!(measure.to_string().parse::<Measure>().unwrap(), measure);
        }

        #[test]
        fn any_text_never_panics(text: String, like in "[nDCGPRrel@(=), 0-9]{0,20}") {
            let _ = parse_measures(&text);
            let _ = parse_measures(&like);
        }
    }
}
