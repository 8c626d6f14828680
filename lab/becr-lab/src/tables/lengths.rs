//! Figures broken down by the length of queries.

use super::config::{Collection, TableConfig};
use super::quoted;
use super::relevance::{CONFIDENCE, RelevanceRow};
use becr_cli::corpus::{self, OnError};
use becr_corpus::TopicField;
use becr_eval::{Buckets, Estimate, Panel, Plot, Series};
use becr_text::words::words;
use std::collections::HashMap;
use std::fmt::Write;

/// The first measure of the table by query length: rows, or differences of rows where the table names some.
pub(super) struct Lengths {
    measure: String,
    buckets: Vec<String>,
    collections: Vec<CollectionLengths>,
    is_difference: bool,
}

struct CollectionLengths {
    name: String,
    /// A row or a difference of rows: its name and a mean for each range of lengths.
    lines: Vec<(String, Vec<Option<Estimate>>)>,
}

impl Lengths {
    /// `None` for a table without lengths.
    pub(super) fn make(
        table: &TableConfig,
        collections: &[&Collection],
        measures: &[String],
        rows: &[RelevanceRow],
    ) -> anyhow::Result<Option<Self>> {
        let (Some(lengths), Some(measure)) = (&table.lengths, measures.first()) else {
            return Ok(None);
        };
        let buckets: Buckets = lengths.parse()?;
        let mut made = Vec::new();
        for (at, collection) in collections.iter().enumerate() {
            let queries = corpus::queries(&collection.queries, TopicField::Title, OnError::Stop)?;
            let lengths: HashMap<String, usize> = queries
                .into_iter()
                .map(|query| (query.id, words(&query.text).count()))
                .collect();
            let values = |row: &RelevanceRow| -> HashMap<String, f64> {
                let cell = row.cells[at].iter();
                let queries = cell.flat_map(|cell| &cell.evaluation.per_query);
                queries
                    .map(|(id, values)| (id.clone(), values[0]))
                    .collect()
            };
            let estimated = |values: &HashMap<String, f64>| {
                let mut values: Vec<(&str, f64)> = values
                    .iter()
                    .map(|(id, value)| (id.as_str(), *value))
                    .collect();
                // In one order, so that the last digit of a mean is always the same.
                values.sort_unstable_by(|a, b| a.0.cmp(b.0));
                buckets.estimates(values, &lengths, CONFIDENCE)
            };
            let row = |name: &String| rows.iter().find(|row| row.name == *name);
            let mut lines = Vec::new();
            for [of, minus] in &table.differences {
                if let (Some(of_row), Some(minus_row)) = (row(of), row(minus)) {
                    let (mut values, other) = (values(of_row), values(minus_row));
                    values
                        .iter_mut()
                        .for_each(|(id, value)| *value -= other.get(id).unwrap_or(&0.0));
                    lines.push((format!("{of} − {minus}"), estimated(&values)));
                }
            }
            if table.differences.is_empty() {
                lines.extend(
                    rows.iter()
                        .map(|row| (row.name.clone(), estimated(&values(row)))),
                );
            }
            made.push(CollectionLengths {
                name: collection.name.clone(),
                lines,
            });
        }
        Ok(Some(Self {
            measure: measure.clone(),
            buckets: buckets.as_slice().iter().map(ToString::to_string).collect(),
            collections: made,
            is_difference: !table.differences.is_empty(),
        }))
    }

    /// A section of the table's file.
    pub(super) fn markdown(&self) -> String {
        let what = match self.is_difference {
            true => "difference of",
            false => "mean of",
        };
        let mut text = format!(
            "\n{what} {} by words in the query, ± 95 % confidence, (queries)\n",
            self.measure
        );
        for collection in &self.collections {
            let _ = writeln!(
                text,
                "\n| {} | {} |",
                collection.name,
                self.buckets.join(" | ")
            );
            let _ = writeln!(text, "|---|{}", "---:|".repeat(self.buckets.len()));
            for (name, points) in &collection.lines {
                let cells = points.iter().map(|point| match point {
                    Some(point) => {
                        let half = point.half_width.map(|half| format!(" ± {half:.4}"));
                        format!(
                            "{:.4}{} ({})",
                            point.mean,
                            half.unwrap_or_default(),
                            point.n
                        )
                    }
                    None => "–".to_owned(),
                });
                let _ = writeln!(
                    text,
                    "| {name} | {} |",
                    cells.collect::<Vec<_>>().join(" | ")
                );
            }
        }
        text
    }

    /// A line for each point.
    pub(super) fn csv(&self) -> String {
        let mut text = String::from("row,collection,measure,words,mean,half_width,queries\n");
        for collection in &self.collections {
            for (name, points) in &collection.lines {
                for (bucket, point) in self.buckets.iter().zip(points) {
                    let Some(point) = point else { continue };
                    let cells = [name, &collection.name, &self.measure, bucket].map(|c| quoted(c));
                    let half = point.half_width.map(|half| half.to_string());
                    let _ = writeln!(
                        text,
                        "{},{},{},{}",
                        cells.join(","),
                        point.mean,
                        half.unwrap_or_default(),
                        point.n
                    );
                }
            }
        }
        text
    }

    /// A panel for each collection.
    pub(super) fn svg(&self) -> String {
        let panels = self.collections.iter().map(|collection| Panel {
            y_label: format!("{}, {}", collection.name, self.measure),
            series: collection
                .lines
                .iter()
                .map(|(name, points)| Series {
                    name: name.clone(),
                    points: points.clone(),
                })
                .collect(),
        });
        let plot = Plot {
            x_label: "words in the query (bars: 95 % confidence)".into(),
            categories: self.buckets.clone(),
            panels: panels.collect(),
        };
        plot.to_string()
    }
}
