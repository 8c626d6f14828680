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
            write!(f, "{comma}{} {:+.3}", reason(row), row.contribution)?;
        }
        Ok(())
    }
}

/// What a row means, in plain words: for people who have not read the paper.
pub fn plain(row: &ContributionRow) -> String {
    match row.part {
        Part::Deep if is_term(row) => format!("words close to \"{}\"", row.name),
        Part::Deep if row.name == FEEDBACK => FEEDBACK.to_owned(),
        Part::Deep => "what the text as a whole is about".to_owned(),
        Part::Lexi => lexical(&row.name),
        Part::Others if row.name == "cls" => {
            "what the encoder makes of the document alone".to_owned()
        }
        Part::Others => format!("its {}", row.name),
    }
}

/// What a row of one document's explanation says, in plain words. Scores are relative to the list of candidates, so a word
/// counts against a document that has it, too, where others are closer to it.
pub fn reason(row: &ContributionRow) -> String {
    match row.part {
        Part::Deep if row.contribution < 0.0 && is_term(row) => {
            format!("less close to \"{}\" than other candidates", row.name)
        }
        _ => plain(row),
    }
}

/// The parts of a score in plain words: S_deep, S_lexi, S_others.
pub const PARTS: [&str; 3] = ["meaning", "words", "other signals"];

fn is_term(row: &ContributionRow) -> bool {
    row.part == Part::Deep && !row.name.contains(['_', ' '])
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
        Part::Deep if is_term(row) => format!("\"{}\"", row.name),
        _ => row.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_against_a_document_is_said_to_be_closer_to_others() {
        let row = |contribution| ContributionRow {
            part: Part::Deep,
            name: "dog".to_owned(),
            contribution,
        };
        assert_eq!(reason(&row(0.1)), "words close to \"dog\"");
        let against = Reasons(vec![row(-0.1)]).to_string();
        assert_eq!(
            against,
            "less close to \"dog\" than other candidates -0.100"
        );
    }
}
