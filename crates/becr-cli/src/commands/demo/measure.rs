//! All queries, ranked three ways and measured against the judgements.

use super::sample::Sample;
use becr::{ANCHOR_WEIGHT, Details, Index, RankOptions, SearchOptions, SearchTiming, Variant};
use becr_eval::{Run, Scope, Table, evaluate, paired_t_test, parse_measures};
use std::io::Write;

const DEPTH: usize = 150;

pub(super) fn measure(
    out: &mut impl Write,
    index: &Index,
    sample: &Sample,
    rank: RankOptions,
) -> anyhow::Result<()> {
    let (mut bm25, mut becr) = (Run::new("BM25"), Run::new("BECR"));
    let mut anchor = Run::new("one vector");
    let mut timings = Vec::new();
    let mut candidates = 0;
    let options = |rank| SearchOptions {
        k: DEPTH,
        depth: DEPTH,
        rank: Some(rank),
        details: Details::default(),
    };
    let one_vector = RankOptions {
        variant: Variant::OneVector,
        ..rank
    };
    for query in &sample.queries {
        let found = index.search(&query.text, &options(rank))?;
        candidates += found.results.len();
        for result in found.results {
            let first_stage = f64::from(result.first_stage_score);
            bm25.push(&query.id, &result.id, first_stage);
            becr.push(&query.id, &result.id, f64::from(result.score));
        }
        timings.push(found.timing);
        for result in index.search(&query.text, &options(one_vector))?.results {
            anchor.push(&query.id, &result.id, f64::from(result.score));
        }
    }
    let queries = sample.queries.len();
    writeln!(
        out,
        "\nAll {queries} queries against the judgements that come with them:"
    )?;
    write!(out, "{}", table(sample, [&bm25, &anchor, &becr])?)?;
    let weight = index.ranker()?.head().anchor_weight;
    writeln!(
        out,
        "one vector: BM25 and {} × the z-scored cosine of query and document, for comparison\n\
         difference of BECR and BM25; p: paired two-sided t-test over the queries",
        weight.unwrap_or(ANCHOR_WEIGHT)
    )?;
    let each = SearchTiming::mean(&timings).stages().into_iter();
    let each: Vec<String> = each.map(|(stage, ms)| format!("{stage} {ms:.2}")).collect();
    writeln!(
        out,
        "\nMilliseconds per query on one core, {} candidates on average: {}",
        candidates / queries.max(1),
        each.join(", ")
    )?;
    Ok(())
}

fn table(sample: &Sample, runs: [&Run; 3]) -> anyhow::Result<Table> {
    let measures = parse_measures("nDCG@10 RR@10 P@5")?;
    let header = ["", "BM25", "one vector", "BECR", "difference", "p"];
    let mut table = Table::new(header.map(String::from).to_vec(), vec![1, 2, 3, 4, 5]);
    let evaluations = runs.map(|run| evaluate(&sample.qrels, run, &measures, Scope::Complete));
    for (n, measure) in measures.iter().enumerate() {
        let [bm25, anchor, becr] = [0, 1, 2].map(|system: usize| evaluations[system].values(n));
        let test = paired_t_test(becr.iter().copied().zip(bm25.iter().copied()));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        table.row(vec![
            format!("  {measure}"),
            format!("{:.3}", mean(&bm25)),
            format!("{:.3}", mean(&anchor)),
            format!("{:.3}", mean(&becr)),
            format!("{:+.3}", test.difference),
            match test.p {
                Some(p) if p < 1e-4 => "< 0.0001".to_owned(),
                Some(p) => format!("{p:.4}"),
                None => String::new(),
            },
        ]);
    }
    Ok(table)
}
