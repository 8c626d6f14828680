//! A table of relevance: systems by collections and measures.

use super::config::{Collection, Config, TableConfig};
use super::lengths::Lengths;
use super::making::Making;
use super::quoted;
use super::steps::Steps;
use anyhow::ensure;
use becr_eval::{
    Estimate, Evaluation, OnError, Panel, Plot, Scope, Series, estimate, evaluate, paired_t_test,
    parse_measures, read_qrels, read_run,
};
use std::fmt::Write;
use std::path::PathBuf;

/// Differences with a smaller p are marked.
const SIGNIFICANT: f64 = 0.05;

/// Of the bars in figures.
pub(super) const CONFIDENCE: f64 = 0.95;

/// The paper's marks, one for each row that others are compared with.
const MARKS: [&str; 6] = ["‡", "*", "§", "¶", "†", "‖"];

/// A finished table.
pub(super) struct Relevance {
    title: String,
    measures: Vec<String>,
    collections: Vec<String>,
    rows: Vec<RelevanceRow>,
    against: Vec<String>,
    bytes: bool,
    /// By query length, if that is asked for.
    lengths: Option<Lengths>,
    commands: Vec<String>,
}

pub(super) struct RelevanceRow {
    pub(super) name: String,
    /// By collection; none where a run that was made elsewhere was not made.
    pub(super) cells: Vec<Option<Cell>>,
}

pub(super) struct Cell {
    pub(super) evaluation: Evaluation,
    /// The run that was measured.
    run: PathBuf,
    /// Bytes of records and of token groups.
    bytes: Option<(u64, u64)>,
}

impl Relevance {
    pub(super) fn make(
        config: &Config,
        table: &TableConfig,
        steps: &mut Steps,
    ) -> anyhow::Result<Self> {
        let measures = parse_measures(&config.measures)?;
        let chosen: Vec<&Collection> = config
            .collections
            .iter()
            .filter(|c| table.collections.is_empty() || table.collections.contains(&c.name))
            .collect();
        let mut making = Making {
            config,
            steps,
            commands: Vec::new(),
        };
        let mut rows = Vec::new();
        for row in &table.rows {
            let mut cells = Vec::new();
            for collection in &chosen {
                let (run, bytes) = making.run(collection, row, table.bytes)?;
                if row.run.is_some() && !run.is_file() {
                    cells.push(None);
                    continue;
                }
                let (qrels, _) = read_qrels(&collection.qrels, OnError::Stop)?;
                let (read, _) = read_run(&run, OnError::Stop)?;
                cells.push(Some(Cell {
                    evaluation: evaluate(&qrels, &read, &measures, Scope::Complete),
                    run,
                    bytes,
                }));
            }
            if let Some(run) = &row.run {
                ensure!(
                    cells.iter().any(Option::is_some),
                    "table {}, row {:?}: {run} is there for none of its collections",
                    table.name,
                    row.name
                );
            }
            rows.push(RelevanceRow {
                name: row.name.clone(),
                cells,
            });
        }
        let measures: Vec<String> = measures.iter().map(ToString::to_string).collect();
        Ok(Self {
            title: table.title.clone(),
            lengths: Lengths::make(table, &chosen, &measures, &rows)?,
            measures,
            collections: chosen.iter().map(|c| c.name.clone()).collect(),
            rows,
            against: table.against.clone(),
            bytes: table.bytes,
            commands: making.commands,
        })
    }

    pub(super) fn markdown(&self) -> String {
        let mut text = format!("# {}\n", self.title);
        for (at, collection) in self.collections.iter().enumerate() {
            let mut header = format!("| {collection} |");
            let mut line = String::from("|---|");
            let bytes = match self.bytes {
                true => vec!["documents, bytes", "token groups, bytes"],
                false => Vec::new(),
            };
            for name in self.measures.iter().map(String::as_str).chain(bytes) {
                header += &format!(" {name} |");
                line += "---:|";
            }
            let _ = writeln!(text, "\n{header}\n{line}");
            for row in &self.rows {
                let mut cells = format!("| {} |", row.name);
                let cell = row.cells[at].as_ref();
                for measure in 0..self.measures.len() {
                    cells += &match cell.map(|cell| cell.evaluation.mean(measure).unwrap_or(0.0)) {
                        Some(mean) => format!(" {mean:.4}{} |", self.marks(row, at, measure)),
                        None => " – |".to_owned(),
                    };
                }
                if self.bytes {
                    cells += &match cell.and_then(|cell| cell.bytes) {
                        Some((documents, groups)) => format!(" {documents} | {groups} |"),
                        None => " – | – |".to_owned(),
                    };
                }
                let _ = writeln!(text, "{cells}");
            }
        }
        if !self.against.is_empty() {
            let marked = self
                .against
                .iter()
                .zip(MARKS)
                .map(|(name, mark)| format!("{mark} {name}"));
            let marked: Vec<String> = marked.collect();
            let _ = writeln!(
                text,
                "\nMarked: significantly better than {} (paired t-test, p < {SIGNIFICANT}).",
                marked.join(", ")
            );
        }
        if let Some(lengths) = &self.lengths {
            text += &lengths.markdown();
        }
        text += "\nMade by:\n\n```\n";
        self.commands.iter().for_each(|command| {
            let _ = writeln!(text, "{command}");
        });
        text += "```\n";
        text
    }

    /// The marks of the rows that a figure is significantly above of.
    fn marks(&self, row: &RelevanceRow, collection: usize, measure: usize) -> String {
        let better = |name: &&String| {
            let Some(other) = self.rows.iter().find(|row| row.name == **name) else {
                return false;
            };
            let values = |row: &RelevanceRow| {
                let cell = row.cells[collection].as_ref();
                cell.map(|cell| cell.evaluation.values(measure))
            };
            let (Some(own), Some(other)) = (values(row), values(other)) else {
                return false;
            };
            let test = paired_t_test(own.into_iter().zip(other));
            test.difference > 0.0 && test.p.is_some_and(|p| p < SIGNIFICANT)
        };
        let marks = self.against.iter().zip(MARKS);
        marks
            .filter(|(name, _)| better(name))
            .map(|(_, mark)| mark)
            .collect()
    }

    /// Every measure as a panel: rows side by side for each collection, with the confidence of their means.
    pub(super) fn svg(&self) -> String {
        let point = |row: &RelevanceRow, collection: usize, measure: usize| -> Option<Estimate> {
            let cell = row.cells[collection].as_ref()?;
            estimate(&cell.evaluation.values(measure), CONFIDENCE)
        };
        let panels = self.measures.iter().enumerate().map(|(measure, name)| {
            let series = self.rows.iter().map(|row| Series {
                name: row.name.clone(),
                points: (0..self.collections.len())
                    .map(|collection| point(row, collection, measure))
                    .collect(),
            });
            Panel {
                y_label: name.clone(),
                series: series.collect(),
            }
        });
        let plot = Plot {
            x_label: format!("{} (bars: 95 % confidence)", self.title),
            categories: self.collections.clone(),
            panels: panels.collect(),
        };
        plot.to_string()
    }

    /// The figure by query length.
    pub(super) fn lengths(&self) -> Option<&Lengths> {
        self.lengths.as_ref()
    }

    /// A line for each figure, with the run that `becr eval` computes it from again.
    pub(super) fn csv(&self) -> String {
        let mut text = String::from("row,collection,measure,value,run\n");
        for row in &self.rows {
            for (collection, cell) in self.collections.iter().zip(&row.cells) {
                let Some(cell) = cell else { continue };
                let run = cell.run.file_name().unwrap_or_default().to_string_lossy();
                let mut line = |measure: &str, value: String| {
                    let cells = [&row.name, collection, measure].map(quoted);
                    let _ = writeln!(text, "{},{value},{}", cells.join(","), quoted(&run));
                };
                for (at, measure) in self.measures.iter().enumerate() {
                    line(measure, cell.evaluation.mean(at).unwrap_or(0.0).to_string());
                }
                if let Some((documents, groups)) = cell.bytes {
                    line("bytes of documents", documents.to_string());
                    line("bytes of token groups", groups.to_string());
                }
            }
        }
        text
    }
}
