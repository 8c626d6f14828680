//! The arguments that say which documents to read and how, shared by the commands that read a corpus.

use becr_corpus::{Corpus, CorpusError, CorpusOptions, Format};
use std::path::PathBuf;

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

impl CorpusArgs {
    /// Opens the corpus.
    pub(crate) fn open(&self) -> Result<Corpus, CorpusError> {
        let options = CorpusOptions {
            format: self.format,
            on_error: self.on_error.into(),
            ..CorpusOptions::default()
        };
        Corpus::open(&self.corpus, options)
    }
}
