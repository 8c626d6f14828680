//! All queries, ranked every way and measured against the judgements.

use super::sample::{Kind, Sample};
use becr::{
    ANCHOR_WEIGHT, Details, Index, QueryMode, RankOptions, Scorer, SearchOptions, SearchTiming,
};
use becr_eval::{Measure, Run, Scope, Table, evaluate, paired_t_test, parse_measures};
use serde::Serialize;
use std::fmt;

const DEPTH: usize = 150;

/// What was measured.
#[derive(Serialize)]
pub(super) struct Measurement {
    queries: usize,
    measures: Vec<MeasureRow>,
    /// The first measure by kind of query.
    by_kind: Vec<KindRow>,
    /// How the queries of `becr` are read, …
    mode: QueryMode,
    /// … and those of `other_mode`, where the index has token groups.
    other_mode: Option<QueryMode>,
    /// What the cosine weighs in the score to compare with.
    one_vector_weight: f32,
    /// Candidates of a query, on average.
    candidates: usize,
    /// Milliseconds of a query on one core, on average.
    timing_ms: SearchTiming,
}

/// A measure of the rankings.
#[derive(Serialize)]
struct MeasureRow {
    measure: String,
    bm25: f64,
    one_vector: f64,
    becr: f64,
    /// BECR with queries read the other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    other_mode: Option<f64>,
    /// BECR less BM25.
    difference: f64,
    p: Option<f64>,
}

/// The first measure, nDCG@10, on the queries of one kind.
#[derive(Serialize)]
struct KindRow {
    kind: Kind,
    queries: usize,
    bm25: f64,
    one_vector: f64,
    becr: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_mode: Option<f64>,
}

pub(super) fn measure(
    index: &Index,
    sample: &Sample,
    rank: RankOptions,
    composable: bool,
) -> anyhow::Result<Measurement> {
    let (mut bm25, mut becr) = (Run::new("BM25"), Run::new("BECR"));
    let (mut anchor, mut other) = (Run::new("one vector"), Run::new("the other mode"));
    let mut timings = Vec::new();
    let mut candidates = 0;
    let options = |rank| SearchOptions {
        k: DEPTH,
        depth: DEPTH,
        rank: Some(rank),
        details: Details::default(),
        ..SearchOptions::default()
    };
    let one_vector = RankOptions {
        scorer: Scorer::OneVector,
        ..rank
    };
    let mode = index.query_mode(&rank)?;
    let other_mode = match mode {
        QueryMode::Composed => Some(QueryMode::Encoded),
        // Not every index has what composed queries need.
        _ => composable.then_some(QueryMode::Composed),
    };
    let read_otherwise = other_mode.map(|mode| RankOptions {
        mode: Some(mode),
        ..rank
    });
    for query in &sample.queries {
        let found = index.search(&query.text, &options(rank))?;
        candidates += found.results.len();
        let first_stage = SearchOptions::first_stage(DEPTH);
        for result in index.search(&query.text, &first_stage)?.results {
            bm25.push(&query.id, &result.id, f64::from(result.score));
        }
        for result in found.results {
            becr.push(&query.id, &result.id, f64::from(result.score));
        }
        timings.push(found.timing);
        for (rank, run) in [
            (Some(one_vector), &mut anchor),
            (read_otherwise, &mut other),
        ] {
            let Some(rank) = rank else { continue };
            for result in index.search(&query.text, &options(rank))?.results {
                run.push(&query.id, &result.id, f64::from(result.score));
            }
        }
    }
    let queries = sample.queries.len();
    let weight = index.ranker()?.head().anchor_weight;
    let runs = [&bm25, &anchor, &becr, &other];
    let (measures, by_kind) = rows(sample, runs, other_mode.is_some())?;
    Ok(Measurement {
        queries,
        measures,
        by_kind,
        mode,
        other_mode,
        one_vector_weight: weight.unwrap_or(ANCHOR_WEIGHT),
        candidates: candidates / queries.max(1),
        timing_ms: SearchTiming::mean(&timings),
    })
}

fn rows(
    sample: &Sample,
    runs: [&Run; 4],
    two_modes: bool,
) -> anyhow::Result<(Vec<MeasureRow>, Vec<KindRow>)> {
    let measures = parse_measures("nDCG@10 RR@10 P@5")?;
    let evaluations = runs.map(|run| evaluate(&sample.qrels, run, &measures, Scope::Complete));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let row = |(n, measure): (usize, &Measure)| {
        let [bm25, anchor, becr, other] =
            [0, 1, 2, 3].map(|system: usize| evaluations[system].values(n));
        let test = paired_t_test(becr.iter().copied().zip(bm25.iter().copied()));
        MeasureRow {
            measure: measure.to_string(),
            bm25: mean(&bm25),
            one_vector: mean(&anchor),
            becr: mean(&becr),
            other_mode: two_modes.then(|| mean(&other)),
            difference: test.difference,
            p: test.p,
        }
    };
    let kind_row = |kind: Kind| {
        let of_kind = sample.queries.iter().filter(|query| query.kind == kind);
        let ids: Vec<&str> = of_kind.map(|query| query.id.as_str()).collect();
        let [bm25, one_vector, becr, other] = [0, 1, 2, 3].map(|system: usize| {
            let of_query = |id: &&str| evaluations[system].per_query[*id][0];
            mean(&ids.iter().map(of_query).collect::<Vec<f64>>())
        });
        KindRow {
            kind,
            queries: ids.len(),
            bm25,
            one_vector,
            becr,
            other_mode: two_modes.then_some(other),
        }
    };
    Ok((
        measures.iter().enumerate().map(row).collect(),
        Kind::ALL.map(kind_row).into(),
    ))
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modes = [Some(self.mode), self.other_mode].into_iter().flatten();
        let systems: Vec<String> = ["BM25".to_owned(), "one vector".to_owned()]
            .into_iter()
            .chain(modes.map(|mode| format!("BECR {}", mode.name())))
            .collect();
        let mut header = vec![String::new()];
        header.extend(systems.iter().cloned());
        header.extend(["difference", "p"].map(String::from));
        let numbers = (1..header.len()).collect();
        let mut table = Table::new(header, numbers);
        for row in &self.measures {
            let values = [row.bm25, row.one_vector, row.becr];
            let values = values.into_iter().chain(row.other_mode);
            let mut cells = vec![format!("  {}", row.measure)];
            cells.extend(values.map(|value| format!("{value:.3}")));
            cells.push(format!("{:+.3}", row.difference));
            cells.push(match row.p {
                Some(p) if p < 1e-4 => "< 0.0001".to_owned(),
                Some(p) => format!("{p:.4}"),
                None => String::new(),
            });
            table.row(cells);
        }
        let mut header = vec![String::new(), "queries".to_owned()];
        header.extend(systems);
        let numbers = (1..header.len()).collect();
        let mut kinds = Table::new(header, numbers);
        for row in &self.by_kind {
            let mut cells = vec![format!("  {}", row.kind.words()), row.queries.to_string()];
            let values = [row.bm25, row.one_vector, row.becr];
            let values = values.into_iter().chain(row.other_mode);
            cells.extend(values.map(|value| format!("{value:.3}")));
            kinds.row(cells);
        }
        let each = self.timing_ms.stages().into_iter();
        let each: Vec<String> = each.map(|(stage, ms)| format!("{stage} {ms:.2}")).collect();
        write!(
            f,
            "\nAll {} queries against the judgements that come with them:\n{table}\
             one vector: BM25 and {} × the z-scored cosine of query and document, for comparison\n\
             difference of BECR {} and BM25; p: paired two-sided t-test over the queries\n\n\
             nDCG@10 by kind of query; in other words: no document that answers it has a word of the query\n{kinds}\n\
             Milliseconds per query on one core, {} candidates on average: {}\n",
            self.queries,
            self.one_vector_weight,
            self.mode.name(),
            self.candidates,
            each.join(", ")
        )
    }
}
