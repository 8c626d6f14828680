//! Collections and query files, good and bad, read through the public interface.

mod compression;
mod folder;
mod jsonl;
mod msmarco;
mod pairs;
mod properties;
mod queries;
mod sgml;
mod side;
mod visible;
mod warc;

use std::path::PathBuf;

use becr_corpus::{Corpus, CorpusOptions, Document, OnError, SkipReport};
use tempfile::TempDir;

/// What reading a collection gave.
struct Outcome {
    documents: Vec<Document>,
    /// The error that ended the reading, without the folder's name.
    error: Option<String>,
    report: SkipReport,
}

impl Outcome {
    fn ids(&self) -> Vec<&str> {
        self.documents
            .iter()
            .map(|document| document.id.as_str())
            .collect()
    }

    /// The error's text; panics if there was none.
    fn error(&self) -> &str {
        self.error.as_deref().expect("an error")
    }
}

/// Files in a folder of their own.
struct Files(TempDir);

impl Files {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, content) in files {
            let path = folder.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Reads everything; error messages name files relative to the folder.
    fn read(&self, names: &[&str], options: &CorpusOptions) -> Outcome {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
        let root = format!("{}/", self.0.path().display());
        let mut outcome = Outcome {
            documents: Vec::new(),
            error: None,
            report: SkipReport::default(),
        };
        let mut corpus = match Corpus::open(&paths, options) {
            Ok(corpus) => corpus,
            Err(error) => {
                outcome.error = Some(error.to_string().replace(&root, ""));
                return outcome;
            }
        };
        for document in &mut corpus {
            match document {
                Ok(document) => outcome.documents.push(document),
                Err(error) => outcome.error = Some(error.to_string().replace(&root, "")),
            }
        }
        outcome.report = corpus.skipped();
        for example in &mut outcome.report.examples {
            *example = example.replace(&root, "");
        }
        outcome
    }
}

fn skip() -> CorpusOptions {
    CorpusOptions {
        on_error: OnError::Skip,
        ..CorpusOptions::default()
    }
}

/// Reads one file and stops at the first fault.
fn read(name: &str, content: &[u8]) -> Outcome {
    Files::new(&[(name, content)]).read(&[name], &CorpusOptions::default())
}

/// Reads one file and skips faults.
fn read_skipping(name: &str, content: &[u8]) -> Outcome {
    Files::new(&[(name, content)]).read(&[name], &skip())
}

fn document(id: &str, title: &str, text: &str) -> Document {
    Document {
        id: id.to_owned(),
        title: title.to_owned(),
        text: text.to_owned(),
        features: Vec::new(),
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 1).unwrap()
}

/// What the library itself is built on must be able to cross threads: indexing reads in one and works in others.
#[test]
fn a_corpus_can_be_sent_to_another_thread() {
    fn sendable<T: Send>(_: &T) {}
    let files = Files::new(&[("a.jsonl", b"{\"id\":1,\"text\":\"x\"}\n")]);
    let corpus = Corpus::open(&[files.path("a.jsonl")], &CorpusOptions::default()).unwrap();
    sendable(&corpus);
    let progress = corpus.progress();
    assert_eq!(progress.total_bytes(), Some(20));
    assert_eq!(
        std::thread::spawn(move || corpus.count()).join().unwrap(),
        1
    );
    assert_eq!((progress.bytes_read(), progress.documents()), (20, 1));
}

#[test]
fn a_missing_file_is_named_before_anything_is_read() {
    let outcome = Files::new(&[]).read(&["nowhere.jsonl"], &skip());
    assert_eq!(
        outcome.error(),
        "nowhere.jsonl: cannot read: No such file or directory (os error 2)"
    );
}
