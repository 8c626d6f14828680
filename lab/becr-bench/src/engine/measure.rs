//! EngineTiming over fresh random picks: the lower quartile, which other work on the machine disturbs least. The floor is
//! measured by turns with an engine on one thread, so that both see the same machine; after one on several threads, which
//! would fall asleep meanwhile.

use super::work::{DOCUMENTS, Store, TOKENS, Work};
use super::{floor, scalar};
use crate::random::Random;
use crate::scoring::ScoringBuffers;
use becr_footprint::{DocumentLayout, DocumentTokens, Engine, TiledDocument};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Time spent on one figure, apart from the least number of repetitions.
const BUDGET: Duration = Duration::from_millis(120);
const REPETITIONS: std::ops::Range<usize> = 5..60;

/// Measures on a store cut into records of one shape.
pub(super) struct Meter<'a> {
    store: &'a Store,
    layout: DocumentLayout,
}

/// Milliseconds per query.
#[derive(Clone, Copy)]
pub(super) struct EngineTiming {
    pub(super) ms: f64,
    /// Of reading the same bytes.
    pub(super) floor_ms: f64,
}

impl<'a> Meter<'a> {
    pub(super) fn new(store: &'a Store, layers: usize, bits: usize) -> anyhow::Result<Self> {
        let layout = DocumentLayout::new(layers, TOKENS, bits)?;
        Ok(Self { store, layout })
    }

    pub(super) fn store_bytes(&self) -> usize {
        self.store.bytes().len()
    }

    /// The engine on one thread or several.
    pub(super) fn becr(
        &self,
        engine: &Engine,
        work: &Work,
        threads: usize,
    ) -> anyhow::Result<EngineTiming> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        let (mut buffers, mut scores) = (ScoringBuffers::default(), vec![0.0; DOCUMENTS]);
        pool.install(|| {
            self.measure(threads == 1, |documents| {
                let documents: Vec<DocumentTokens> = documents
                    .iter()
                    .copied()
                    .map(DocumentTokens::Footprints)
                    .collect();
                if threads == 1 {
                    work.scoring()
                        .score(engine, &documents, &mut buffers, &mut scores)?;
                } else {
                    work.scoring()
                        .score_parallel(engine, &documents, &mut scores)?;
                }
                black_box(&scores);
                Ok(())
            })
        })
    }

    /// The plain implementation, on footprints in rows: a tenth of the documents, scaled up.
    pub(super) fn scalar(&self, work: &Work) -> anyhow::Result<EngineTiming> {
        let rows = self.layout.row_words();
        let words: Vec<u32> = self.store.bytes()[..DOCUMENTS / 10 * rows * 4]
            .as_chunks::<4>()
            .0
            .iter()
            .map(|&b| u32::from_le_bytes(b))
            .collect();
        let start = Instant::now();
        for document in words.chunks_exact(rows) {
            black_box(scalar::score(work, document));
        }
        let ms = start.elapsed().as_secs_f64() * 1e3 * 10.0;
        let floor_ms = self.measure(true, |_| Ok(()))?.floor_ms;
        Ok(EngineTiming { ms, floor_ms })
    }

    /// Lower quartiles of the time of `work` and of the floor, by turns or one after the other.
    fn measure(
        &self,
        by_turns: bool,
        mut work: impl FnMut(&[TiledDocument]) -> anyhow::Result<()>,
    ) -> anyhow::Result<EngineTiming> {
        let mut random = Random::new(7);
        let (mut times, mut floors) = (Vec::new(), Vec::new());
        let mut read = |documents: &[TiledDocument]| {
            black_box(self.read(documents));
            Ok(())
        };
        Self::repeat(|| {
            times.push(self.time(&mut random, &mut work)?);
            if by_turns {
                floors.push(self.time(&mut random, &mut read)?);
            }
            Ok(())
        })?;
        if !by_turns {
            Self::repeat(|| {
                floors.push(self.time(&mut random, &mut read)?);
                Ok(())
            })?;
        }
        Ok(EngineTiming {
            ms: lower_quartile(times),
            floor_ms: lower_quartile(floors),
        })
    }

    /// Calls `once` a few times at least, and more often while there is time.
    fn repeat(mut once: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let begin = Instant::now();
        for done in 0..REPETITIONS.end {
            if done >= REPETITIONS.start && begin.elapsed() >= BUDGET {
                break;
            }
            once()?;
        }
        Ok(())
    }

    /// Milliseconds that `work` takes over a fresh pick of documents.
    fn time(
        &self,
        random: &mut Random,
        work: &mut impl FnMut(&[TiledDocument]) -> anyhow::Result<()>,
    ) -> anyhow::Result<f64> {
        let (records, size) = (self.store.bytes(), self.layout.bytes());
        let count = (records.len() / size) as u64;
        let documents = (0..DOCUMENTS)
            .map(|_| {
                let start = (random.next() % count) as usize * size;
                TiledDocument::new(self.layout, &records[start..start + size])
            })
            .collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now();
        work(&documents)?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    /// Reads what the footprints hold, without the padding of the tiles.
    fn read(&self, documents: &[TiledDocument]) -> u64 {
        let bytes = self.layout.row_words() * 4;
        let words = documents.iter().map(|d| floor::read(&d.bytes()[..bytes]));
        words.fold(0, |a, b| a ^ b)
    }
}

/// The lower quartile of all but the first, which warms up.
fn lower_quartile(mut times: Vec<f64>) -> f64 {
    times.remove(0);
    times.sort_by(f64::total_cmp);
    times[times.len() / 4]
}
