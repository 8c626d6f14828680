//! The largest contributions to a score, in a line.

use becr_rank::{Explanation, Row};
use serde::Serialize;
use std::fmt;

/// How many are told.
const TOLD: usize = 6;
/// Smaller contributions are not worth telling.
const LEAST: f64 = 5e-4;

/// What speaks most for and against a document.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Reasons(Vec<Row>);

impl Reasons {
    /// The largest contributions of an explanation, whatever their sign.
    pub(crate) fn of(explanation: &Explanation) -> Self {
        Self::largest(explanation.rows())
    }

    /// The largest of some contributions.
    pub(crate) fn largest(mut rows: Vec<Row>) -> Self {
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

/// A row's name: query terms, which have no underscore, stand in quotes, features under their names.
pub(crate) fn label(row: &Row) -> String {
    match row.part {
        becr_rank::Part::Deep if !row.name.contains('_') => format!("\"{}\"", row.name),
        _ => row.name.clone(),
    }
}
