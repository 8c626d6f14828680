//! The arguments that say which documents to read and how, shared by the commands that read a corpus.

use crate::output;
use anyhow::Context;
use becr_corpus::{
    Corpus, CorpusError, CorpusOptions, Format, Queries, Query, QueryOptions, SideFiles,
    TopicField, read_queries,
};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct CorpusArgs {
    /// Files or folders to read, plain, gzip or zstd; `-` is standard input.
    #[arg(required = true, value_name = "CORPUS")]
    corpus: Vec<PathBuf>,
    /// Format of the corpus, when it cannot be told from the files: jsonl, msmarco, trec, warc or folder.
    #[arg(long)]
    format: Option<Format>,
    /// What to do with a document that cannot be read: stop, or skip it and report how many were skipped.
    #[arg(long, value_enum, default_value_t, env = "BECR_ON_ERROR")]
    on_error: OnError,
    /// PageRank by document id, one `id score` a line: becomes the feature `pagerank`.
    #[arg(long, value_name = "FILE")]
    pagerank: Option<PathBuf>,
    /// Spam scores by document id, `percentile id` or `id score` a line: becomes the feature `spam`.
    #[arg(long, value_name = "FILE")]
    spam: Option<PathBuf>,
    /// Leave out documents whose spam score is below this (Waterloo percentiles: 100 is least spammy).
    #[arg(long, value_name = "SCORE", requires = "spam")]
    spam_threshold: Option<f32>,
}

/// What to do with input that is wrong.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum OnError {
    /// Stop at the first fault.
    #[default]
    Stop,
    /// Leave it out, count it, report it.
    Skip,
}

impl From<OnError> for becr_corpus::OnError {
    fn from(value: OnError) -> Self {
        match value {
            OnError::Stop => Self::Stop,
            OnError::Skip => Self::Skip,
        }
    }
}

impl From<OnError> for becr_eval::OnError {
    fn from(value: OnError) -> Self {
        match value {
            OnError::Stop => Self::Stop,
            OnError::Skip => Self::Skip,
        }
    }
}

impl CorpusArgs {
    /// Opens the corpus.
    pub(crate) fn open(&self) -> Result<Corpus, CorpusError> {
        let options = CorpusOptions {
            format: self.format,
            on_error: self.on_error.into(),
            side: SideFiles {
                pagerank: self.pagerank.clone(),
                spam: self.spam.clone(),
                spam_threshold: self.spam_threshold,
            },
            ..CorpusOptions::default()
        };
        Corpus::open(&self.corpus, &options)
    }
}

impl CorpusArgs {
    /// What tells this corpus from another without reading it: paths, sizes, dates. Standard input has no such thing.
    pub(crate) fn identity(&self) -> anyhow::Result<Option<String>> {
        let mut identity = format!("{:?} {:?}", self.pagerank, self.spam_threshold);
        for path in self.corpus.iter().chain(&self.pagerank).chain(&self.spam) {
            if path.as_os_str() == "-" {
                return Ok(None);
            }
            describe(path, &mut identity).with_context(|| path.display().to_string())?;
        }
        Ok(Some(identity))
    }
}

/// Appends name, size and date of a file, or of all files of a folder.
fn describe(path: &Path, out: &mut String) -> std::io::Result<()> {
    let meta = path.metadata()?;
    if meta.is_dir() {
        let mut entries: Vec<_> = path
            .read_dir()?
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<_>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| describe(entry, out));
    }
    let date = meta
        .modified()
        .ok()
        .and_then(|date| date.duration_since(std::time::UNIX_EPOCH).ok());
    out.push_str(&format!("\n{} {} {:?}", path.display(), meta.len(), date));
    Ok(())
}

/// Reads a file of queries and reports what was skipped.
pub(crate) fn queries(
    path: &Path,
    topic_field: TopicField,
    on_error: OnError,
) -> anyhow::Result<Vec<Query>> {
    let options = QueryOptions {
        topic_field,
        on_error: on_error.into(),
    };
    let Queries { queries, skipped } = read_queries(path, &options)
        .context("cannot read the queries; --on-error skip leaves faulty ones out")?;
    output::note_report(&skipped);
    Ok(queries)
}
