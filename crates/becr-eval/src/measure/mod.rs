//! The measures, and their names as `ir_measures` writes them.

mod parse;

pub use parse::parse_measures;

use std::fmt;

/// What a measure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Normalised discounted cumulative gain; the gain is the grade, the discount log₂(rank + 1).
    Ndcg,
    /// Precision: the share of relevant documents among the first k.
    Precision,
    /// Recall: the share of the relevant documents found among the first k.
    Recall,
    /// Reciprocal rank of the first relevant document. With a cutoff the order is `trec_eval`'s as well;
    /// `ir_measures` takes RR@k from another tool, which breaks ties differently.
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

    pub(super) fn kinds() -> impl Strategy<Value = Kind> {
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
    }
}
