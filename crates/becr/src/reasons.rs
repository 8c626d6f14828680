//! The largest contributions to a score, in a line.

use becr_rank::{ContributionRow, Explanation, FEEDBACK, OWN_BM25, Part};
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

/// What a row means, in plain words: for people who have not read the paper.
pub fn plain(row: &ContributionRow) -> String {
    match row.part {
        Part::Deep if !row.name.contains(['_', ' ']) => format!("words close to \"{}\"", row.name),
        Part::Deep if row.name == FEEDBACK => FEEDBACK.to_owned(),
        Part::Deep => "what the text as a whole is about".to_owned(),
        Part::Lexi => lexical(&row.name),
        Part::Others if row.name == "cls" => {
            "what the encoder makes of the document alone".to_owned()
        }
        Part::Others => format!("its {}", row.name),
    }
}

fn lexical(name: &str) -> String {
    match becr_rank::lexical_feature(name) {
        Some(feature) => feature.plain.to_owned(),
        None if name == OWN_BM25 => "query words in title and text (our own BM25)".to_owned(),
        None => name.replace('_', " "),
    }
}

/// A row's name: query terms, which have neither underscores nor spaces, stand in quotes, features under their names.
pub fn label(row: &ContributionRow) -> String {
    match row.part {
        Part::Deep if !row.name.contains(['_', ' ']) => format!("\"{}\"", row.name),
        _ => row.name.clone(),
    }
}
