//! The largest contributions to a score, in a line.

use becr_rank::{ContributionRow, Explanation, Part};
use serde::Serialize;
use std::fmt;

/// How many are told.
const TOLD: usize = 6;
/// Smaller contributions are not worth telling.
const LEAST: f64 = 5e-4;

/// What speaks most for and against a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Reasons(pub Vec<ContributionRow>);

impl Reasons {
    /// The largest contributions of an explanation, whatever their sign.
    pub fn of(explanation: &Explanation) -> Self {
        Self::largest(explanation.rows())
    }

    /// The largest of some contributions.
    pub fn largest(mut rows: Vec<ContributionRow>) -> Self {
        rows.retain(|row| row.contribution.abs() >= LEAST);
        // The sort is stable: equal contributions stay in the order of the explanation.
        rows.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
        rows.truncate(TOLD);
        Self(rows)
    }
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing contributes");
        }
        for (place, row) in self.0.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{} {:+.3}", label(row), row.contribution)?;
        }
        Ok(())
    }
}

/// A row's name: query terms, which have neither underscores nor spaces, stand in quotes, features under their names.
pub fn label(row: &ContributionRow) -> String {
    match row.part {
        Part::Deep if !row.name.contains(['_', ' ']) => format!("\"{}\"", row.name),
        _ => row.name.clone(),
    }
}
