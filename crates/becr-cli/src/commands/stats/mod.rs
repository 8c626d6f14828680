//! `becr stats`: what an index holds and what it takes.

use crate::output;
use becr::{
    ClusterContents, Documents, Index, PerDocument, Precision, QueryCoverage, QueryMode, StoreSizes,
};
use becr_corpus::{QueryOptions, read_queries};
use indicatif::{BinaryBytes, HumanCount};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show what an index holds: documents, sizes, model
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of the index, or its address in a cluster.
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
struct StatsOutput {
    index: PathBuf,
    written_by: String,
    encoder_id: Option<String>,
    precision: Option<Precision>,
    mode: Option<QueryMode>,
    documents: u64,
    store: Option<StoreOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterOutput>,
}

#[derive(Serialize)]
struct StoreOutput {
    #[serde(flatten)]
    measured: StoreSizes,
    per_document: PerDocument,
    #[serde(flatten)]
    asked: Asked,
}

#[derive(Serialize)]
struct ClusterOutput {
    #[serde(flatten)]
    contents: ClusterContents,
    #[serde(flatten)]
    asked: Asked,
}

/// What is told where it was asked for.
#[derive(Serialize)]
struct Asked {
    coverage: Option<QueryCoverage>,
    digest: Option<String>,
}

impl Args {
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let index = open(&args.index)?;
    let found = index.stats()?;
    anyhow::ensure!(
        found.store.is_some()
            || found.cluster.is_some()
            || (!args.digest && args.queries.is_none()),
        "a lexical index has no digest and no token groups; build one with --model"
    );
    let stats = StatsOutput {
        index: index.path().to_owned(),
        written_by: found.written_by,
        encoder_id: found.encoder_id,
        precision: found.precision,
        mode: found.mode,
        documents: found.documents,
        store: match found.store {
            Some(sizes) => Some(StoreOutput {
                per_document: sizes.per_document(),
                measured: sizes,
                asked: asked(&index, args)?,
            }),
            None => None,
        },
        cluster: match found.cluster {
            Some(contents) => Some(ClusterOutput {
                contents,
                asked: asked(&index, args)?,
            }),
            None => None,
        },
    };
    if args.json {
        output::json(&stats)?;
    } else {
        print(&stats)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn open(index: &Path) -> anyhow::Result<Index> {
    #[cfg(feature = "redis")]
    if crate::cluster::address(index).is_some() {
        let options = becr::OpenOptions::new().cluster(crate::cluster::reading_all());
        return Ok(options.open(index)?);
    }
    Ok(Index::open(index)?)
}

fn asked(index: &Index, args: &Args) -> anyhow::Result<Asked> {
    let view = index.view()?;
    Ok(Asked {
        coverage: match &args.queries {
            Some(queries) => {
                let queries = read_queries(queries, &QueryOptions::default())?.queries;
                Some(view.coverage(queries.iter().map(|query| query.text.as_str()))?)
            }
            None => None,
        },
        digest: match args.digest {
            true => Some(view.digest()?),
            false => None,
        },
    })
}

/// How much of the queries the token groups cover.
fn print_coverage(out: &mut impl Write, coverage: &QueryCoverage) -> std::io::Result<()> {
    writeln!(
        out,
        "  token groups cover, of {} queries:",
        coverage.queries
    )?;
    for (name, share) in [("words", &coverage.words), ("pairs", &coverage.pairs)] {
        writeln!(
            out,
            "    {name:<18} {:>9} of {} ({:.1} %)",
            share.found,
            share.asked,
            100.0 * share.share
        )?;
    }
    Ok(())
}

fn print(stats: &StatsOutput) -> anyhow::Result<()> {
    let mut out = output::stdout();
    writeln!(out, "{} ({})", stats.index.display(), stats.written_by)?;
    writeln!(
        out,
        "  documents            {}",
        HumanCount(stats.documents)
    )?;
    if let Some(cluster) = &stats.cluster {
        print_cluster(&mut out, stats, cluster)?;
        out.flush()?;
        return Ok(());
    }
    let Some(store) = &stats.store else {
        writeln!(out, "  lexical index: no footprints")?;
        out.flush()?;
        return Ok(());
    };
    write!(
        out,
        "  encoder              {}",
        stats.encoder_id.as_deref().unwrap_or("unknown")
    )?;
    match stats.precision {
        Some(precision) => writeln!(out, ", {precision}")?,
        None => writeln!(out)?,
    }
    let measured = &store.measured;
    let shape = (measured.layers, measured.bits, measured.relative);
    print_footprints(&mut out, shape, measured.documents)?;
    writeln!(
        out,
        "  tokens               {}",
        HumanCount(measured.totals.tokens)
    )?;
    print_groups(&mut out, stats, measured.groups)?;
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
    if one.footprints_at_least > 0.0 {
        writeln!(
            out,
            "    pages less index and features are {:.3} × the least the footprints take",
            one.overhead
        )?;
    }
    print_asked(&mut out, &store.asked)?;
    out.flush()?;
    Ok(())
}

/// What an index in a cluster says of itself.
fn print_cluster(
    out: &mut impl Write,
    stats: &StatsOutput,
    cluster: &ClusterOutput,
) -> std::io::Result<()> {
    let contents = &cluster.contents;
    writeln!(
        out,
        "  encoder              {}",
        stats.encoder_id.as_deref().unwrap_or("unknown")
    )?;
    let shape = (contents.layers, contents.bits, contents.relative);
    print_footprints(out, shape, contents.documents)?;
    writeln!(
        out,
        "  tokens               {}",
        HumanCount(contents.totals.tokens)
    )?;
    print_groups(out, stats, contents.groups)?;
    writeln!(out, "  generation           {}", contents.generation)?;
    print_asked(out, &cluster.asked)
}

fn print_footprints(
    out: &mut impl Write,
    (layers, bits, is_relative): (u16, u16, bool),
    documents: Documents,
) -> std::io::Result<()> {
    writeln!(
        out,
        "  footprints           {layers} layers, {bits} bits{}, {}",
        if is_relative {
            " relative to the document"
        } else {
            ""
        },
        match documents {
            Documents::Encoded => "documents encoded, one for each WordPiece",
            Documents::Composed => "documents composed from token groups, one for each word",
            Documents::Vectors => "documents without any: one vector of each",
        }
    )
}

fn print_groups(out: &mut impl Write, stats: &StatsOutput, groups: u64) -> std::io::Result<()> {
    match stats.mode {
        Some(QueryMode::Encoded) => writeln!(
            out,
            "  token groups         none: the index is for encoded queries alone"
        ),
        _ => writeln!(out, "  token groups         {}", HumanCount(groups)),
    }
}

fn print_asked(out: &mut impl Write, asked: &Asked) -> std::io::Result<()> {
    if let Some(coverage) = &asked.coverage {
        print_coverage(out, coverage)?;
    }
    if let Some(digest) = &asked.digest {
        writeln!(out, "  digest               {digest}")?;
    }
    Ok(())
}
