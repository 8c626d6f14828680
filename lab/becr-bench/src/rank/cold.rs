//! Look-up and fetch with the index not in memory.

use super::measure::{QUERIES, RankMeter};
use super::{Args, data};
use crate::Console;
use crate::random::Random;
use crate::store::{call_bench, drop_from_cache, file, median};
use becr_index::manifest::Manifest;
use becr_rank::{QueryMode, RankWorkspace};
use becr_store::Shape;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a process of its own measures.
#[derive(Serialize, Deserialize)]
struct ColdTask {
    dir: PathBuf,
    documents: u64,
    mode: QueryMode,
    layers: u16,
    query: String,
    ids: Vec<String>,
}

/// Milliseconds of the parts of re-ranking that read the index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ColdTimes {
    /// Ids, token groups and statistics.
    pub(super) lookup_ms: f64,
    /// Records.
    pub(super) fetch_ms: f64,
}

/// Medians over lists; `None` if none are asked for.
pub(super) fn measure(
    args: &Args,
    dir: &Path,
    shape: Shape,
    n: usize,
    candidates: usize,
) -> anyhow::Result<Option<ColdTimes>> {
    let queries = data::queries(n, QUERIES);
    let mut random = Random::new(11);
    let mut lists: Vec<ColdTimes> = Vec::new();
    for run in 0..args.cold {
        let numbers = random.list(candidates, args.documents);
        let task = ColdTask {
            dir: dir.to_owned(),
            documents: args.documents,
            mode: args.mode.into(),
            layers: shape.layers,
            query: queries[run % QUERIES].clone(),
            ids: numbers.into_iter().map(data::id).collect(),
        };
        drop_from_cache(&file(&Manifest::read(dir)?.store(dir)))?;
        lists.push(call_bench("rank", &task)?);
    }
    let median_of = |part: fn(&ColdTimes) -> f64| median(lists.iter().map(part).collect());
    Ok((!lists.is_empty()).then(|| ColdTimes {
        lookup_ms: median_of(|times| times.lookup_ms),
        fetch_ms: median_of(|times| times.fetch_ms),
    }))
}

/// Carries out the task in the file.
pub(super) fn run(file: &Path, console: &mut Console<'_>) -> anyhow::Result<()> {
    let task: ColdTask = serde_json::from_slice(&std::fs::read(file)?)?;
    let shape = data::shape(task.layers);
    let meter = RankMeter::open(&task.dir, task.documents, task.mode, shape)?;
    let (_, times) = meter.rank(&task.query, &task.ids, &mut RankWorkspace::new())?;
    console.json(&ColdTimes {
        lookup_ms: times.lookup.as_secs_f64() * 1e3,
        fetch_ms: times.fetch.as_secs_f64() * 1e3,
    })
}
