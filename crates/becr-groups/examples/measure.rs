//! Measures counting and selection on a corpus: `measure CORPUS.jsonl.zst VOCAB.txt [QUERIES.tsv]`.
//!
//! The corpus has a JSON object a line with `title` and `text`; the vocabulary a WordPiece a line; the
//! queries an id and a text a line. Set `MEMORY_MIB` (256) and `THREADS` (1) to vary the counting.
//! Reading and parsing the corpus is timed apart: documents are handed to the counters from memory.

use becr_groups::{CountFile, CountOptions, Counter, Rules, Sources, Vocabulary};
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: measure CORPUS.jsonl.zst VOCAB.txt [QUERIES.tsv]";
    let corpus = arguments.next().ok_or(usage)?;
    let vocabulary = arguments.next().ok_or(usage)?;
    let vocabulary = Vocabulary::new(std::fs::read_to_string(vocabulary)?.lines());
    let folder = tempfile::tempdir()?;
    let mut out = std::io::stdout().lock();

    let documents = read_corpus(Path::new(&corpus))?;
    let resident = resident_mib()?;
    let started = Instant::now();
    let counts = count_corpus(&documents, folder.path())?;
    let seconds = started.elapsed().as_secs_f64();
    let totals = counts.totals();
    writeln!(
        out,
        "{} documents, {} words in {seconds:.2} s: {:.0} documents/s, {:.0} words/s; peak {} MiB over the corpus; {} MiB of counts; {}",
        totals.documents,
        totals.words,
        totals.documents as f64 / seconds,
        totals.words as f64 / seconds,
        peak_mib()?.saturating_sub(resident),
        std::fs::metadata(counts.path())?.len() >> 20,
        counts.digest(),
    )?;

    let queries = arguments
        .next()
        .map(|path| count_queries(Path::new(&path), folder.path()));
    let queries = queries.transpose()?;
    let rules = [1, 2, 3, 5, 10, 20].map(|least| Rules {
        min_word_documents: least,
        min_pair_documents: least,
        ..Rules::default()
    });
    let budgets = [16, 32, 64, 128].map(|mib| Rules {
        budget: Some(mib << 20),
        ..rules[0]
    });
    for rules in rules.iter().chain(&budgets) {
        let sources = Sources {
            counts: &counts,
            log: None,
            vocabulary: &vocabulary,
        };
        let started = Instant::now();
        let (list, mut report) = sources.select(rules, &folder.path().join("groups"))?;
        let seconds = started.elapsed().as_secs_f64();
        report.coverage = queries.as_ref().map(|q| list.coverage(q)).transpose()?;
        writeln!(out, "\nselected in {seconds:.2} s\n{report}")?;
    }
    Ok(())
}

fn read_corpus(path: &Path) -> Outcome<Vec<(String, String)>> {
    let input = BufReader::new(zstd::Decoder::new(File::open(path)?)?);
    let mut documents = Vec::new();
    for line in input.lines() {
        let document: serde_json::Value = serde_json::from_str(&line?)?;
        let field = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
        documents.push((field("title"), field("text")));
    }
    Ok(documents)
}

fn options(memory: usize, scratch: &Path) -> CountOptions {
    CountOptions {
        window: 3,
        memory,
        scratch: scratch.to_owned(),
    }
}

fn count_corpus(documents: &[(String, String)], folder: &Path) -> Outcome<CountFile> {
    let number = |name: &str, default: usize| -> usize {
        std::env::var(name)
            .ok()
            .and_then(|v| v.parse().ok())
            .unwrap_or(default)
    };
    let threads = number("THREADS", 1).max(1);
    let options = options((number("MEMORY_MIB", 256) << 20) / threads, folder);
    let part = documents.len().div_ceil(threads).max(1);
    let counters: Vec<Outcome<Counter>> = std::thread::scope(|scope| {
        let handles: Vec<_> = documents
            .chunks(part)
            .map(|part| {
                let options = &options;
                scope.spawn(move || -> Outcome<Counter> {
                    let mut counter = Counter::new(options);
                    for (title, text) in part {
                        counter.add(&[title, text])?;
                    }
                    Ok(counter)
                })
            })
            .collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, Outcome<Counter>>| {
            handle
                .join()
                .unwrap_or_else(|_| Err("a thread panicked".into()))
        };
        handles.into_iter().map(join).collect()
    });
    let mut counters = counters.into_iter();
    let mut first = counters.next().ok_or("an empty corpus")??;
    for counter in counters {
        first.absorb(counter?)?;
    }
    Ok(first.finish(&folder.join("corpus.counts"))?)
}

fn count_queries(path: &Path, folder: &Path) -> Outcome<CountFile> {
    let mut counter = Counter::new(&options(16 << 20, folder));
    for line in std::fs::read_to_string(path)?.lines() {
        let (_, text) = line.split_once('\t').ok_or("a query without a tab")?;
        counter.add(&[text])?;
    }
    Ok(counter.finish(&folder.join("queries.counts"))?)
}

fn peak_mib() -> Outcome<u64> {
    status("VmHWM:")
}

fn resident_mib() -> Outcome<u64> {
    status("VmRSS:")
}

/// A line of `/proc/self/status` that is in KiB.
fn status(name: &str) -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line
        .and_then(|line| line.split_whitespace().next())
        .ok_or(name)?;
    Ok(kib.parse::<u64>()? >> 10)
}
