//! What was re-ranked, and what was odd about the input.

use super::{Args, Task, Unknown};
use crate::output;
use becr::{GroupCoverage, RankTiming, RerankAnswer};
use becr_corpus::Query;
use becr_eval::{Candidates, Run};
use serde::Serialize;

/// How many odd ids are named; the others are counted.
const NAMED: usize = 5;

#[derive(Serialize)]
pub(super) struct RerankReport {
    /// Queries in the new run.
    queries: usize,
    /// Documents in the new run.
    documents: usize,
    /// Queries of the run that the queries file does not have.
    queries_without_text: Odd,
    /// Documents of the run that the index does not have.
    unknown_documents: Odd,
    /// Queries of the queries file that the run has no candidates for.
    queries_without_candidates: usize,
    /// What the token store has of all queries together.
    coverage: GroupCoverage,
    /// Lines of the run that name a document its query has already.
    repeated: u64,
    /// Lines of the run that cannot be used.
    skipped: u64,
    /// Mean time of a query, in milliseconds, each on one core.
    timing_ms: Times,
    #[serde(skip)]
    repeated_examples: Vec<String>,
}

/// Milliseconds by stage.
#[derive(Default, Serialize)]
struct Times {
    look_up: f64,
    fetch: f64,
    lexical: f64,
    deep: f64,
    total: f64,
}

impl Times {
    fn add(&mut self, timing: &RankTiming) {
        let parts = [timing.look_up, timing.fetch, timing.lexical, timing.deep];
        let sums = [
            &mut self.look_up,
            &mut self.fetch,
            &mut self.lexical,
            &mut self.deep,
        ];
        for (sum, part) in sums.into_iter().zip(parts) {
            let milliseconds = part.as_secs_f64() * 1e3;
            *sum += milliseconds;
            self.total += milliseconds;
        }
    }

    /// From sums to means.
    fn over(&self, queries: usize) -> Self {
        let mean = |sum: f64| sum / queries.max(1) as f64;
        Self {
            look_up: mean(self.look_up),
            fetch: mean(self.fetch),
            lexical: mean(self.lexical),
            deep: mean(self.deep),
            total: mean(self.total),
        }
    }
}

/// Ids that were counted, a few of them by name.
#[derive(Default, Serialize)]
struct Odd {
    count: usize,
    examples: Vec<String>,
}

impl Odd {
    fn add(&mut self, id: &str) {
        self.count += 1;
        if self.examples.len() < NAMED && !self.examples.iter().any(|known| known == id) {
            self.examples.push(id.to_owned());
        }
    }

    /// "3 documents …: a, b, c"; nothing if there are none.
    fn tell(&self, what: &str) {
        if self.count > 0 {
            let more = match self.count > self.examples.len() {
                true => ", …",
                false => "",
            };
            let examples = self.examples.join(", ");
            output::note(format_args!("{} {what}: {examples}{more}", self.count));
        }
    }
}

impl RerankReport {
    pub(super) fn new(candidates: &Candidates, queries: &[Query]) -> Self {
        let examples = candidates.repeated.examples.iter();
        Self {
            queries: 0,
            documents: 0,
            queries_without_text: Odd::default(),
            unknown_documents: Odd::default(),
            queries_without_candidates: queries
                .iter()
                .filter(|query| !candidates.run.queries.contains_key(&query.id))
                .count(),
            coverage: GroupCoverage::default(),
            repeated: candidates.repeated.count,
            skipped: candidates.skipped.count,
            timing_ms: Times::default(),
            repeated_examples: examples.map(ToString::to_string).collect(),
        }
    }

    /// Counts a query's answer.
    pub(super) fn add(&mut self, task: &Task<'_>, ranked: Option<&RerankAnswer>) {
        match ranked {
            Some(ranked) => {
                self.coverage.add(&ranked.coverage());
                self.timing_ms.add(&ranked.timing);
                let unknown = ranked.unknown.iter();
                unknown.for_each(|&place| self.unknown_documents.add(&task.candidates[place].0));
            }
            None => self.queries_without_text.add(task.query),
        }
    }

    /// Says what was done on standard output if it is JSON, otherwise on standard error: the result is a file.
    pub(super) fn tell(mut self, args: &Args, run: &Run) -> anyhow::Result<()> {
        self.queries = run.queries.len();
        self.documents = run.queries.values().map(Vec::len).sum();
        let ranked = self.queries.saturating_sub(self.queries_without_text.count);
        self.timing_ms = self.timing_ms.over(ranked);
        if args.json {
            return output::json(&self);
        }
        if self.repeated > 0 {
            let lines = self.repeated;
            output::note(format_args!(
                "{lines} repeated lines of the run were passed over, the first of each counts:"
            ));
            let examples = self.repeated_examples.iter();
            examples.for_each(|example| output::note(format_args!("  {example}")));
        }
        self.queries_without_text
            .tell("queries of the run are not in the queries file and stay as they were");
        if self.queries_without_candidates > 0 {
            let queries = self.queries_without_candidates;
            output::note(format_args!(
                "{queries} queries of the queries file have no candidates in the run"
            ));
        }
        self.unknown_documents.tell(match args.unknown {
            Unknown::KeepLast => "documents of the run are not in the index and were kept last",
            Unknown::Drop => "documents of the run are not in the index and were dropped",
        });
        let out = output::written(&args.out);
        let documents = output::several(self.documents as u64, "document");
        let queries = output::several(self.queries as u64, "query");
        // Encoded queries ask for no token groups.
        let coverage = match self.coverage.words + self.coverage.pairs {
            0 => String::new(),
            _ => format!("; {}", self.coverage),
        };
        output::note(format_args!("{out}: {documents} for {queries}{coverage}"));
        if args.timing {
            let Times {
                look_up,
                fetch,
                lexical,
                deep,
                total,
            } = self.timing_ms;
            output::note(format_args!(
                "ms per query: look-up {look_up:.2}, fetch {fetch:.2}, lexical {lexical:.2}, deep {deep:.2}, \
                 total {total:.2}"
            ));
        }
        Ok(())
    }
}
