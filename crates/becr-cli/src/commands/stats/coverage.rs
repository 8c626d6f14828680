//! How much of a file of queries the token groups of an index cover.

use becr_corpus::{QueryOptions, read_queries};
use becr_lmdb::Store;
use becr_store::StoreError;
use becr_text::groups::{Decomposition, Query};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Words and pairs of queries, each query on its own, and how many of them are token groups.
#[derive(Default, Serialize)]
pub(super) struct Coverage {
    queries: usize,
    words: Share,
    pairs: Share,
}

#[derive(Default, Serialize)]
struct Share {
    asked: usize,
    found: usize,
    share: f64,
}

impl Share {
    fn add(&mut self, asked: usize, found: usize) {
        self.asked += asked;
        self.found += found;
        self.share = self.found as f64 / self.asked.max(1) as f64;
    }
}

impl Coverage {
    pub(super) fn of(queries: &Path, store: &Store) -> anyhow::Result<Self> {
        let queries = read_queries(queries, &QueryOptions::default())?;
        let snapshot = store.snapshot()?;
        let options = Decomposition {
            window: store.header().window,
            ..Decomposition::default()
        };
        let mut coverage = Self::default();
        for query in &queries.queries {
            let mut failure: Option<StoreError> = None;
            let found = |group: &_| match snapshot.group(group) {
                Ok(record) => record.is_some(),
                Err(e) => {
                    failure = Some(e);
                    false
                }
            };
            // What stands in for a missing word does not matter here.
            let composed = Query::new(&query.text, &options).compose(found, |_| Vec::new());
            if let Some(failure) = failure {
                return Err(failure.into());
            }
            let one = composed.coverage;
            coverage.queries += 1;
            coverage.words.add(one.unigrams, one.unigrams_found);
            coverage.pairs.add(one.pairs, one.pairs_found);
        }
        Ok(coverage)
    }

    pub(super) fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        writeln!(out, "  token groups cover, of {} queries:", self.queries)?;
        for (name, share) in [("words", &self.words), ("pairs", &self.pairs)] {
            writeln!(
                out,
                "    {name:<18} {:>9} of {} ({:.1} %)",
                share.found,
                share.asked,
                100.0 * share.share
            )?;
        }
        Ok(())
    }
}
