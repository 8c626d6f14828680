//! Reading the names of measures.

use super::{Kind, Measure};
use crate::error::Error;
use std::str::FromStr;

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

    /// Steps over `symbol` if it comes next.
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
    use super::super::tests::kinds;
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
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
