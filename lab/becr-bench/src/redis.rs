//! `becr-lab bench redis`: what a query costs from a cluster, beside the embedded store.
//!
//! Model: W(3), 150 candidates of 857 tokens at five layers of 256 bits and three query words, drawn at random, in an LMDB store
//! and exported to the cluster. Each query is asked of all in turn, ids and words looked up anew: embedded, records read,
//! and scored by the nodes. Bytes are those of the protocol. The scores must be the same to the bit.

use crate::Console;
use crate::console::write_json;
use crate::random::Random;
use anyhow::{Context, bail, ensure};
use becr_footprint::DocumentLayout;
use becr_model::{Feature, Head};
use becr_rank::{Candidate, RankOptions, RankWorkspace, Ranker, Scored};
use becr_redis::{Options, Store, Traffic, export};
use becr_store::{DocumentStore, Header, NewDocument, Shape, StoreError};
use becr_text::groups::TokenGroup;
use becr_text::pieces::WordPieces;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

const WORDS: [&str; 8] = [
    "river", "bank", "money", "loan", "fish", "spring", "water", "boat",
];
const QUERY: &str = "river bank money";
const BITS: u16 = 256;
/// Documents written together.
const BATCH: usize = 100;

/// Measure times and bytes of re-ranking from a Redis Cluster, beside the embedded store
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the documents go for the time of the benchmark, redis://host:port[,host:port…]/name: a name that no index has.
    address: String,
    /// Documents of the collection.
    #[arg(long, default_value_t = 1000)]
    documents: usize,
    /// Tokens of a document.
    #[arg(long, default_value_t = 857)]
    tokens: usize,
    /// Layers of footprints.
    #[arg(long, default_value_t = 5)]
    layers: u16,
    /// Candidates of a query.
    #[arg(long, default_value_t = 150)]
    candidates: usize,
    /// Queries.
    #[arg(long, default_value_t = 40)]
    queries: usize,
    /// Write the measurements as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Serialize)]
struct ClusterReport {
    documents: u64,
    exported_bytes: u64,
    export_seconds: f64,
    rows: Vec<ClusterRow>,
}

#[derive(Serialize)]
struct ClusterRow {
    store: &'static str,
    median_ms: f64,
    /// A quarter of the queries took less.
    quarter_ms: f64,
    /// A query's, to the nodes.
    sent: u64,
    /// A query's, from the nodes.
    received: u64,
}

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    ensure!(
        args.queries > 0 && args.candidates > 0 && args.candidates <= args.documents,
        "--queries and --candidates are at least 1, --candidates at most --documents"
    );
    refuse_existing(&args.address)?;
    let shape = Shape::new(args.layers, BITS);
    let header = Header::new("bench", shape, 3);
    let folder = tempfile::tempdir()?;
    let embedded = becr_lmdb::Store::create(folder.path(), &header)?;
    fill(&embedded, shape, args, console)?;
    let (begun, mut done) = (Instant::now(), |_| {});
    let snapshot = embedded.snapshot()?;
    let exported = export(&snapshot, &[], &args.address, Options::default(), &mut done)?;
    let export_seconds = begun.elapsed().as_secs_f64();
    let store = Store::open(&args.address)?;
    let rows = measure(args, &embedded, &ranker(&header)?);
    // Whatever came of it, the cluster is left as it was.
    store.remove()?;
    let report = ClusterReport {
        documents: exported.documents,
        exported_bytes: exported.bytes,
        export_seconds,
        rows: rows?,
    };
    if let Some(path) = &args.json {
        write_json(path, &report)?;
    }
    print(&report, console)
}

fn refuse_existing(address: &str) -> anyhow::Result<()> {
    match Store::open(address) {
        Ok(store) => bail!(
            "{}: there is an index of this name, which a benchmark must not replace; give another",
            store.path().display()
        ),
        Err(error) if is_absent(&error) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn is_absent(error: &StoreError) -> bool {
    let StoreError::Engine { source, .. } = error else {
        return false;
    };
    let error = source.downcast_ref::<becr_redis::ClusterError>();
    matches!(error, Some(becr_redis::ClusterError::NoIndex))
}

/// Documents and token groups of random bits.
fn fill(
    store: &becr_lmdb::Store,
    shape: Shape,
    args: &Args,
    console: &Console<'_>,
) -> anyhow::Result<()> {
    let mut random = Random::new(7);
    let mut bytes = |count: usize| -> Vec<u8> {
        let words = (0..count.div_ceil(8)).flat_map(|_| random.next().to_le_bytes());
        words.take(count).collect()
    };
    let mut update = store.update()?;
    for (at, word) in WORDS.iter().enumerate() {
        let next = WORDS[(at + 1) % WORDS.len()];
        let single = TokenGroup::Unigram((*word).into());
        update.put_group(&single, &bytes(shape.group_bytes(1)))?;
        let pair = TokenGroup::Pair((*word).into(), next.into());
        update.put_group(&pair, &bytes(shape.group_bytes(2)))?;
    }
    update.commit()?;
    let layout = DocumentLayout::new(shape.layers.into(), args.tokens, BITS.into())?;
    let bar = (console.bar)(args.documents as u64, "documents");
    let numbers: Vec<usize> = (0..args.documents).collect();
    for batch in numbers.chunks(BATCH) {
        let mut update = store.update()?;
        for n in batch {
            let words = bytes(60);
            let words = words.iter().map(|&byte| WORDS[byte as usize % WORDS.len()]);
            update.put(&NewDocument {
                id: &n.to_string(),
                title: WORDS[n % WORDS.len()],
                text: &words.collect::<Vec<_>>().join(" "),
                tokens: u32::try_from(args.tokens)?,
                footprints: &bytes(layout.bytes()),
                mean: &bytes(shape.mean_bytes()),
                ..NewDocument::default()
            })?;
        }
        update.commit()?;
        bar.inc(batch.len() as u64);
    }
    bar.finish_and_clear();
    Ok(())
}

/// A ranker with weights for everything that a record has.
fn ranker(header: &Header) -> anyhow::Result<Ranker> {
    let mut head = Head::blank(&header.encoder_id, header.shape.layers.into());
    for alpha in &mut head.deep.alpha {
        for (kernel, weight) in alpha.iter_mut().enumerate() {
            *weight = 0.02 - 0.003 * kernel as f32;
        }
    }
    let names = [
        "body_bm25_sum",
        "title_tfidf_max",
        "body_proximity_max",
        "first_stage",
    ];
    head.lexical = names
        .iter()
        .map(|name| Feature::plain(*name, 0.3))
        .collect();
    let pieces = WordPieces::from_vocab(b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "vocab.txt")?;
    Ok(Ranker::for_store(header, head, pieces)?)
}

fn rank(
    ranker: &Ranker,
    store: &impl DocumentStore,
    ids: &[String],
    work: &mut RankWorkspace,
) -> anyhow::Result<Vec<Option<Scored>>> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let (query, numbers) = ranker.query_for(
        store,
        QUERY,
        &ids,
        &ranker.plan(&RankOptions::composed())?,
        None,
    )?;
    let numbered = numbers.into_iter().enumerate();
    let candidates = numbered.map(|(place, number)| {
        Ok(Candidate {
            number: number.context("a document is missing")?,
            first_stage: Some(100.0 - place as f32),
            features: &[],
        })
    });
    let candidates = candidates.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(ranker.score(&query, store, &candidates, work)?)
}

/// Times of one store, and its bytes.
#[derive(Default)]
struct Measured {
    times: Vec<f64>,
    sent: u64,
    received: u64,
}

impl Measured {
    fn row(mut self, store: &'static str) -> ClusterRow {
        self.times.sort_by(f64::total_cmp);
        let queries = self.times.len();
        ClusterRow {
            store,
            median_ms: self.times[queries / 2],
            quarter_ms: self.times[queries / 4],
            sent: self.sent / queries as u64,
            received: self.received / queries as u64,
        }
    }
}

fn measure(
    args: &Args,
    embedded: &becr_lmdb::Store,
    ranker: &Ranker,
) -> anyhow::Result<Vec<ClusterRow>> {
    let open = |module| {
        let options = Options {
            module,
            ..Options::default()
        };
        Store::open_with(&args.address, options)
    };
    let (reading, scoring) = (open(false)?, open(true)?);
    let mut work = RankWorkspace::new();
    let mut random = Random::new(99);
    let mut all: [Measured; 3] = Default::default();
    // The first query is not counted: connections are made and buffers grow.
    for turn in 0..=args.queries {
        let first = random.next() as usize % args.documents;
        let step = (args.documents / args.candidates).max(1);
        let id = |n: usize| ((first + n * step) % args.documents).to_string();
        let ids: Vec<String> = (0..args.candidates).map(id).collect();
        let mut expected = None;
        for (place, measured) in all.iter_mut().enumerate() {
            let cluster = [None, Some(&reading), Some(&scoring)][place];
            let before = cluster.map_or(Traffic::default(), Store::traffic);
            let begun = Instant::now();
            let scores = match cluster {
                None => rank(ranker, &embedded.snapshot()?, &ids, &mut work)?,
                Some(store) => rank(ranker, &store.snapshot()?, &ids, &mut work)?,
            };
            let seconds = begun.elapsed().as_secs_f64();
            let after = cluster.map_or(Traffic::default(), Store::traffic);
            let expected = expected.get_or_insert_with(|| scores.clone());
            ensure!(
                scores == *expected,
                "the cluster's scores are not the embedded store's"
            );
            if turn > 0 {
                measured.times.push(seconds * 1e3);
                measured.sent += after.sent - before.sent;
                measured.received += after.received - before.received;
            }
        }
    }
    let [embedded, read, scored] = all;
    let mut rows = vec![embedded.row("embedded"), read.row("records read")];
    if scoring.scores_there() == Some(true) {
        rows.push(scored.row("scored by the nodes"));
    }
    Ok(rows)
}

fn print(report: &ClusterReport, console: &mut Console<'_>) -> anyhow::Result<()> {
    writeln!(
        console.out,
        "exported {} documents, {} MB in {:.1} s",
        report.documents,
        report.exported_bytes / 1_000_000,
        report.export_seconds
    )?;
    writeln!(
        console.out,
        "                     median ms  quarter ms  bytes there  bytes back"
    )?;
    for row in &report.rows {
        writeln!(
            console.out,
            "{:<19}  {:>9.2}  {:>10.2}  {:>11}  {:>10}",
            row.store, row.median_ms, row.quarter_ms, row.sent, row.received
        )?;
    }
    match &report.rows[..] {
        [_, read, scored] => writeln!(
            console.out,
            "scored by the nodes: {:.0} × fewer bytes, {:.1} × faster than records read",
            (read.sent + read.received) as f64 / (scored.sent + scored.received) as f64,
            read.median_ms / scored.median_ms
        )?,
        _ => console
            .note("The nodes have no module that scores: build becr-redis-module, and load it."),
    }
    Ok(())
}
