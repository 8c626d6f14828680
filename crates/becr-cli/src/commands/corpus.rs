//! The arguments that say which documents to read and how, shared by the commands that read a corpus.

use crate::output;
use anyhow::Context;
use becr_corpus::{
    Corpus, CorpusError, CorpusOptions, Folder, Format, Queries, Query, QueryOptions, SideFiles,
    SkipReport, TopicField, read_queries,
};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct CorpusArgs {
    /// Files or folders to read, plain, gzip or zstd; `-` is standard input. Of a folder each file is read by its own
    /// kind, but for what `.gitignore` and `.becrignore` name; what holds no documents is left out and named, and so are
    /// indexes of this program. With several folders, ids begin with the folder's name.
    #[arg(required = true, value_name = "CORPUS")]
    corpus: Vec<PathBuf>,
    /// Format of the corpus, when it cannot be told from the files: jsonl, msmarco, trec, warc or folder. Of a folder only
    /// files of that format are read.
    #[arg(long)]
    format: Option<Format>,
    /// What to do with a document that cannot be read: stop, or skip it and report how many were skipped.
    #[arg(long, value_enum, default_value_t, env = "BECR_ON_ERROR")]
    on_error: OnError,
    /// Read links in folders to files outside of them.
    #[arg(long)]
    follow_links: bool,
    /// Name every file that was left out; twenty of each kind are named otherwise.
    #[arg(long)]
    list_left_out: bool,
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
pub enum OnError {
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
    /// The folders that are the whole corpus, read as they are: an index of them can be kept in step with them.
    pub(crate) fn folders(&self) -> Vec<Folder> {
        let is_plain = self.format.is_none() && self.pagerank.is_none() && self.spam.is_none();
        match is_plain && self.corpus.iter().all(|path| path.is_dir()) {
            // A path that cannot be remembered is read all the same.
            true => {
                let mut folders = becr::folders(&self.corpus).unwrap_or_default();
                for folder in &mut folders {
                    folder.follow_links = self.follow_links;
                }
                folders
            }
            false => Vec::new(),
        }
    }

    pub(crate) fn reads_stdin(&self) -> bool {
        self.corpus.iter().any(|path| path == Path::new("-"))
    }

    /// Says what was left out.
    pub(crate) fn note(&self, report: &SkipReport) {
        output::note_left_out(report, self.list_left_out);
    }

    /// Opens the corpus.
    pub(crate) fn open(&self) -> Result<Corpus, CorpusError> {
        let options = CorpusOptions {
            format: self.format,
            on_error: self.on_error.into(),
            follow_links: self.follow_links,
            side: SideFiles {
                pagerank: self.pagerank.clone(),
                spam: self.spam.clone(),
                spam_threshold: self.spam_threshold,
            },
            ..CorpusOptions::default()
        };
        match &self.folders()[..] {
            [] => Corpus::open(&self.corpus, &options),
            folders => Corpus::open_folders(folders, &options),
        }
    }
}

impl CorpusArgs {
    /// What tells this corpus from another without reading it: paths, sizes, dates of the files that are part of it, and
    /// of no others. Standard input has no such thing.
    pub(crate) fn identity(&self, corpus: &Corpus) -> Option<String> {
        let threshold = format!("{:?} {:?}", self.format, self.spam_threshold);
        Some(format!("{threshold}\n{}", corpus.identity()?))
    }
}

/// Reads a file of queries and reports what was skipped.
pub fn queries(
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
