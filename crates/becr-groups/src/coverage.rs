//! What share of some queries a list of token groups covers.

use crate::Error;
use crate::file::{CountFile, is_pair};
use crate::list::GroupList;
use crate::usefulness::useful_vectors;
use std::fmt;

/// How much of some queries a list has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Coverage {
    /// Queries that were asked.
    pub queries: u64,
    /// Their words. A word that is not found falls back to its WordPieces.
    pub words: Share,
    /// Their pairs. A pair that is not found is left out.
    pub pairs: Share,
    /// The vectors of these pairs that scoring uses, those of words that are no stop words: what a
    /// budget is spent on.
    pub pair_vectors: Share,
}

/// A part of a whole, counted in two ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Share {
    /// Distinct ones.
    pub distinct: u64,
    /// Those that were found.
    pub distinct_found: u64,
    /// Every time one is asked for.
    pub occurrences: u64,
    /// Those that were found.
    pub occurrences_found: u64,
}

impl GroupList {
    /// Looks up the groups of queries that a [`crate::Counter`] has counted, a query a document.
    pub fn coverage(&self, queries: &CountFile) -> Result<Coverage, Error> {
        if queries.window() != self.window() {
            return Err(Error::Window {
                path: queries.path().to_owned(),
                expected: self.window(),
                found: queries.window(),
            });
        }
        let mut coverage = Coverage {
            queries: queries.totals().documents,
            ..Coverage::default()
        };
        let mut groups = self.iter()?;
        let mut known = groups.read()?.map(|(key, _)| key.to_owned());
        for entry in queries.entries()? {
            let entry = entry?;
            while known.as_ref().is_some_and(|known| *known < entry.key) {
                known = groups.read()?.map(|(key, _)| key.to_owned());
            }
            let found = known.as_ref() == Some(&entry.key);
            match is_pair(&entry.key) {
                true => {
                    coverage.pairs.add(1, entry.occurrences, found);
                    let vectors = useful_vectors(&entry.key);
                    let pair_vectors = &mut coverage.pair_vectors;
                    pair_vectors.add(vectors, vectors * entry.occurrences, found);
                }
                false => coverage.words.add(1, entry.occurrences, found),
            }
        }
        // To its end, where a damaged list shows.
        while groups.read()?.is_some() {}
        Ok(coverage)
    }
}

impl Share {
    fn add(&mut self, distinct: u64, occurrences: u64, found: bool) {
        self.distinct += distinct;
        self.occurrences += occurrences;
        if found {
            self.distinct_found += distinct;
            self.occurrences_found += occurrences;
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, share) in [
            ("words", &self.words),
            ("pairs", &self.pairs),
            ("pair vectors of use", &self.pair_vectors),
        ] {
            writeln!(f, "{name} of {} queries: {share}", self.queries)?;
        }
        Ok(())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: u64, whole: u64| match whole {
            0 => 100.0,
            _ => 100.0 * part as f64 / whole as f64,
        };
        write!(
            f,
            "{} of {} found ({:.1} %), {} of {} occurrences ({:.1} %)",
            self.distinct_found,
            self.distinct,
            percent(self.distinct_found, self.distinct),
            self.occurrences_found,
            self.occurrences,
            percent(self.occurrences_found, self.occurrences),
        )
    }
}
