//! An explanation as one table, and two of them compared.

use super::{Explanation, FeaturePart, WordPart};
use crate::options::named;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

impl Explanation {
    /// The contributions as one flat table, which sums to the score: a row per query term, the document vector, the
    /// likeness to the best candidates, a row per feature, CLS.
    pub fn rows(&self) -> Vec<ContributionRow> {
        let row = |part: Part, name: &str, contribution: f64| ContributionRow {
            part,
            name: name.to_owned(),
            contribution,
        };
        let terms = self
            .terms
            .iter()
            .map(|term| row(Part::Deep, &term.term.word, term.contribution));
        let of = |part: Part| {
            move |feature: &FeaturePart| ContributionRow {
                part,
                name: feature.name.clone(),
                contribution: feature.contribution,
            }
        };
        terms
            .chain(self.document_vector.iter().map(of(Part::Deep)))
            .chain(self.feedback.iter().map(of(Part::Deep)))
            .chain(self.lexical.iter().map(of(Part::Lexi)))
            .chain(self.cls.map(|cls| row(Part::Others, "cls", cls)))
            .chain(self.features.iter().map(of(Part::Others)))
            .collect()
    }

    /// What makes this document's score differ from another's for the same query: their [`Explanation::rows`]
    /// subtracted. The differences sum to the difference of the scores.
    pub fn difference(&self, other: &Self) -> Vec<ContributionRow> {
        let rows = self.rows().into_iter().zip(other.rows());
        rows.map(|(ours, theirs)| ContributionRow {
            contribution: ours.contribution - theirs.contribution,
            ..ours
        })
        .collect()
    }

    /// The same by word of the query: their [`Explanation::words`] subtracted.
    pub fn word_difference(&self, other: &Self) -> Vec<WordPart> {
        let words = self.words.iter().zip(&other.words);
        words
            .map(|(ours, theirs)| WordPart {
                word: ours.word.clone(),
                deep: ours.deep - theirs.deep,
                lexi: ours.lexi - theirs.lexi,
            })
            .collect()
    }
}

/// A line of an explanation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContributionRow {
    /// The part it belongs to.
    pub part: Part,
    /// The query term or feature.
    pub name: String,
    /// What it adds to the score.
    pub contribution: f64,
}

/// A part of the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// S_deep.
    Deep,
    /// S_lexi.
    Lexi,
    /// S_others.
    Others,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Deep, Self::Lexi, Self::Others];

    /// `deep`, `lexi`, `others`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deep => "deep",
            Self::Lexi => "lexi",
            Self::Others => "others",
        }
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named("part", &Self::ALL, Self::name, name)
    }
}
