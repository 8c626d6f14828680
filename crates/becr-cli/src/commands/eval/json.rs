//! `becr eval` for programs. `runs[].run`, `aggregate` and `per_query` are relied upon by scripts.

use super::Args;
use super::compare::{Comparison, mark};
use super::lengths::{Breakdown, Line, Measured};
use super::load::{System, Systems};
use becr_eval::{Estimate, Evaluation};
use indexmap::IndexMap;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct EvalOutput<'a> {
    qrels: String,
    complete: bool,
    confidence: f64,
    correction: &'static str,
    runs: Vec<RunReport<'a>>,
    baselines: Vec<BaselineReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_length: Option<Vec<LengthReport<'a>>>,
}

#[derive(Serialize)]
struct RunReport<'a> {
    run: String,
    label: &'a str,
    tag: &'a str,
    queries: usize,
    unanswered: usize,
    unjudged: usize,
    skipped_lines: u64,
    aggregate: IndexMap<String, Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_query: Option<IndexMap<String, IndexMap<&'a str, f64>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    comparisons: Vec<ComparisonReport>,
}

#[derive(Serialize)]
struct BaselineReport<'a> {
    marker: String,
    #[serde(flatten)]
    run: RunReport<'a>,
}

#[derive(Serialize)]
struct ComparisonReport {
    baseline: String,
    marker: String,
    measure: String,
    pairs: usize,
    difference: f64,
    /// null also where it is infinite.
    t: Option<f64>,
    p: Option<f64>,
    p_adjusted: Option<f64>,
    significant: bool,
}

#[derive(Serialize)]
struct LengthReport<'a> {
    measure: &'a str,
    runs: Vec<LineReport<'a>>,
    differences: Vec<LineReport<'a>>,
}

#[derive(Serialize)]
struct LineReport<'a> {
    run: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<String>,
    lengths: IndexMap<&'a str, Option<EstimateReport>>,
}

#[derive(Serialize)]
struct EstimateReport {
    queries: usize,
    mean: f64,
    half_width: Option<f64>,
}

pub(super) fn report<'a>(
    args: &Args,
    systems: &'a Systems,
    comparisons: &[Comparison],
    breakdown: Option<&'a Breakdown>,
) -> EvalOutput<'a> {
    let run = |(position, system)| run_report(args, systems, comparisons, position, system);
    let baselines = systems
        .baselines
        .iter()
        .enumerate()
        .map(|(index, &position)| BaselineReport {
            marker: mark(index),
            run: run((position, &systems.all[position])),
        });
    EvalOutput {
        qrels: args.qrels.display().to_string(),
        complete: args.complete,
        confidence: args.confidence,
        correction: args.correction.name(),
        baselines: baselines.collect(),
        runs: systems.runs().iter().enumerate().map(run).collect(),
        by_length: breakdown.map(|b| {
            b.panels
                .iter()
                .map(|p| length_report(systems, b, p))
                .collect()
        }),
    }
}

fn path(system: &System) -> String {
    system.path.display().to_string()
}

fn run_report<'a>(
    args: &Args,
    systems: &Systems,
    comparisons: &[Comparison],
    position: usize,
    system: &'a System,
) -> RunReport<'a> {
    let evaluation = &system.evaluation;
    let measures = || args.measures.0.iter().map(ToString::to_string).enumerate();
    let comparisons = comparisons
        .iter()
        .filter(|comparison| comparison.system == position);
    RunReport {
        run: path(system),
        label: &system.label,
        tag: &system.tag,
        queries: evaluation.per_query.len(),
        unanswered: evaluation.unanswered,
        unjudged: evaluation.unjudged,
        skipped_lines: system.skipped,
        aggregate: measures()
            .map(|(index, name)| (name, evaluation.mean(index)))
            .collect(),
        per_query: args.per_query.then(|| {
            measures()
                .map(|(index, name)| (name, per_query(evaluation, index)))
                .collect()
        }),
        comparisons: comparisons
            .map(|comparison| comparison_report(args, systems, comparison))
            .collect(),
    }
}

fn per_query(evaluation: &Evaluation, measure: usize) -> IndexMap<&str, f64> {
    evaluation
        .per_query
        .iter()
        .map(|(query, values)| (query.as_str(), values[measure]))
        .collect()
}

fn comparison_report(args: &Args, systems: &Systems, comparison: &Comparison) -> ComparisonReport {
    let Comparison {
        measure,
        baseline,
        test,
        p_adjusted,
        significant,
        ..
    } = comparison;
    ComparisonReport {
        baseline: path(&systems.all[systems.baselines[*baseline]]),
        marker: mark(*baseline),
        measure: args.measures.0[*measure].to_string(),
        pairs: test.pairs,
        difference: test.difference,
        t: test.t,
        p: test.p,
        p_adjusted: *p_adjusted,
        significant: *significant,
    }
}

fn length_report<'a>(
    systems: &Systems,
    breakdown: &'a Breakdown,
    panel: &'a Measured,
) -> LengthReport<'a> {
    let lines = |lines: &[Line]| {
        lines
            .iter()
            .map(|line| line_report(systems, &breakdown.buckets, line))
            .collect()
    };
    LengthReport {
        measure: &panel.measure,
        runs: lines(&panel.means),
        differences: lines(&panel.differences),
    }
}

fn line_report<'a>(systems: &Systems, buckets: &'a [String], line: &Line) -> LineReport<'a> {
    let estimate = |point: Option<Estimate>| {
        point.map(|p| EstimateReport {
            queries: p.n,
            mean: p.mean,
            half_width: p.half_width,
        })
    };
    let points = buckets
        .iter()
        .zip(&line.points)
        .map(|(bucket, point)| (bucket.as_str(), estimate(*point)));
    LineReport {
        run: path(&systems.all[line.system]),
        baseline: line.minus.map(|position| path(&systems.all[position])),
        lengths: points.chain([("all", estimate(line.overall))]).collect(),
    }
}
