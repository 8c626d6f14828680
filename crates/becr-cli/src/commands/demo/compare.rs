//! One query, ranked by BM25 and by BECR side by side, and what made the difference.

use super::sample::{Query, Sample};
use crate::commands::explain::Reasons;
use crate::commands::search::Searcher;
use becr_rank::RankWorkspace;
use std::io::Write;

const DEPTH: usize = 5;
/// Columns of a title.
const WIDTH: usize = 46;

/// Shows the first documents of both rankings, marked by their grades.
pub(super) fn show(
    out: &mut impl Write,
    searcher: &Searcher,
    sample: &Sample,
    query: &Query,
) -> anyhow::Result<()> {
    let found = searcher.search(&query.text, DEPTH, &mut RankWorkspace::new())?;
    let cell = |place: usize| -> anyhow::Result<String> {
        let hit = &found.hits[place];
        let grade = sample.qrels.queries[&query.id].get(&hit.id).copied();
        let mark = ["    ", "*   ", "**  ", "*** "][grade.unwrap_or(0).clamp(0, 3) as usize];
        Ok(format!(
            "{mark}{}",
            shortened(&searcher.first_stage.title(hit)?)
        ))
    };
    writeln!(out, "\n{}", query.text)?;
    let width = WIDTH + 4;
    writeln!(out, "     {:<width$}  BECR", "BM25")?;
    let order: Vec<usize> = found.order().take(DEPTH).map(|(place, ..)| place).collect();
    for (rank, &place) in order.iter().enumerate() {
        let (bm25, becr) = (cell(rank)?, cell(place)?);
        writeln!(out, "  {}. {bm25:<width$}  {becr}", rank + 1)?;
    }
    if let (Some(ranking), Some(ranked)) = (&searcher.ranking, &found.ranked)
        && let Some(&best) = order.first().filter(|&&best| best != 0)
    {
        let entries = searcher.entries(&found.hits);
        let better = ranking.explain(ranked, &entries, best)?;
        let worse = ranking.explain(ranked, &entries, 0)?;
        let why = Reasons::largest(better.difference(&worse));
        let (better, worse) = (&found.hits[best].id, &found.hits[0].id);
        writeln!(out, "  Why {better} is before {worse}: {why}")?;
    }
    Ok(())
}

fn shortened(title: &str) -> String {
    match title.char_indices().nth(WIDTH) {
        None => title.to_owned(),
        Some(_) => title.chars().take(WIDTH - 1).chain(['…']).collect(),
    }
}
