//! A run against judgements: one value for each measure and query, and their means.

use crate::measure::Measure;
use crate::qrels::Qrels;
use crate::run::{Run, ranking};
use indexmap::IndexMap;
use std::collections::HashMap;

/// Which queries count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The queries that have both judgements and an answer, as `trec_eval` does.
    #[default]
    Answered,
    /// All judged queries; one without an answer counts as 0.
    Complete,
}

/// The measures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Query id → one value for each measure, queries in the order of the qrels.
    pub per_query: IndexMap<String, Vec<f64>>,
    /// Judged queries for which the run has no answer.
    pub unanswered: usize,
    /// Queries of the run without judgements; they never count.
    pub unjudged: usize,
}

impl Evaluation {
    /// The values of the measure at `index`, query by query.
    #[must_use]
    pub fn values(&self, index: usize) -> Vec<f64> {
        self.per_query
            .values()
            .map(|values| values[index])
            .collect()
    }

    /// The mean of the measure at `index`; `None` if no query counts.
    #[must_use]
    pub fn mean(&self, index: usize) -> Option<f64> {
        let values = self.values(index);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// Evaluates a run. The order of the documents is that of [`ranking`]; unjudged documents are not
/// relevant, negative grades neither.
///
/// ```
/// use becr_eval::{evaluate, parse_measures, Qrels, Run, Scope};
///
/// let mut qrels = Qrels::default();
/// qrels.insert("q1", "d2", 1);
/// let mut run = Run::new("example");
/// run.push("q1", "d1", 9.0);
/// run.push("q1", "d2", 7.0);
/// let evaluation = evaluate(&qrels, &run, &parse_measures("RR")?, Scope::Answered);
/// assert_eq!(evaluation.mean(0), Some(0.5));
/// # Ok::<(), becr_eval::Error>(())
/// ```
#[must_use]
pub fn evaluate(qrels: &Qrels, run: &Run, measures: &[Measure], scope: Scope) -> Evaluation {
    let mut evaluation = Evaluation {
        unjudged: run
            .queries
            .keys()
            .filter(|query| !qrels.queries.contains_key(*query))
            .count(),
        ..Evaluation::default()
    };
    for (query, judgements) in &qrels.queries {
        let answer = run.queries.get(query);
        evaluation.unanswered += usize::from(answer.is_none());
        if answer.is_some() || scope == Scope::Complete {
            let answer = answer.map_or(&[][..], Vec::as_slice);
            evaluation
                .per_query
                .insert(query.clone(), values(judgements, answer, measures));
        }
    }
    evaluation
}

fn values(
    judgements: &HashMap<String, i32>,
    answer: &[(String, f64)],
    measures: &[Measure],
) -> Vec<f64> {
    let grade = |document: &str| judgements.get(document).copied().unwrap_or(0);
    let ranked: Vec<i32> = ranking(answer)
        .iter()
        .map(|(document, _)| grade(document))
        .collect();
    let judged: Vec<i32> = judgements.values().copied().collect();
    measures
        .iter()
        .map(|measure| measure.value(&ranked, &judged))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_measures;
    use proptest::prelude::*;

    #[test]
    fn scope_decides_what_a_missing_answer_means() {
        let mut qrels = Qrels::default();
        for (query, grade) in [("1", 1), ("2", 1), ("3", 0)] {
            qrels.insert(query, "d", grade);
        }
        let mut run = Run::new("t");
        for query in ["9", "3", "1"] {
            run.push(query, "d", 1.0);
        }
        let measures = parse_measures("RR").unwrap();
        let answered = evaluate(&qrels, &run, &measures, Scope::Answered);
        // Query 3 has no relevant document and still counts.
        assert_eq!(answered.mean(0), Some(0.5));
        assert_eq!(answered.per_query.keys().collect::<Vec<_>>(), ["1", "3"]);
        assert_eq!((answered.unanswered, answered.unjudged), (1, 1));
        let complete = evaluate(&qrels, &run, &measures, Scope::Complete);
        assert_eq!(complete.mean(0), Some(1.0 / 3.0));
        assert_eq!(
            evaluate(&qrels, &Run::new("t"), &measures, Scope::Answered).mean(0),
            None
        );
    }

    proptest! {
        #[test]
        fn the_order_of_lines_does_not_matter(
            documents in prop::collection::btree_map("[a-d]{1,2}", (0..4u8, -1..4i32), 1..20),
            order in any::<prop::sample::Index>(),
        ) {
            let mut qrels = Qrels::default();
            let (mut forward, mut turned) = (Run::new("f"), Run::new("t"));
            for (id, (score, grade)) in &documents {
                qrels.insert("q", id, *grade);
                forward.push("q", id.as_str(), f64::from(*score));
            }
            let mut answer = forward.queries["q"].clone();
            answer.rotate_left(order.index(documents.len()));
            answer.reverse();
            turned.queries.insert("q".into(), answer);
            let measures = parse_measures("nDCG@3 nDCG P@2 R@2 RR AP").unwrap();
            let a = evaluate(&qrels, &forward, &measures, Scope::Answered);
            let b = evaluate(&qrels, &turned, &measures, Scope::Answered);
            prop_assert_eq!(a, b);
        }
    }
}
