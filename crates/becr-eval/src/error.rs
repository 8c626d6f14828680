//! What can go wrong, said so that the reader knows where to look and what to do.

use std::path::{Path, PathBuf};

/// Everything this crate can fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to open, read or write a file; the cause is the error's source.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: `open`, `read`, `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A line does not have the form its file promises.
    #[error("{}:{line}: expected {expected}, found {found}; {remedy}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
        /// What to do about it.
        remedy: String,
    },
    /// Compressed data ends early or is damaged.
    #[error(
        "{}:{line}: expected more {format} data, found it damaged or cut short ({detail}); \
         copy or download the file again",
        path.display()
    )]
    Compressed {
        /// The file.
        path: PathBuf,
        /// The first line, counted from 1, that could not be read.
        line: u64,
        /// `gzip` or `zstd`.
        format: &'static str,
        /// What the decoder said.
        detail: String,
    },
    /// A run holds an identifier that a TREC run file cannot.
    #[error(
        "{what} {found}: expected an identifier without white space, because columns of a TREC run \
         are separated by it; rename it"
    )]
    Identifier {
        /// Whose identifier it is: a query's, a document's, or the run's tag.
        what: &'static str,
        /// The identifier, quoted.
        found: String,
    },
    /// A score that has no place in an order.
    #[error(
        "query {query}, document {document}: expected a finite score that single precision can hold, found {score}; \
         look for a division by zero or a missing scale in what produced it"
    )]
    Score {
        /// The query, quoted.
        query: String,
        /// The document, quoted.
        document: String,
        /// The score.
        score: f64,
    },
    /// A measure's name could not be understood.
    #[error("measure {text:?}, character {position}: {problem}; {remedy}")]
    Measure {
        /// What was given.
        text: String,
        /// Where the trouble starts, counted from 1.
        position: usize,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: String,
    },
    /// Query-length buckets could not be understood.
    #[error("query lengths {text:?}: {problem}; write ascending lengths such as 1,2,3,4-5,6+")]
    Buckets {
        /// What was given.
        text: String,
        /// What is wrong.
        problem: String,
    },
    /// Folds that would leak queries between training and testing, or cannot be made.
    #[error("{problem}; {remedy}")]
    Folds {
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: String,
    },
    /// A fold file that cannot be used; the cause is the error's source.
    #[error("fold file {}", path.display())]
    FoldFile {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        source: Box<Error>,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn folds(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Folds {
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

/// `text` in quotes, control characters escaped, cut to a length that fits a message.
pub(crate) fn quote(text: &str) -> String {
    const SHOWN: usize = 60;
    if text.chars().count() <= SHOWN {
        return format!("{text:?}");
    }
    let head: String = text.chars().take(SHOWN).collect();
    format!("{:?}", head + "…")
}
