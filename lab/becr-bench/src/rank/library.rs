//! The same work as a program asks for it, through `becr::Index`, on one thread or several: what a caller in another
//! language is compared with.

use super::data;
use super::measure::{QUERIES, RankMeter, quartile};
use crate::random::Random;
use becr::{Candidate, QueryMode, RankOptions};
use serde::Serialize;
use std::time::{Duration, Instant};

/// How long the threads work.
const TIME: Duration = Duration::from_millis(1500);

#[derive(Serialize)]
pub(super) struct LibraryRow {
    n: usize,
    candidates: usize,
    threads: usize,
    /// A call, lower quartile.
    call_ms: f64,
    /// Of all threads together.
    queries_per_second: f64,
}

impl LibraryRow {
    pub(super) fn line(&self) -> String {
        format!(
            "{:>2} {:>10} {:>9.3} {:>8} {:>10.1}",
            self.n, self.candidates, self.call_ms, self.threads, self.queries_per_second
        )
    }
}

impl RankMeter {
    /// Composed queries through the library, on so many threads.
    pub(super) fn library(
        &self,
        n: usize,
        candidates: usize,
        threads: usize,
    ) -> anyhow::Result<LibraryRow> {
        let begun = Instant::now();
        let times: Vec<Vec<Duration>> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..threads)
                .map(|thread| scope.spawn(move || self.calls(n, candidates, thread as u64, begun)))
                .collect();
            let joined = started.into_iter().map(|thread| match thread.join() {
                Ok(times) => times,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<anyhow::Result<_>>()
        })?;
        let seconds = begun.elapsed().as_secs_f64();
        let times = times.concat();
        Ok(LibraryRow {
            n,
            candidates: candidates.min(self.documents as usize),
            threads,
            queries_per_second: times.len() as f64 / seconds,
            call_ms: quartile(times.into_iter()),
        })
    }

    fn calls(
        &self,
        n: usize,
        candidates: usize,
        seed: u64,
        begun: Instant,
    ) -> anyhow::Result<Vec<Duration>> {
        let queries = data::queries(n, QUERIES);
        let mut random = Random::new(100 + seed);
        let options = RankOptions {
            mode: Some(QueryMode::Composed),
            ..RankOptions::default()
        };
        let mut times = Vec::new();
        while times.is_empty() || begun.elapsed() < TIME {
            let numbers = random.list(candidates, self.documents);
            let ids: Vec<String> = numbers.into_iter().map(data::id).collect();
            let list: Vec<Candidate<'_>> = ids
                .iter()
                .enumerate()
                .map(|(place, id)| Candidate::new(id, -(place as f32)))
                .collect();
            let query = &queries[times.len() % QUERIES];
            let call = Instant::now();
            self.index.rerank(query, &list, &options)?;
            times.push(call.elapsed());
        }
        Ok(times)
    }
}
