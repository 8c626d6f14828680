//! `becr stats`: what an index holds and what it takes.

mod coverage;

use super::measured::{PerDocument, StoreSizes};
use crate::output;
use becr_index::first_stage::FirstStage;
use becr_index::manifest::Manifest;
use becr_lmdb::Store;
use becr_store::Documents;
use coverage::Coverage;
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
    /// Also tell which share of the words and pairs of these queries the token groups cover: TSV (id, text),
    /// JSON lines or TREC topics.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
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
    #[serde(flatten)]
    measured: StoreSizes,
    per_document: PerDocument,
    coverage: Option<Coverage>,
    digest: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let manifest = Manifest::read(&args.index)?;
    anyhow::ensure!(
        manifest.model.is_some() || (!args.digest && args.queries.is_none()),
        "a lexical index has no digest and no token groups; build one with --model"
    );
    let documents = FirstStage::open(&args.index)?.documents();
    let store = match manifest.model.is_some() {
        true => Some(store_stats(
            &Store::open(&becr_index::live::store_folder(&args.index))?,
            args,
        )?),
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

fn store_stats(store: &Store, args: &Args) -> anyhow::Result<StoreStats> {
    let measured = StoreSizes::measure(store)?;
    Ok(StoreStats {
        per_document: measured.per_document(),
        measured,
        coverage: match &args.queries {
            Some(queries) => Some(Coverage::of(queries, store)?),
            None => None,
        },
        digest: match args.digest {
            true => Some(store.snapshot()?.digest()?),
            false => None,
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
    let measured = &store.measured;
    writeln!(
        out,
        "  footprints           {} layers, {} bits{}, {}",
        measured.layers,
        measured.bits,
        if measured.relative {
            " relative to the document"
        } else {
            ""
        },
        match measured.documents {
            Documents::Encoded => "documents encoded, one for each WordPiece",
            Documents::Composed => "documents composed from token groups, one for each word",
        }
    )?;
    writeln!(
        out,
        "  tokens               {}",
        HumanCount(measured.totals.tokens)
    )?;
    writeln!(
        out,
        "  token groups         {}",
        HumanCount(measured.groups)
    )?;
    writeln!(
        out,
        "  store file           {}",
        BinaryBytes(measured.file_bytes)
    )?;
    for table in measured.tables.iter().filter(|table| table.rows > 0) {
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
    if let Some(coverage) = &store.coverage {
        coverage.print(&mut out)?;
    }
    if let Some(digest) = &store.digest {
        writeln!(out, "  digest               {digest}")?;
    }
    out.flush()?;
    Ok(())
}
