//! `becr-lab bench serve`: a running server under load, beside the library in this process.
//!
//! Model: clients that keep their connections and send the next search when the last is answered (closed loop), or
//! searches that are due at fixed times whether or not others are answered (open loop), where a time counts from when a
//! search was due. Answers other than 200 are counted, not timed. The baseline is the same searches by the library, one
//! thread, no HTTP. To compare both on one core, pin: `taskset -c 0 becr serve INDEX --threads 1`, then
//! `taskset -c 1 becr-lab bench serve …` for the load and `taskset -c 0 becr-lab bench serve --index INDEX` for the baseline.

mod client;

use crate::Console;
use crate::console::write_json;
use anyhow::{Context, bail, ensure};
use becr::{Index, SearchOptions};
use client::Connection;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// A running server under load, beside the library without HTTP
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the server is, such as http://127.0.0.1:8080; without it only the baseline is measured.
    address: Option<String>,
    /// Queries to ask in turn: id and text in two columns, as TSV, or a text per line.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// An index to search in this process, on one thread: the baseline.
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,
    /// Clients of the closed loop; connections of the open one.
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Open loop: searches due per second.
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// How long to measure.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Results of a search.
    #[arg(long, default_value_t = 10)]
    k: usize,
    /// Also write the rows as JSON to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// What was measured.
#[derive(Debug, Serialize)]
struct LoadRow {
    what: String,
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// Answers by status; 0 for a connection that failed.
    statuses: BTreeMap<u16, usize>,
}

pub(crate) fn run(args: &Args, console: &mut Console<'_>) -> anyhow::Result<()> {
    ensure!(
        args.clients > 0 && args.k > 0,
        "--clients and --k must be at least 1"
    );
    ensure!(
        args.seconds > 0.0 && args.seconds < 3600.0,
        "--seconds must be above 0 and below an hour"
    );
    let queries = read(&args.queries)?;
    let mut rows = Vec::new();
    if let Some(path) = &args.index {
        rows.push(baseline(path, &queries, args)?);
    }
    if let Some(address) = &args.address {
        let address = address.trim_start_matches("http://").trim_end_matches('/');
        rows.push(match args.rate {
            None => closed(address, &queries, args)?,
            Some(rate) => open(address, &queries, rate, args)?,
        });
    }
    if rows.is_empty() {
        bail!("name a server's address, or --index for the baseline");
    }
    for row in &rows {
        let LoadRow {
            what,
            per_second,
            p50_ms,
            p99_ms,
            statuses,
        } = row;
        writeln!(
            console.out,
            "{what}: {per_second:.1} answers per second, p50 {p50_ms:.2} ms, p99 {p99_ms:.2} ms, by status {statuses:?}"
        )?;
    }
    if let Some(path) = &args.json {
        write_json(path, &rows)?;
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<String>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{}: cannot be read", path.display()))?;
    let query = |line: &str| {
        line.split_once('\t')
            .map_or(line, |(_, query)| query)
            .trim()
            .to_owned()
    };
    let queries: Vec<String> = text
        .lines()
        .map(query)
        .filter(|query| !query.is_empty())
        .collect();
    ensure!(!queries.is_empty(), "{}: no query in it", path.display());
    Ok(queries)
}

fn baseline(path: &Path, queries: &[String], args: &Args) -> anyhow::Result<LoadRow> {
    let index = Index::open(path)?;
    let options = SearchOptions {
        k: args.k,
        ..SearchOptions::default()
    };
    for query in queries.iter().take(100) {
        index.search(query, &options)?;
    }
    let begun = Instant::now();
    let mut times = Vec::new();
    for query in queries.iter().cycle() {
        let started = Instant::now();
        index.search(query, &options)?;
        times.push(started.elapsed());
        if begun.elapsed().as_secs_f64() > args.seconds {
            break;
        }
    }
    let answered: Vec<(u16, Duration)> = times.iter().map(|time| (200, *time)).collect();
    Ok(row(
        "library, one thread".into(),
        &answered,
        begun.elapsed(),
    ))
}

/// Each client sends the next search when the last is answered.
fn closed(address: &str, queries: &[String], args: &Args) -> anyhow::Result<LoadRow> {
    Connection::open(address)?.search(&queries[0], args.k)?;
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    let client = || {
        let (mut answered, mut connection) = (Vec::new(), None);
        while begun.elapsed().as_secs_f64() < args.seconds {
            let query = &queries[next.fetch_add(1, Ordering::Relaxed) % queries.len()];
            let started = Instant::now();
            let status = ask(&mut connection, address, query, args.k);
            answered.push((status, started.elapsed()));
        }
        answered
    };
    let answered = together(args.clients, client);
    let what = format!("closed loop, {} clients", args.clients);
    Ok(row(what, &answered, begun.elapsed()))
}

/// Searches are due at fixed times, in turn on all connections.
fn open(address: &str, queries: &[String], rate: f64, args: &Args) -> anyhow::Result<LoadRow> {
    ensure!(
        rate > 0.0 && rate < 1e6,
        "--rate must be above 0 and below a million"
    );
    Connection::open(address)?.search(&queries[0], args.k)?;
    let begun = Instant::now();
    let (next, late) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let client = || {
        let (mut answered, mut connection) = (Vec::new(), None);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let due = Duration::from_secs_f64(number as f64 / rate);
            if due.as_secs_f64() > args.seconds {
                return answered;
            }
            match due.checked_sub(begun.elapsed()) {
                Some(wait) => std::thread::sleep(wait),
                None => drop(late.fetch_add(1, Ordering::Relaxed)),
            }
            let status = ask(
                &mut connection,
                address,
                &queries[number % queries.len()],
                args.k,
            );
            answered.push((status, begun.elapsed().saturating_sub(due)));
        }
    };
    let answered = together(args.clients, client);
    let late = late.load(Ordering::Relaxed);
    let what = format!(
        "open loop, {rate:.0} per second due, {late} of them sent late for want of connections"
    );
    Ok(row(what, &answered, begun.elapsed()))
}

fn together(
    clients: usize,
    client: impl Fn() -> Vec<(u16, Duration)> + Sync,
) -> Vec<(u16, Duration)> {
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(&client)).collect();
        let answered = clients.into_iter().map(ScopedJoinHandle::join);
        answered
            .flat_map(|answered| answered.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// The status of an answer; 0 if there was none.
fn ask(connection: &mut Option<Connection>, address: &str, query: &str, k: usize) -> u16 {
    let held = match connection {
        Some(held) => held,
        None => match Connection::open(address) {
            Ok(opened) => connection.insert(opened),
            Err(_) => return 0,
        },
    };
    match held.search(query, k) {
        Ok(status) => status,
        Err(_) => {
            *connection = None;
            0
        }
    }
}

fn row(what: String, answered: &[(u16, Duration)], took: Duration) -> LoadRow {
    let mut statuses = BTreeMap::new();
    answered
        .iter()
        .for_each(|(status, _)| *statuses.entry(*status).or_insert(0) += 1);
    let good = answered.iter().filter(|(status, _)| *status == 200);
    let mut times: Vec<f64> = good.map(|(_, time)| time.as_secs_f64() * 1e3).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        times.get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)))
    };
    LoadRow {
        what,
        per_second: times.len() as f64 / took.as_secs_f64(),
        p50_ms: at(0.5).copied().unwrap_or(f64::NAN),
        p99_ms: at(0.99).copied().unwrap_or(f64::NAN),
        statuses,
    }
}
