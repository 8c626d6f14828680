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
    let grade = |place: usize| {
        let judged = sample.qrels.queries[&query.id].get(&found.hits[place].id);
        judged.copied().unwrap_or(0).clamp(0, 3) as usize
    };
    let cell = |place: usize| -> anyhow::Result<String> {
        let hit = &found.hits[place];
        let mark = ["    ", "*   ", "**  ", "*** "][grade(place)];
        Ok(format!(
            "{mark}{}",
            shortened(&searcher.first_stage.title(hit)?)
        ))
    };
    writeln!(out, "\n{}", query.text)?;
    let width = WIDTH + 4;
    writeln!(out, "     {:<width$}  BECR", "BM25")?;
    let order: Vec<usize> = found.order().map(|(place, ..)| place).collect();
    for (rank, &place) in order.iter().take(DEPTH).enumerate() {
        let (bm25, becr) = (cell(rank)?, cell(place)?);
        writeln!(out, "  {}. {bm25:<width$}  {becr}", rank + 1)?;
    }
    if let (Some(ranking), Some(ranked)) = (&searcher.ranking, &found.ranked)
        && let Some((climber, overtaken)) = climber(&order, |place| grade(place) > 1)
    {
        let entries = searcher.entries(&found.hits);
        let better = ranking.explain(ranked, &entries, climber)?;
        let worse = ranking.explain(ranked, &entries, overtaken)?;
        let why = Reasons::largest(better.difference(&worse));
        let name = |place: usize| format!("{} (BM25: {})", found.hits[place].id, place + 1);
        let (better, worse) = (name(climber), name(overtaken));
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
