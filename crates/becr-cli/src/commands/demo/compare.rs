//! One query, ranked by BM25 and by BECR side by side, and what made the difference.

use super::sample::{Query, Sample};
use becr::{ExplainOptions, Index, RankOptions, Reasons, SearchOptions, SearchResult};
use serde::Serialize;
use std::fmt;

const DEPTH: usize = 5;
/// Columns of a title.
const WIDTH: usize = 46;

/// The first documents of both rankings.
#[derive(Serialize)]
pub(super) struct Comparison {
    query: String,
    /// The part of the ranking that this search shows at work.
    shows: &'static str,
    bm25: Vec<Judged>,
    becr: Vec<Judged>,
    /// Why a relevant document is before one that BM25 prefers, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Overtaking>,
}

/// A document with its grade: 0 irrelevant, 3 answers the query.
#[derive(Serialize)]
struct Judged {
    id: String,
    title: String,
    grade: usize,
}

/// A document, one that it overtook, and by what.
#[derive(Serialize)]
struct Overtaking {
    better: String,
    better_bm25_rank: usize,
    worse: String,
    worse_bm25_rank: usize,
    reasons: Reasons,
}

pub(super) fn compare(
    index: &Index,
    sample: &Sample,
    query: &Query,
    shows: &'static str,
    rank: RankOptions,
) -> anyhow::Result<Comparison> {
    let view = index.view()?;
    let options = SearchOptions {
        k: 2 * SearchOptions::DEPTH,
        rank: Some(rank),
        ..SearchOptions::default()
    };
    let becr = view.search(&query.text, &options)?.results;
    // The same documents in the order of BM25, which meaning's have, too.
    let mut places: Vec<usize> = (0..becr.len()).collect();
    places.sort_by(|&a, &b| {
        let (a, b) = (&becr[a], &becr[b]);
        let by_score = b.first_stage_score.total_cmp(&a.first_stage_score);
        by_score.then_with(|| a.id.cmp(&b.id))
    });
    let bm25: Vec<&SearchResult> = places.iter().map(|&place| &becr[place]).collect();
    let grade = |result: &SearchResult| {
        let judged = sample.qrels.queries[&query.id].get(&result.id);
        judged.copied().unwrap_or(0).clamp(0, 3) as usize
    };
    let judged = |result: &SearchResult| Judged {
        id: result.id.clone(),
        title: result.title.clone().unwrap_or_default(),
        grade: grade(result),
    };
    let mut order = vec![0; places.len()];
    for (rank, &place) in places.iter().enumerate() {
        order[place] = rank;
    }
    let why = match climber(&order, |place| grade(bm25[place]) > 1) {
        None => None,
        Some((climber, overtaken)) => {
            let (better, worse) = (bm25[climber], bm25[overtaken]);
            let ids = [better.id.as_str(), worse.id.as_str()];
            let options = ExplainOptions {
                rank,
                ..ExplainOptions::default()
            };
            let explained = view.explain(&query.text, &ids, &options)?;
            let rows = explained.difference.map(|difference| difference.rows);
            Some(Overtaking {
                better: better.id.clone(),
                better_bm25_rank: climber + 1,
                worse: worse.id.clone(),
                worse_bm25_rank: overtaken + 1,
                reasons: Reasons::largest(rows.unwrap_or_default()),
            })
        }
    };
    Ok(Comparison {
        query: query.text.clone(),
        shows,
        bm25: bm25.iter().take(DEPTH).map(|row| judged(row)).collect(),
        becr: becr.iter().take(DEPTH).map(judged).collect(),
        why,
    })
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cell = |judged: &Judged| {
            let mark = ["    ", "*   ", "**  ", "*** "][judged.grade];
            format!("{mark}{}", shortened(&judged.title))
        };
        let width = WIDTH + 4;
        writeln!(f, "\n{}\n  {}", self.query, self.shows)?;
        writeln!(f, "     {:<width$}  BECR", "BM25")?;
        for (rank, (before, after)) in self.bm25.iter().zip(&self.becr).enumerate() {
            let (before, after) = (cell(before), cell(after));
            writeln!(f, "  {}. {before:<width$}  {after}", rank + 1)?;
        }
        if let Some(why) = &self.why {
            writeln!(
                f,
                "  Why {} (BM25: {}) is before {} (BM25: {}): {}",
                why.better, why.better_bm25_rank, why.worse, why.worse_bm25_rank, why.reasons
            )?;
        }
        Ok(())
    }
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
