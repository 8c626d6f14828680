//! The break-down by query length.

use super::compare::pairs;
use super::load::Systems;
use super::{Args, percent};
use crate::commands::corpus;
use crate::output;
use anyhow::{Context, ensure};
use becr_corpus::TopicField;
use becr_eval::{Buckets, Estimate, Panel, Plot, Series, estimate};
use becr_text::words::words;
use std::collections::HashMap;

pub(super) struct Breakdown {
    /// The lengths, as the user named them.
    pub(super) buckets: Vec<String>,
    /// One for each measure.
    pub(super) panels: Vec<Measured>,
}

/// One measure by query length.
pub(super) struct Measured {
    pub(super) measure: String,
    /// The means of all systems, in the order of the table.
    pub(super) means: Vec<Line>,
    /// Run − baseline, for every run and every other baseline.
    pub(super) differences: Vec<Line>,
}

/// One column of the table, one line of the plot.
pub(super) struct Line {
    pub(super) system: usize,
    /// The position of the system subtracted.
    pub(super) minus: Option<usize>,
    pub(super) name: String,
    pub(super) points: Vec<Option<Estimate>>,
    /// Over all lengths together.
    pub(super) overall: Option<Estimate>,
}

pub(super) fn break_down(args: &Args, systems: &Systems) -> anyhow::Result<Breakdown> {
    let lengths = read_lengths(args, systems)?;
    let panels = args.measures.0.iter().enumerate().map(|(index, measure)| {
        let line =
            |system: usize, minus: Option<usize>, name: String, values: Vec<(&str, f64)>| Line {
                system,
                minus,
                name,
                points: args
                    .lengths
                    .estimates(values.iter().copied(), &lengths, args.confidence),
                overall: overall(&values, &lengths, &args.lengths, args.confidence),
            };
        let means = systems.in_table_order().map(|(position, system)| {
            let values = system
                .evaluation
                .per_query
                .iter()
                .map(|(query, v)| (query.as_str(), v[index]));
            line(position, None, system.label.clone(), values.collect())
        });
        let against = |run: usize| {
            systems
                .baselines
                .iter()
                .copied()
                .filter(move |b| *b != run)
                .map(move |b| (run, b))
        };
        let differences = (0..systems.runs).flat_map(against).map(|(run, baseline)| {
            let values = pairs(systems, index, run, baseline).map(|(query, a, b)| (query, a - b));
            let name = format!(
                "{} − {}",
                systems.all[run].label, systems.all[baseline].label
            );
            line(run, Some(baseline), name, values.collect())
        });
        Measured {
            measure: measure.to_string(),
            means: means.collect(),
            differences: differences.collect(),
        }
    });
    let panels = panels.collect();
    let buckets = args
        .lengths
        .as_slice()
        .iter()
        .map(ToString::to_string)
        .collect();
    Ok(Breakdown { buckets, panels })
}

fn overall(
    values: &[(&str, f64)],
    lengths: &HashMap<String, usize>,
    buckets: &Buckets,
    confidence: f64,
) -> Option<Estimate> {
    let counted = |query: &str| {
        lengths
            .get(query)
            .is_some_and(|words| buckets.find(*words).is_some())
    };
    let values: Vec<f64> = values
        .iter()
        .filter(|(query, _)| counted(query))
        .map(|(_, value)| *value)
        .collect();
    estimate(&values, confidence)
}

fn read_lengths(args: &Args, systems: &Systems) -> anyhow::Result<HashMap<String, usize>> {
    let path = args
        .queries
        .as_ref()
        .context("--by-length needs --queries")?;
    let queries = corpus::queries(path, TopicField::Title, args.on_error)?;
    let lengths: HashMap<_, _> = queries
        .into_iter()
        .map(|query| (query.id, words(&query.text).count()))
        .collect();

    let measured = systems
        .all
        .iter()
        .flat_map(|system| system.evaluation.per_query.keys());
    let mut measured: Vec<&String> = measured.collect();
    measured.sort_unstable();
    measured.dedup();
    let unknown = measured
        .iter()
        .filter(|query| !lengths.contains_key(**query))
        .count();
    ensure!(
        unknown < measured.len(),
        "{}: expected the text of measured queries such as {:?}, found none of them; check that the files \
         belong together",
        path.display(),
        measured.first().map_or("", |id| id.as_str()),
    );
    if unknown > 0 {
        output::note(format_args!(
            "note: {} lacks {unknown} of {} measured queries: left out of the break-down",
            path.display(),
            measured.len()
        ));
    }
    let uncounted = measured
        .iter()
        .filter_map(|query| lengths.get(*query))
        .filter(|words| args.lengths.find(**words).is_none());
    let uncounted = uncounted.count();
    if uncounted > 0 {
        output::note(format_args!(
            "note: {uncounted} queries have a length that is not in {}",
            args.lengths
        ));
    }
    Ok(lengths)
}

impl Breakdown {
    /// Differences with the zero line between better and worse, as the paper draws them; means if
    /// there is no baseline.
    pub(super) fn plot(&self, confidence: f64) -> Plot {
        let differences = self
            .panels
            .iter()
            .any(|panel| !panel.differences.is_empty());
        let panels = self.panels.iter().map(|panel| {
            let lines = if differences {
                &panel.differences
            } else {
                &panel.means
            };
            let series = lines.iter().map(|line| Series {
                name: line.name.clone(),
                points: line.points.clone(),
            });
            let what = if differences {
                format!("{} difference", panel.measure)
            } else {
                panel.measure.clone()
            };
            Panel {
                y_label: what,
                series: series.collect(),
            }
        });
        Plot {
            x_label: format!(
                "words in the query (bars: {} confidence)",
                percent(confidence)
            ),
            categories: self.buckets.clone(),
            panels: panels.collect(),
        }
    }
}
