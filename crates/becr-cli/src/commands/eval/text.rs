//! `becr eval` for people.

use super::Args;
use super::compare::{Comparison, mark};
use super::lengths::{Breakdown, Line, Measured};
use super::load::Systems;
use super::{CorrectionArg, percent};
use crate::output;
use becr_eval::{Estimate, Table};
use std::io::{self, Write};

pub(super) fn print(
    args: &Args,
    systems: &Systems,
    comparisons: &[Comparison],
    breakdown: Option<&Breakdown>,
) -> anyhow::Result<()> {
    let mut out = output::stdout();
    write!(out, "{}", aggregate(args, systems, comparisons))?;
    legend(&mut out, args, systems)?;
    if let Some(breakdown) = breakdown {
        for panel in &breakdown.panels {
            let Measured {
                measure,
                means,
                differences,
            } = panel;
            for (what, lines) in [("", means), (" difference", differences)] {
                if !lines.is_empty() {
                    let percent = percent(args.confidence);
                    writeln!(
                        out,
                        "\n{measure}{what} by words in the query, mean ± {percent} interval"
                    )?;
                    write!(out, "{}", by_length(&breakdown.buckets, lines))?;
                }
            }
        }
    }
    if args.per_query {
        for (index, measure) in args.measures.0.iter().enumerate() {
            writeln!(out, "\n{measure} by query")?;
            write!(out, "{}", per_query(systems, index))?;
        }
    }
    out.flush()?;
    Ok(())
}

fn aggregate(args: &Args, systems: &Systems, comparisons: &[Comparison]) -> Table {
    let header = ["run".to_owned(), "queries".to_owned()];
    let measures = args.measures.0.iter().map(ToString::to_string);
    let mut table = Table::new(header.into_iter().chain(measures).collect(), vec![1]);
    for (position, system) in systems.in_table_order() {
        let mut row = vec![
            system.label.clone(),
            system.evaluation.per_query.len().to_string(),
        ];
        for measure in 0..args.measures.0.len() {
            let mean = system
                .evaluation
                .mean(measure)
                .map_or("–".to_owned(), |mean| format!("{mean:.4}"));
            row.push(mean + &marks(comparisons, position, measure));
        }
        table.row(row);
    }
    table
}

fn marks(comparisons: &[Comparison], system: usize, measure: usize) -> String {
    comparisons
        .iter()
        .filter(|c| c.significant && c.system == system && c.measure == measure)
        .map(|c| mark(c.baseline) + if c.test.difference < 0.0 { "↓" } else { "" })
        .collect()
}

fn legend(out: &mut impl Write, args: &Args, systems: &Systems) -> io::Result<()> {
    if systems.baselines.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for (index, &position) in systems.baselines.iter().enumerate() {
        let mark = mark(index);
        writeln!(
            out,
            "{mark} better than {} ({mark}↓ worse)",
            systems.all[position].label
        )?;
    }
    let correction = match args.correction {
        CorrectionArg::None => "not corrected for the number of comparisons",
        CorrectionArg::Bonferroni => "Bonferroni's correction over each column",
        CorrectionArg::Holm => "Holm's correction over each column",
    };
    writeln!(
        out,
        "paired two-sided t-test at {}, {correction}",
        percent(args.confidence)
    )
}

fn by_length(buckets: &[String], lines: &[Line]) -> Table {
    let header = ["words".to_owned(), "queries".to_owned()];
    let mut table = Table::new(
        header
            .into_iter()
            .chain(lines.iter().map(|l| l.name.clone()))
            .collect(),
        vec![1],
    );
    let mut row = |name: &str, points: Vec<Option<Estimate>>| {
        // Runs may answer different queries; the widest count stands for the row, JSON has each.
        let queries = points
            .iter()
            .flatten()
            .map(|point| point.n)
            .max()
            .unwrap_or(0);
        let cells = lines
            .iter()
            .zip(points)
            .map(|(line, point)| cell(point, line.minus.is_some()));
        table.row(
            [name.to_owned(), queries.to_string()]
                .into_iter()
                .chain(cells)
                .collect(),
        );
    };
    for (index, bucket) in buckets.iter().enumerate() {
        row(
            bucket,
            lines.iter().map(|line| line.points[index]).collect(),
        );
    }
    row("all", lines.iter().map(|line| line.overall).collect());
    table
}

fn cell(point: Option<Estimate>, signed: bool) -> String {
    let Some(Estimate {
        mean, half_width, ..
    }) = point
    else {
        return "–".to_owned();
    };
    let mean = if signed {
        format!("{mean:+.4}")
    } else {
        format!("{mean:.4}")
    };
    half_width.map_or(mean.clone(), |half| format!("{mean} ± {half:.4}"))
}

fn per_query(systems: &Systems, measure: usize) -> Table {
    let labels = systems
        .in_table_order()
        .map(|(_, system)| system.label.clone());
    let mut table = Table::new(
        ["query".to_owned()].into_iter().chain(labels).collect(),
        Vec::new(),
    );
    let mut queries: indexmap::IndexSet<&String> = indexmap::IndexSet::new();
    for (_, system) in systems.in_table_order() {
        queries.extend(system.evaluation.per_query.keys());
    }
    for query in queries {
        let values = systems.in_table_order().map(|(_, system)| {
            let value = system
                .evaluation
                .per_query
                .get(query)
                .map(|values| values[measure]);
            value.map_or("–".to_owned(), |value| format!("{value:.4}"))
        });
        table.row([query.clone()].into_iter().chain(values).collect());
    }
    table
}
