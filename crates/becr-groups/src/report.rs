//! What a selection has kept and what it has cut.

use crate::coverage::Coverage;
use crate::file::{CountFile, Totals, is_pair};
use crate::selection::{Candidate, Rules, Verdict};
use crate::vocabulary::Vocabulary;
use serde::Serialize;
use std::fmt;

/// The outcome of a selection, for people ([`fmt::Display`]) and for programs ([`Serialize`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SelectionReport {
    /// The rules that were followed.
    pub rules: Rules,
    /// The largest distance between the words of a pair.
    pub window: u32,
    /// What the corpus has.
    pub corpus: Totals,
    /// Vocabulary entries left out because no text leads to them.
    pub special_pieces: u64,
    /// WordPieces kept: all of them. Words that are a single piece count here.
    pub pieces: Kept,
    /// Other words kept.
    pub words: Kept,
    /// Pairs kept.
    pub pairs: Kept,
    /// Groups among them that the corpus alone would not have brought in.
    pub from_log: u64,
    /// What was left out.
    pub cut: Cut,
    /// What share of some queries is covered; to be filled in from [`crate::GroupList::coverage`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
}

/// Groups of one kind that were kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// How many.
    pub groups: u64,
    /// What their records take.
    pub bytes: u64,
}

/// Groups that were left out, by the first rule that they failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// Words in too few documents.
    pub rare_words: u64,
    /// Pairs in too few documents.
    pub rare_pairs: u64,
    /// Words that are no single WordPiece.
    pub words_outside_vocabulary: u64,
    /// Pairs with such a word.
    pub pairs_outside_vocabulary: u64,
    /// Words for which the budget had no room.
    pub words_over_budget: u64,
    /// Pairs for which the budget had no room.
    pub pairs_over_budget: u64,
}

impl Cut {
    pub(crate) fn add(&mut self, verdict: Verdict, key: &str) {
        let (words, pairs) = match verdict {
            Verdict::Rare => (&mut self.rare_words, &mut self.rare_pairs),
            Verdict::OutsideVocabulary => (
                &mut self.words_outside_vocabulary,
                &mut self.pairs_outside_vocabulary,
            ),
            Verdict::OverBudget => (&mut self.words_over_budget, &mut self.pairs_over_budget),
            Verdict::Piece | Verdict::Good => return,
        };
        match is_pair(key) {
            true => *pairs += 1,
            false => *words += 1,
        }
    }
}

impl SelectionReport {
    pub(crate) fn new(counts: &CountFile, vocabulary: &Vocabulary, rules: &Rules) -> Self {
        Self {
            rules: *rules,
            window: counts.window(),
            corpus: *counts.totals(),
            special_pieces: vocabulary.left_out(),
            pieces: Kept::default(),
            words: Kept::default(),
            pairs: Kept::default(),
            from_log: 0,
            cut: Cut::default(),
            coverage: None,
        }
    }

    pub(crate) fn keep(&mut self, candidate: &Candidate, from_log: bool) {
        let bytes = self.rules.record_bytes.of(&candidate.key);
        let kept = match (candidate.piece, is_pair(&candidate.key)) {
            (true, _) => &mut self.pieces,
            (false, false) => &mut self.words,
            (false, true) => &mut self.pairs,
        };
        kept.groups += 1;
        kept.bytes += bytes;
        self.from_log += u64::from(from_log);
    }

    /// Groups kept.
    pub fn groups(&self) -> u64 {
        self.pieces.groups + self.words.groups + self.pairs.groups
    }

    /// What their records take, in bytes.
    pub fn bytes(&self) -> u64 {
        self.pieces.bytes + self.words.bytes + self.pairs.bytes
    }
}

impl fmt::Display for SelectionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let corpus = &self.corpus;
        writeln!(
            f,
            "corpus       {} documents, {} words; {} distinct words, {} distinct pairs within {} words",
            corpus.documents,
            corpus.words,
            corpus.distinct_words,
            corpus.distinct_pairs,
            self.window
        )?;
        let rows = [
            ("WordPieces", self.pieces),
            ("words", self.words),
            ("pairs", self.pairs),
            (
                "kept in all",
                Kept {
                    groups: self.groups(),
                    bytes: self.bytes(),
                },
            ),
        ];
        for (name, kept) in rows {
            writeln!(f, "{name:<12} {:>12}   {}", kept.groups, Bytes(kept.bytes))?;
        }
        if self.from_log > 0 {
            writeln!(
                f,
                "             {:>12}   of them only because of the query log",
                self.from_log
            )?;
        }
        let cut = &self.cut;
        let rules = &self.rules;
        let rows = [
            (
                cut.rare_words,
                format!("words in fewer than {} documents", rules.min_word_documents),
            ),
            (
                cut.rare_pairs,
                format!("pairs in fewer than {} documents", rules.min_pair_documents),
            ),
            (
                cut.words_outside_vocabulary,
                "words that are no single WordPiece".into(),
            ),
            (
                cut.pairs_outside_vocabulary,
                "pairs with such a word".into(),
            ),
            (
                cut.words_over_budget,
                format!(
                    "words over the budget of {}",
                    Bytes(rules.budget.unwrap_or(0))
                ),
            ),
            (
                cut.pairs_over_budget,
                format!(
                    "pairs over the budget of {}",
                    Bytes(rules.budget.unwrap_or(0))
                ),
            ),
        ];
        for (groups, what) in rows.into_iter().filter(|(groups, _)| *groups > 0) {
            writeln!(f, "left out     {groups:>12}   {what}")?;
        }
        match &self.coverage {
            Some(coverage) => coverage.fmt(f),
            None => Ok(()),
        }
    }
}

/// Bytes with a unit, in powers of 1024.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64;
        let mut unit = "bytes";
        for larger in UNITS {
            if value < 1024.0 {
                break;
            }
            value /= 1024.0;
            unit = larger;
        }
        match unit {
            "bytes" => write!(f, "{} bytes", self.0),
            _ => write!(f, "{value:.1} {unit}"),
        }
    }
}
