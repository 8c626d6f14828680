//! An answer for people.

use super::{Answer, RankTiming, Row, Timing};
use crate::output;
use std::io::Write;

pub(super) fn print(answer: &Answer<'_>, explain: bool, timing: bool) -> anyhow::Result<()> {
    let mut out = output::stdout();
    if answer.results.is_empty() {
        writeln!(out, "nothing found")?;
    }
    for row in &answer.results {
        result(&mut out, row)?;
    }
    out.flush()?;
    if let Some(covered) = answer.coverage.filter(|_| explain) {
        output::note(covered);
    }
    match timing {
        true => {
            let stages = answer.timing_ms.stages().into_iter();
            let stages: Vec<String> = stages
                .map(|(stage, ms)| format!("{stage} {ms:.2} ms"))
                .collect();
            output::note(stages.join(", "));
        }
        false => output::note(format_args!("{:.1} ms", answer.timing_ms.total)),
    }
    Ok(())
}

fn result(out: &mut impl Write, row: &Row) -> anyhow::Result<()> {
    let title = match row.title.is_empty() {
        true => "(no title)",
        false => &row.title,
    };
    write!(
        out,
        "{:>4}  {:>8.3}  {title}  [{}]",
        row.rank, row.score, row.id
    )?;
    match &row.parts {
        Some(_) => writeln!(out, "  (BM25: {})", row.first_stage_rank)?,
        None => writeln!(out)?,
    }
    if let (Some(parts), Some(reasons)) = (&row.parts, &row.explanation) {
        writeln!(
            out,
            "                deep {:+.3}, lexi {:+.3}, others {:+.3}",
            parts.deep, parts.lexi, parts.others
        )?;
        writeln!(out, "                {reasons}")?;
    }
    Ok(())
}

impl Timing {
    /// Name and milliseconds of each stage, in the order of a search.
    pub(crate) fn stages(&self) -> Vec<(&'static str, f64)> {
        let mut stages = vec![("first stage", self.first_stage)];
        if let Some(ranking) = self.ranking {
            stages.extend([
                ("look-up", ranking.look_up),
                ("fetch", ranking.fetch),
                ("lexical", ranking.lexical),
                ("deep", ranking.deep),
            ]);
        }
        stages.push(("total", self.total));
        stages
    }

    /// The mean of several searches of the same kind.
    pub(crate) fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        let ranked = |of: fn(&RankTiming) -> f64| {
            let each = all.iter().filter_map(|timing| timing.ranking.as_ref());
            each.map(of).sum::<f64>() / all.len().max(1) as f64
        };
        let ranking = all.iter().any(|timing| timing.ranking.is_some());
        Self {
            first_stage: mean(|timing| timing.first_stage),
            ranking: ranking.then(|| RankTiming {
                look_up: ranked(|timing| timing.look_up),
                fetch: ranked(|timing| timing.fetch),
                lexical: ranked(|timing| timing.lexical),
                deep: ranked(|timing| timing.deep),
            }),
            total: mean(|timing| timing.total),
        }
    }
}
