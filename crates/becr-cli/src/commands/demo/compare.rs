//! One query, ranked by BM25 and by BECR side by side, and what made the difference.

use super::sample::{Query, Sample};
use becr::{ExplainOptions, Index, RankOptions, Reasons, SearchOptions, SearchResult};
use std::io::Write;

const DEPTH: usize = 5;
/// Columns of a title.
const WIDTH: usize = 46;

/// Shows the first documents of both rankings, marked by their grades.
pub(super) fn show(
    out: &mut impl Write,
    index: &Index,
    sample: &Sample,
    query: &Query,
    rank: RankOptions,
) -> anyhow::Result<()> {
    let view = index.view()?;
    let options = SearchOptions {
        k: SearchOptions::DEPTH,
        rank: Some(rank),
        ..SearchOptions::default()
    };
    let becr = view.search(&query.text, &options)?.results;
    // The same documents in the order of BM25.
    let mut bm25: Vec<&SearchResult> = becr.iter().collect();
    bm25.sort_by_key(|result| result.first_stage_rank);
    let grade = |result: &SearchResult| {
        let judged = sample.qrels.queries[&query.id].get(&result.id);
        judged.copied().unwrap_or(0).clamp(0, 3) as usize
    };
    let cell = |result: &SearchResult| {
        let mark = ["    ", "*   ", "**  ", "*** "][grade(result)];
        let title = result.title.as_deref().unwrap_or_default();
        format!("{mark}{}", shortened(title))
    };
    writeln!(out, "\n{}", query.text)?;
    let width = WIDTH + 4;
    writeln!(out, "     {:<width$}  BECR", "BM25")?;
    for (rank, (before, after)) in bm25.iter().zip(&becr).take(DEPTH).enumerate() {
        let (before, after) = (cell(before), cell(after));
        writeln!(out, "  {}. {before:<width$}  {after}", rank + 1)?;
    }
    let order: Vec<usize> = becr.iter().map(|r| r.first_stage_rank - 1).collect();
    if let Some((climber, overtaken)) = climber(&order, |place| grade(bm25[place]) > 1) {
        let (better, worse) = (bm25[climber], bm25[overtaken]);
        let ids = [better.id.as_str(), worse.id.as_str()];
        let options = ExplainOptions {
            rank,
            ..ExplainOptions::default()
        };
        let explained = view.explain(&query.text, &ids, &options)?;
        let rows = explained.difference.map(|difference| difference.rows);
        let why = Reasons::largest(rows.unwrap_or_default());
        let name = |result: &SearchResult| {
            let rank = result.first_stage_rank;
            format!("{} (BM25: {rank})", result.id)
        };
        let (better, worse) = (name(better), name(worse));
        writeln!(out, "  Why {better} is before {worse}: {why}")?;
    }
    Ok(())
}

/// The relevant document that climbed furthest into view, and the best of BM25 that it overtook: places in the
/// list of BM25, of which `order` is the new one.
fn climber(order: &[usize], is_relevant: impl Fn(usize) -> bool) -> Option<(usize, usize)> {
    let climbs = order.iter().take(DEPTH).enumerate();
    let climbs = climbs.filter(|(rank, place)| *place > rank && is_relevant(**place));
    // The first of those that climbed as far.
    let (rank, &climber) = climbs.min_by_key(|(rank, place)| *rank as i64 - **place as i64)?;
    let behind = order[rank + 1..].iter().copied();
    let overtaken = behind.filter(|&place| place < climber).min()?;
    Some((climber, overtaken))
}

fn shortened(title: &str) -> String {
    match title.char_indices().nth(WIDTH) {
        None => title.to_owned(),
        Some(_) => title.chars().take(WIDTH - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_climbed_and_whom_it_overtook() {
        let any = |order: &[usize]| climber(order, |_| true);
        assert_eq!(any(&[0, 4, 1, 2, 3]), Some((4, 1)));
        assert_eq!(any(&[2, 0, 5, 1, 3, 4]), Some((5, 1)));
        assert_eq!(any(&[0, 1, 2]), None);
        assert_eq!(any(&[]), None);
        // Deep down is out of view.
        assert_eq!(any(&[0, 1, 2, 3, 4, 6, 5]), None);
        let relevant = climber(&[2, 0, 5, 1, 3, 4], |place| place == 2);
        assert_eq!(relevant, Some((2, 0)));
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"x".repeat(99)).chars().count(), WIDTH);
    }
}
