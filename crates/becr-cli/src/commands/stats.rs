//! `becr stats`: what an index holds and what it takes.

use crate::output;
use becr_index::first_stage::FirstStage;
use becr_index::manifest::Manifest;
use becr_store::{Store, TableSize, Totals};
use indicatif::{BinaryBytes, HumanCount};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what an index holds: documents, sizes, model
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// Also print a hash of all documents, statistics and token groups: equal for indexes that hold the same.
    #[arg(long)]
    digest: bool,
    /// Print as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Stats {
    index: PathBuf,
    written_by: String,
    encoder_id: Option<String>,
    documents: u64,
    store: Option<StoreStats>,
}

#[derive(Serialize)]
struct StoreStats {
    totals: Totals,
    layers: u16,
    bits: u16,
    groups: u64,
    pending: usize,
    file_bytes: u64,
    tables: Vec<TableSize>,
    per_document: PerDocument,
    digest: Option<String>,
}

/// Bytes of an average document.
#[derive(Serialize)]
struct PerDocument {
    tokens: f64,
    words: f64,
    /// Tokens × layers × bits / 8: what the footprints take at least.
    footprints_at_least: f64,
    /// Footprints with the padding of the last tile.
    footprints: f64,
    forward_index: f64,
    forward_index_per_word: f64,
    features: f64,
    /// The pages of the records: all of the above, headers, and the unused end of the last page.
    record_pages: f64,
    /// Record pages less forward index and features, over the least the footprints take.
    overhead: f64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let manifest = Manifest::read(&args.index)?;
    let documents = FirstStage::open(&args.index)?.documents();
    let store = match Store::is_in(&args.index) {
        true => Some(store_stats(&Store::open(&args.index)?, args.digest)?),
        false => None,
    };
    let stats = Stats {
        index: args.index.clone(),
        written_by: manifest.written_by,
        encoder_id: manifest.model.map(|model| model.encoder_id),
        documents,
        store,
    };
    if args.json {
        output::json(&stats)?;
    } else {
        print(&stats)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn store_stats(store: &Store, digest: bool) -> anyhow::Result<StoreStats> {
    let snapshot = store.snapshot()?;
    let totals = snapshot.totals()?;
    let shape = store.header().shape;
    let (mut footprints, mut forward, mut features) = (0, 0, 0);
    for row in snapshot.documents()? {
        if let Some(record) = snapshot.record(row?.0)? {
            footprints += record.footprints().len();
            forward += record.forward().bytes();
            features += record.features().count() * 8;
        }
    }
    let tables = snapshot.sizes()?;
    let pages = tables
        .iter()
        .find(|table| table.name == "records")
        .map_or(0, |table| table.bytes);
    let documents = totals.documents.max(1) as f64;
    let words = (totals.title_words + totals.body_words) as f64;
    let least = totals.tokens as f64 * f64::from(shape.layers) * f64::from(shape.bits) / 8.0;
    Ok(StoreStats {
        per_document: PerDocument {
            tokens: totals.tokens as f64 / documents,
            words: words / documents,
            footprints_at_least: least / documents,
            footprints: footprints as f64 / documents,
            forward_index: forward as f64 / documents,
            forward_index_per_word: forward as f64 / words.max(1.0),
            features: features as f64 / documents,
            record_pages: pages as f64 / documents,
            overhead: (pages as f64 - forward as f64 - features as f64) / least.max(1.0),
        },
        totals,
        layers: shape.layers,
        bits: shape.bits,
        groups: snapshot.group_count()?,
        pending: snapshot.pending()?.len(),
        file_bytes: store.bytes()?,
        tables,
        digest: if digest {
            Some(snapshot.digest()?)
        } else {
            None
        },
    })
}

fn print(stats: &Stats) -> anyhow::Result<()> {
    let mut out = output::stdout();
    writeln!(out, "{} ({})", stats.index.display(), stats.written_by)?;
    writeln!(
        out,
        "  documents            {}",
        HumanCount(stats.documents)
    )?;
    let Some(store) = &stats.store else {
        writeln!(out, "  lexical index: no footprints")?;
        out.flush()?;
        return Ok(());
    };
    writeln!(
        out,
        "  encoder              {}",
        stats.encoder_id.as_deref().unwrap_or("unknown")
    )?;
    writeln!(
        out,
        "  footprints           {} layers, {} bits",
        store.layers, store.bits
    )?;
    writeln!(
        out,
        "  tokens               {}",
        HumanCount(store.totals.tokens)
    )?;
    writeln!(out, "  token groups         {}", HumanCount(store.groups))?;
    writeln!(
        out,
        "  store file           {}",
        BinaryBytes(store.file_bytes)
    )?;
    for table in store.tables.iter().filter(|table| table.rows > 0) {
        writeln!(
            out,
            "    {:<18} {:>12}  {} rows",
            table.name,
            BinaryBytes(table.bytes).to_string(),
            HumanCount(table.rows)
        )?;
    }
    let one = &store.per_document;
    writeln!(
        out,
        "  an average document: {:.0} tokens, {:.0} words",
        one.tokens, one.words
    )?;
    writeln!(
        out,
        "    tokens × layers × bits / 8   {:>9.0} bytes",
        one.footprints_at_least
    )?;
    writeln!(
        out,
        "    footprints in tiles          {:>9.0} bytes",
        one.footprints
    )?;
    writeln!(
        out,
        "    forward index                {:>9.0} bytes, {:.2} a word",
        one.forward_index, one.forward_index_per_word
    )?;
    writeln!(
        out,
        "    features                     {:>9.0} bytes",
        one.features
    )?;
    writeln!(
        out,
        "    pages of the record          {:>9.0} bytes",
        one.record_pages
    )?;
    writeln!(
        out,
        "    pages less index and features are {:.3} × the least the footprints take",
        one.overhead
    )?;
    if let Some(digest) = &store.digest {
        writeln!(out, "  digest               {digest}")?;
    }
    out.flush()?;
    Ok(())
}
