//! What the commands that rank have in common: their flags, an index opened for ranking, and the way from a
//! query and its candidates to a ranked list. The scores themselves are the ranker's.

use crate::bundled;
use anyhow::{Context, bail};
use becr_encoder::Encoder;
use becr_index::first_stage::Hit;
use becr_index::manifest::Manifest;
use becr_lmdb::{Snapshot, Store};
use becr_model::{HEAD_FILE, Head};
use becr_rank::{
    Candidate, Explanation, Options, Parts, RankQuery, RankWorkspace, Ranker, Scored, Variant,
};
use becr_store::{DocumentStore, Documents};
use becr_text::pieces::WordPieces;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How to rank.
#[derive(Default, clap::Args)]
pub(crate) struct RankArgs {
    /// A trained head to rank with, instead of the one in the index; it must be of the same encoder.
    #[arg(long, value_name = "FILE", env = "BECR_HEAD")]
    head: Option<PathBuf>,
    /// How query terms are composed, the paper's ablation: becr, becr-minus (the whole query goes through the
    /// encoder), no-pairs, no-unigrams, window-1. The paper's "tokens for Q&D" is a property of an index:
    /// build one with `becr index --compose-documents`.
    #[arg(long, default_value = "becr", value_parser = clap::value_parser!(Variant))]
    variant: Variant,
    /// Leave a part out of the score: deep, lexi or others; may be given more than once.
    #[arg(long, value_enum, value_name = "PART")]
    without: Vec<Part>,
    /// Directory of the index's model or its hf:owner/name, which only --variant becr-minus needs, if it is no longer where
    /// it was.
    #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
    model: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Part {
    Deep,
    Lexi,
    Others,
}

impl RankArgs {
    fn options(&self) -> Options {
        let without = |part| self.without.contains(&part);
        Options {
            variant: self.variant,
            without: Parts {
                deep: without(Part::Deep),
                lexi: without(Part::Lexi),
                others: without(Part::Others),
            },
        }
    }
}

/// Why an index cannot be ranked with, and what to do about it; `None` if it can.
pub(crate) fn obstacle(index: &Path, args: &RankArgs) -> anyhow::Result<Option<&'static str>> {
    if Manifest::read(index)?.model.is_none() {
        return Ok(Some(
            "this is a lexical index, without footprints to re-rank with; build a full one with \
             `becr index CORPUS --out DIR`, without --lexical-only",
        ));
    }
    if args.head.is_none() && !head_of(index).is_file() {
        return Ok(Some(
            "the model of this index has no trained head; name one of the same encoder with --head FILE, or \
             train one",
        ));
    }
    Ok(None)
}

fn head_of(index: &Path) -> PathBuf {
    index.join("model").join(HEAD_FILE)
}

/// An index opened for ranking.
pub(crate) struct Ranking {
    store: Store,
    ranker: Ranker,
    options: Options,
    /// Reads whole queries, for BECR⁻ alone.
    encoder: Option<Encoder>,
}

/// A document to rank.
pub(crate) struct Entry<'a> {
    pub(crate) id: &'a str,
    /// The score of the first stage; `None` if it did not find the document.
    pub(crate) first_stage: Option<f32>,
    /// What the caller knows of this query and document.
    pub(crate) features: &'a [(String, f32)],
}

impl<'a> Entry<'a> {
    /// A document that the first stage found.
    pub(crate) fn of_hit(hit: &'a Hit) -> Self {
        Self {
            id: &hit.id,
            first_stage: Some(hit.score),
            features: &[],
        }
    }

    /// A document that it did not find.
    pub(crate) fn without_score(id: &'a str) -> Self {
        Self {
            id,
            first_stage: None,
            features: &[],
        }
    }
}

/// A ranked list.
pub(crate) struct Ranked {
    /// The query as the ranker read it.
    pub(crate) query: RankQuery,
    /// Best first, ties by document id: places in the list of candidates, with their scores.
    pub(crate) order: Vec<(usize, Scored)>,
    /// Candidates that the index does not have: their places.
    pub(crate) unknown: Vec<usize>,
    pub(crate) timing: Timing,
}

/// How many of the words and pairs of queries the token store has. A word that it lacks is composed of its
/// WordPieces, a pair that it lacks is left out.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Covered {
    words: usize,
    words_found: usize,
    pairs: usize,
    pairs_found: usize,
}

impl Covered {
    /// Adds what was asked for a query.
    pub(crate) fn add(&mut self, query: &RankQuery) {
        let coverage = query.coverage();
        self.words += coverage.unigrams;
        self.words_found += coverage.unigrams_found;
        self.pairs += coverage.pairs;
        self.pairs_found += coverage.pairs_found;
    }

    pub(crate) fn of(query: &RankQuery) -> Self {
        let mut covered = Self::default();
        covered.add(query);
        covered
    }
}

impl fmt::Display for Covered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "token groups found: {} of {} words, {} of {} pairs",
            self.words_found, self.words, self.pairs_found, self.pairs
        )
    }
}

/// Where the time went.
#[derive(Clone, Copy, Default)]
pub(crate) struct Timing {
    /// The query's words and token groups.
    pub(crate) look_up: Duration,
    /// The documents' records.
    pub(crate) fetch: Duration,
    pub(crate) lexical: Duration,
    pub(crate) deep: Duration,
}

impl Ranking {
    pub(crate) fn open(index: &Path, args: &RankArgs) -> anyhow::Result<Self> {
        if let Some(obstacle) = obstacle(index, args)? {
            bail!("{}: {obstacle}", index.display());
        }
        let store = Store::open(&becr_index::live::store_folder(index))?;
        let head = args.head.clone().unwrap_or_else(|| head_of(index));
        let pieces = WordPieces::from_dir(&index.join("model"))?;
        let ranker = Ranker::for_store(store.header(), Head::read(&head)?, pieces)
            .with_context(|| head.display().to_string())?;
        let encoder = match args.variant {
            Variant::WholeQuery => {
                let model = bundled::model_of_index(index, args.model.as_deref())?;
                store.check_encoder(&model.encoder_id())?;
                Some(Encoder::of_model(model)?)
            }
            _ => None,
        };
        Ok(Self {
            store,
            ranker,
            options: args.options(),
            encoder,
        })
    }

    /// The encoder of the index, for comparing vectors. Whole queries and composed documents have none to compare.
    pub(crate) fn raw_encoder(&self, index: &Path, args: &RankArgs) -> anyhow::Result<Encoder> {
        if args.variant == Variant::WholeQuery || !args.without.is_empty() {
            bail!(
                "--raw goes with the score of token groups as a whole, without becr-minus and --without"
            );
        }
        if self.store.header().documents == Documents::Composed {
            bail!("the documents of this index are composed: there are no vectors to compare");
        }
        let model = bundled::model_of_index(index, args.model.as_deref())?;
        self.store.check_encoder(&model.encoder_id())?;
        Ok(Encoder::of_model(model)?)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn ranker(&self) -> &Ranker {
        &self.ranker
    }

    /// Reads a query.
    pub(crate) fn query(&self, snapshot: &Snapshot, text: &str) -> anyhow::Result<RankQuery> {
        let whole = |text: &str| match &self.encoder {
            Some(encoder) => Ok(encoder.query(text)?),
            None => Err("no encoder".into()),
        };
        let encoder = self.encoder.is_some().then_some(&whole as _);
        Ok(self.ranker.query(snapshot, text, &self.options, encoder)?)
    }

    /// Ranks candidates. Each id may stand in the list once.
    pub(crate) fn rank(
        &self,
        text: &str,
        entries: &[Entry<'_>],
        work: &mut RankWorkspace,
    ) -> anyhow::Result<Ranked> {
        let begun = Instant::now();
        let snapshot = self.store.snapshot()?;
        let query = self.query(&snapshot, text)?;
        let look_up = begun.elapsed();
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id).collect();
        let numbers = snapshot.numbers(&ids)?;
        let finding = begun.elapsed() - look_up;
        let (places, candidates) = candidates(entries, &numbers);
        let scored = self.ranker.score(&query, &snapshot, &candidates, work)?;
        let found = places.into_iter().zip(scored);
        let (places, scored): (Vec<usize>, Vec<Scored>) = found
            .filter_map(|(place, scored)| Some((place, scored?)))
            .unzip();
        let ids: Vec<&str> = places.iter().map(|&place| ids[place]).collect();
        let order = becr_rank::ranking(&scored, &ids);
        let order = order.into_iter().map(|at| (places[at], scored[at]));
        let scoring = work.timing();
        Ok(Ranked {
            query,
            order: order.collect(),
            unknown: (0..entries.len())
                .filter(|&place| numbers[place].is_none())
                .collect(),
            timing: Timing {
                look_up,
                fetch: finding + scoring.fetch,
                lexical: scoring.lexical,
                deep: scoring.deep,
            },
        })
    }

    /// Takes the score of the entry at `place` apart, which must be one of those that were ranked.
    pub(crate) fn explain(
        &self,
        ranked: &Ranked,
        entries: &[Entry<'_>],
        place: usize,
    ) -> anyhow::Result<Explanation> {
        let snapshot = self.store.snapshot()?;
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id).collect();
        let numbers = snapshot.numbers(&ids)?;
        let (places, candidates) = candidates(entries, &numbers);
        let which = places.iter().position(|&at| at == place);
        let which = which.with_context(|| format!("no document \"{}\"", ids[place]))?;
        let work = &mut RankWorkspace::new();
        let (ranker, query) = (&self.ranker, &ranked.query);
        Ok(ranker.explain(query, &snapshot, &candidates, which, work)?)
    }
}

/// The entries that the index has: their places, and what the ranker is given.
fn candidates<'a>(
    entries: &[Entry<'a>],
    numbers: &[Option<u64>],
) -> (Vec<usize>, Vec<Candidate<'a>>) {
    let known = entries.iter().zip(numbers).enumerate();
    known
        .filter_map(|(place, (entry, number))| {
            let candidate = Candidate {
                number: (*number)?,
                first_stage: entry.first_stage,
                features: entry.features,
            };
            Some((place, candidate))
        })
        .unzip()
}

/// Scores for documents that come behind those which were ranked, in the given order: below the lowest score,
/// and apart from each other in single precision, which is how runs are read.
pub(crate) fn behind(lowest: Option<f32>) -> impl Iterator<Item = f32> {
    let lowest = lowest.unwrap_or(0.0);
    let step = (lowest.abs() * 1e-5).max(1.0);
    (1..).map(move |n| lowest - step * n as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_behind_stays_in_order() {
        for lowest in [None, Some(0.0), Some(-3.5), Some(1e9), Some(-4e7)] {
            let scores: Vec<f32> = behind(lowest).take(2000).collect();
            assert!(scores[0] < lowest.unwrap_or(0.0), "{lowest:?}");
            assert!(scores.is_sorted_by(|a, b| a > b), "{lowest:?}");
        }
    }
}
