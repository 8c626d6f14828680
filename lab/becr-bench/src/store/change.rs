//! One document added, replaced or deleted, in a small store and in a large one.

use super::data;
use super::median;
use crate::Console;
use crate::random::Random;
use becr_lmdb::Store;
use becr_store::{NewDocument, Shape};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

const SMALL: u64 = 1_000;
const SHAPE: Shape = Shape {
    layers: 1,
    bits: 64,
    vector: 0,
};
const TOKENS: u32 = 32;
const FOOTPRINTS: usize = TOKENS as usize * 8;

#[derive(Serialize)]
pub(super) struct ChangeReport {
    small: u64,
    large: u64,
    rows: Vec<ChangeRow>,
}

#[derive(Serialize)]
struct ChangeRow {
    change: &'static str,
    small_ms: f64,
    large_ms: f64,
    /// Large over small.
    ratio: f64,
    /// The same without the commit, which waits for the disk.
    small_before_commit_ms: f64,
    large_before_commit_ms: f64,
    ratio_before_commit: f64,
}

/// Medians of a change, in milliseconds: as a whole, and up to the commit.
struct ChangeTiming {
    whole: f64,
    before_commit: f64,
}

pub(super) fn measure(
    scratch: &Path,
    large: u64,
    runs: usize,
    console: &Console<'_>,
) -> anyhow::Result<ChangeReport> {
    let bar = (console.bar)(SMALL + large, "documents written");
    let store = |name, documents| {
        let dir = scratch.join(name);
        data::write(&dir, SHAPE, FOOTPRINTS, TOKENS, documents, |n| {
            bar.set_position(n);
        })
    };
    let stores = [store("small", SMALL)?, store("large", large)?];
    bar.finish_and_clear();
    let mut rows = Vec::new();
    for (kind, name) in ["add", "update", "delete"].into_iter().enumerate() {
        let mut times = [const { (Vec::new(), Vec::new()) }; 2];
        for run in 0..runs as u64 {
            // The two stores take turns, so that a busy disk slows both.
            for (at, (store, documents)) in stores.iter().zip([SMALL, large]).enumerate() {
                // Documents of the build, all over the store, are replaced; those that were added are deleted.
                let number = match kind {
                    1 => run * (documents / runs as u64).max(1) % documents,
                    _ => documents + run,
                };
                let cost = change(store, kind, number, &mut Random::new(number + 9))?;
                times[at].0.push(cost.whole);
                times[at].1.push(cost.before_commit);
            }
        }
        let [small, large] = times.map(|(whole, before_commit)| ChangeTiming {
            whole: median(whole),
            before_commit: median(before_commit),
        });
        rows.push(ChangeRow {
            change: name,
            small_ms: small.whole,
            large_ms: large.whole,
            ratio: large.whole / small.whole,
            small_before_commit_ms: small.before_commit,
            large_before_commit_ms: large.before_commit,
            ratio_before_commit: large.before_commit / small.before_commit,
        });
    }
    Ok(ChangeReport {
        small: SMALL,
        large,
        rows,
    })
}

fn change(
    store: &Store,
    kind: usize,
    number: u64,
    random: &mut Random,
) -> anyhow::Result<ChangeTiming> {
    let mut footprints = [0; FOOTPRINTS];
    random.fill(&mut footprints);
    let (id, text) = (data::id(number), data::text(random));
    let started = Instant::now();
    let mut update = store.update()?;
    if kind == 2 {
        anyhow::ensure!(update.delete(&id)?, "{id} is not there");
    } else {
        update.put(&NewDocument {
            id: &id,
            text: &text,
            tokens: TOKENS,
            footprints: &footprints,
            mean: &[0; SHAPE.bits as usize / 8],
            ..Default::default()
        })?;
    }
    let before_commit = started.elapsed().as_secs_f64() * 1e3;
    update.commit()?;
    let whole = started.elapsed().as_secs_f64() * 1e3;
    Ok(ChangeTiming {
        whole,
        before_commit,
    })
}

impl ChangeReport {
    pub(super) fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        writeln!(
            out,
            "change of one document, with its commit (and before the commit)"
        )?;
        let head = |n: u64| format!("{n} documents");
        writeln!(
            out,
            "         {:>24} {:>24}   ratio",
            head(self.small),
            head(self.large)
        )?;
        for row in &self.rows {
            let cell = |whole: f64, before: f64| format!("{whole:.2} ms ({before:.3} ms)");
            writeln!(
                out,
                "  {:<6} {:>24} {:>24}   {:.2} ({:.2})",
                row.change,
                cell(row.small_ms, row.small_before_commit_ms),
                cell(row.large_ms, row.large_before_commit_ms),
                row.ratio,
                row.ratio_before_commit
            )?;
        }
        Ok(())
    }
}
