//! Which figures differ from a baseline's.

use super::Args;
use super::load::Systems;
use becr_eval::{TTest, paired_t_test};

/// One run against one baseline under one measure.
pub(super) struct Comparison {
    /// The measure's position.
    pub(super) measure: usize,
    /// The run's position.
    pub(super) system: usize,
    /// The baseline's position among the baselines, which decides its mark.
    pub(super) baseline: usize,
    pub(super) test: TTest,
    /// The p-value after correction.
    pub(super) p_adjusted: Option<f64>,
    pub(super) significant: bool,
}

/// The paper's marks, in the order the baselines are given, and two more.
const MARKS: [&str; 6] = ["‡", "*", "§", "¶", "†", "‖"];

/// The mark of a baseline.
pub(super) fn mark(baseline: usize) -> String {
    MARKS
        .get(baseline)
        .map_or_else(|| format!("({})", baseline + 1), ToString::to_string)
}

/// Every run against every baseline but itself. The comparisons under one measure are one family for
/// the correction: those are the ones a reader of a column looks at together.
pub(super) fn compare(args: &Args, systems: &Systems) -> Vec<Comparison> {
    (0..args.measures.0.len())
        .flat_map(|measure| compare_under(args, systems, measure))
        .collect()
}

fn compare_under(args: &Args, systems: &Systems, measure: usize) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for system in 0..systems.runs {
        for (baseline, &position) in systems.baselines.iter().enumerate() {
            if position != system {
                let test = paired_t_test(
                    pairs(systems, measure, system, position).map(|(_, a, b)| (a, b)),
                );
                comparisons.push(Comparison {
                    measure,
                    system,
                    baseline,
                    test,
                    p_adjusted: None,
                    significant: false,
                });
            }
        }
    }
    let p_values: Vec<_> = comparisons
        .iter()
        .map(|comparison| comparison.test.p)
        .collect();
    let adjusted = args.correction.correction().adjust(&p_values);
    for (comparison, p) in comparisons.iter_mut().zip(adjusted) {
        comparison.p_adjusted = p;
        comparison.significant = p.is_some_and(|p| p < 1.0 - args.confidence);
    }
    comparisons
}

/// The values of two systems for the queries that count for both.
pub(super) fn pairs(
    systems: &Systems,
    measure: usize,
    first: usize,
    second: usize,
) -> impl Iterator<Item = (&str, f64, f64)> {
    let second = &systems.all[second].evaluation.per_query;
    systems.all[first]
        .evaluation
        .per_query
        .iter()
        .filter_map(move |(query, values)| {
            Some((query.as_str(), values[measure], second.get(query)?[measure]))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_the_papers() {
        let marks: Vec<_> = (0..7).map(mark).collect();
        assert_eq!(marks, ["‡", "*", "§", "¶", "†", "‖", "(7)"]);
    }
}
