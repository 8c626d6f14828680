//! The measurement of one row.

use super::cold::ColdTimes;
use super::data::{self, TOKENS};
use crate::Console;
use crate::random::Random;
use crate::scoring::{Scoring, ScoringBuffers};
use anyhow::Context;
use becr::Index;
use becr_footprint::{DocumentLayout, DocumentTokens, TiledDocument};
use becr_index::manifest::Manifest;
use becr_lmdb::Store;
use becr_model::{Feature, Head};
use becr_rank::{
    Candidate, LEXICAL_FEATURES, QueryMode, RankOptions, RankQuery, RankWorkspace, Ranker,
};
use becr_store::{DocumentStore, FetchBuffer, FoundRecord, Shape};
use becr_text::pieces::WordPieces;
use serde::Serialize;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// Queries of each length, used in turn.
pub(super) const QUERIES: usize = 16;
/// Time spent on one row, apart from the least number of repetitions.
const BUDGET: Duration = Duration::from_millis(1500);
const REPETITIONS: std::ops::Range<usize> = 9..200;

#[derive(Serialize)]
pub(super) struct RankRow {
    pub(super) layers: u16,
    pub(super) n: usize,
    pub(super) candidates: usize,
    pub(super) tokens: usize,
    pub(super) threads: usize,
    /// From ids and a query text to scores.
    pub(super) total_ms: f64,
    /// Of which: ids, token groups and statistics.
    pub(super) lookup_ms: f64,
    /// Records found, read and checked.
    pub(super) fetch_ms: f64,
    pub(super) lexical_ms: f64,
    pub(super) deep_ms: f64,
    /// The engine alone.
    pub(super) engine_ms: f64,
    /// Total over engine.
    pub(super) ratio: f64,
    /// With the index not in memory, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cold: Option<ColdTimes>,
}

pub(super) struct RankMeter {
    pub(super) index: Index,
    store: Store,
    pub(super) documents: u64,
    ranker: Ranker,
    mode: QueryMode,
    shape: Shape,
}

/// Every weight a head may have.
fn head(shape: Shape) -> Head {
    let mut head = Head::blank("synthetic", usize::from(shape.layers));
    head.deep.alpha.iter_mut().for_each(|row| row.fill(0.1));
    head.deep.document_vector = Some(Feature::plain("document_vector", 1.0));
    let feature = |name: &&str| Feature::plain(*name, 0.1);
    head.lexical = LEXICAL_FEATURES.iter().map(feature).collect();
    head
}

/// Writes the index to measure on, unless it is there.
pub(super) fn write(
    dir: &Path,
    documents: u64,
    lengths: &[usize],
    shape: Shape,
    console: &Console<'_>,
) -> anyhow::Result<()> {
    if data::is_there(dir, documents, shape)? {
        return Ok(());
    }
    let queries = lengths.iter().flat_map(|&n| data::queries(n, QUERIES));
    let queries: Vec<String> = queries.collect();
    data::write(dir, documents, &queries, &head(shape), shape, console)
}

impl RankMeter {
    pub(super) fn open(
        dir: &Path,
        documents: u64,
        mode: QueryMode,
        shape: Shape,
    ) -> anyhow::Result<Self> {
        let store = Store::open(&Manifest::read(dir)?.store(dir))?;
        let pieces = WordPieces::from_dir(&dir.join("model"))?;
        let ranker = Ranker::for_store(store.header(), head(shape), pieces)?;
        Ok(Self {
            index: Index::open(dir)?,
            store,
            documents,
            ranker,
            mode,
            shape,
        })
    }

    pub(super) fn store_bytes(&self) -> anyhow::Result<u64> {
        Ok(self.store.bytes()?)
    }

    pub(super) fn measure(&self, n: usize, candidates: usize) -> anyhow::Result<RankRow> {
        let queries = data::queries(n, QUERIES);
        let mut random = Random::new(7);
        let (mut work, mut engine) = (RankWorkspace::new(), ScoringBuffers::default());
        let (mut ours, mut engines) = (Vec::new(), Vec::new());
        let begun = Instant::now();
        while ours.len() < REPETITIONS.start
            || ours.len() < REPETITIONS.end && begun.elapsed() < BUDGET
        {
            let text = &queries[ours.len() % QUERIES];
            let ids: Vec<String> = self.pick(&mut random, candidates).map(data::id).collect();
            let (query, times) = self.rank(text, &ids, &mut work)?;
            ours.push(times);
            let numbers: Vec<u64> = self.pick(&mut random, candidates).collect();
            engines.push(self.engine(&query, &numbers, &mut engine)?);
        }
        // The first of each warmed up.
        let middle = |part: fn(&RankTimes) -> Duration| quartile(ours[1..].iter().map(part));
        let (total_ms, engine_ms) = (
            middle(|times| times.total),
            quartile(engines[1..].iter().copied()),
        );
        Ok(RankRow {
            layers: self.shape.layers,
            n,
            candidates: candidates.min(self.documents as usize),
            tokens: TOKENS,
            threads: 1,
            total_ms,
            lookup_ms: middle(|times| times.lookup),
            fetch_ms: middle(|times| times.fetch),
            lexical_ms: middle(|times| times.lexical),
            deep_ms: middle(|times| times.deep),
            engine_ms,
            ratio: total_ms / engine_ms,
            cold: None,
        })
    }

    fn pick(&self, random: &mut Random, candidates: usize) -> impl Iterator<Item = u64> {
        random.list(candidates, self.documents).into_iter()
    }

    /// Re-ranks documents by their ids, all that it takes.
    pub(super) fn rank(
        &self,
        text: &str,
        ids: &[String],
        work: &mut RankWorkspace,
    ) -> anyhow::Result<(RankQuery, RankTimes)> {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let encoded = data::encoded(text, self.shape);
        let encoder = |_: &str| Ok(encoded.clone());
        let options = RankOptions {
            mode: Some(self.mode),
            ..RankOptions::default()
        };
        let begun = Instant::now();
        let snapshot = self.store.snapshot()?;
        let plan = self.ranker.plan(&options)?;
        let (query, numbers) =
            self.ranker
                .query_for(&snapshot, text, &ids, &plan, Some(&encoder))?;
        let candidate = |number: &Option<u64>| {
            number.map(|number| Candidate {
                number,
                first_stage: Some(number as f32),
                features: &[],
            })
        };
        let candidates: Option<Vec<Candidate<'_>>> = numbers.iter().map(candidate).collect();
        let candidates = candidates.context("a document is missing")?;
        let lookup = begun.elapsed();
        black_box(self.ranker.score(&query, &snapshot, &candidates, work)?);
        let (total, timing) = (begun.elapsed(), work.timing());
        let times = RankTimes {
            total,
            lookup,
            fetch: timing.fetch,
            lexical: timing.lexical,
            deep: timing.deep,
        };
        Ok((query, times))
    }

    /// The engine alone, on records that were found and laid out before.
    fn engine(
        &self,
        query: &RankQuery,
        numbers: &[u64],
        work: &mut ScoringBuffers,
    ) -> anyhow::Result<Duration> {
        let snapshot = self.store.snapshot()?;
        let mut time = Ok(Duration::ZERO);
        snapshot.fetch(numbers, &mut FetchBuffer::default(), &mut |_, found| {
            time = self.engine_on(query, found, work);
            ControlFlow::Continue(())
        })?;
        time
    }

    fn engine_on(
        &self,
        query: &RankQuery,
        found: &[Option<FoundRecord<'_>>],
        work: &mut ScoringBuffers,
    ) -> anyhow::Result<Duration> {
        let Shape { layers, bits, .. } = self.shape;
        let layout = DocumentLayout::new(usize::from(layers), TOKENS, usize::from(bits))?;
        let documents = found
            .iter()
            .map(|found| {
                let bytes = found.context("a record is missing")?.footprints();
                Ok(DocumentTokens::Footprints(TiledDocument::new(
                    layout, bytes,
                )?))
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let kernels = self.ranker.kernels();
        let alpha = self.ranker.head().deep.alpha.concat();
        let term_weights: Vec<f32> = query.terms().iter().map(|term| term.weight).collect();
        let ask = Scoring {
            query: query.composite().context("a query without terms")?,
            kernels,
            alpha: &alpha,
            term_weights: &term_weights,
        };
        let mut scores = vec![0.0; documents.len()];
        let begun = Instant::now();
        ask.score(self.ranker.engine(), &documents, work, &mut scores)?;
        black_box(&scores);
        Ok(begun.elapsed())
    }
}

pub(super) struct RankTimes {
    total: Duration,
    pub(super) lookup: Duration,
    pub(super) fetch: Duration,
    lexical: Duration,
    deep: Duration,
}

/// Lower quartile, in milliseconds.
pub(super) fn quartile(times: impl Iterator<Item = Duration>) -> f64 {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times[times.len() / 4].as_secs_f64() * 1e3
}
