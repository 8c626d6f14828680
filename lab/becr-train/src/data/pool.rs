//! The documents of all sets in one file, to be indexed.

use super::DataError;
use becr_corpus::Document;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// A finished pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// JSON lines, compressed.
    pub path: PathBuf,
    /// How many documents there are.
    pub documents: u64,
    /// What tells this pool from another.
    pub hash: String,
}

/// A pool being written. The file gets its name when it is complete.
pub(crate) struct PoolWriter {
    path: PathBuf,
    partial: PathBuf,
    out: BufWriter<zstd::Encoder<'static, File>>,
    seen: HashSet<u128>,
    hash: Xxh3,
}

/// Fast, and a third of the text.
const LEVEL: i32 = 1;

impl PoolWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, DataError> {
        let partial = path.with_extension("partial");
        let out = File::create(&partial).and_then(|file| zstd::Encoder::new(file, LEVEL));
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::new(out.map_err(DataError::io(&partial, "cannot write"))?),
            partial,
            seen: HashSet::new(),
            hash: Xxh3::new(),
        })
    }

    /// Adds a document, unless there is one of its id; true if it was added.
    pub(crate) fn add(&mut self, document: &Document) -> Result<bool, DataError> {
        if !self.seen.insert(xxh3_128(document.id.as_bytes())) {
            return Ok(false);
        }
        let line = line(document);
        self.hash.update(line.as_bytes());
        let written = self.out.write_all(line.as_bytes());
        written.map_err(DataError::io(&self.partial, "cannot write"))?;
        Ok(true)
    }

    pub(crate) fn finish(self) -> Result<Pool, DataError> {
        let finished = self
            .out
            .into_inner()
            .map_err(io::IntoInnerError::into_error);
        let finished = finished.and_then(zstd::Encoder::finish);
        let renamed = finished.and_then(|_| std::fs::rename(&self.partial, &self.path));
        renamed.map_err(DataError::io(&self.partial, "cannot write"))?;
        Ok(Pool {
            path: self.path,
            documents: self.seen.len() as u64,
            hash: format!("{:032x}", self.hash.digest128()),
        })
    }
}

/// A document as `becr-corpus` reads it back; features are numbers beside the texts.
fn line(document: &Document) -> String {
    let mut fields = serde_json::Map::new();
    for (name, value) in &document.features {
        fields.insert(name.clone(), (*value).into());
    }
    for (name, value) in [
        ("id", &document.id),
        ("title", &document.title),
        ("text", &document.text),
    ] {
        fields.insert(name.into(), value.as_str().into());
    }
    format!("{}\n", serde_json::Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_corpus::{Corpus, CorpusOptions};

    #[test]
    fn what_goes_in_comes_out_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool.jsonl.zst");
        let documents = [
            ("a b", "Owl \"x\"\n", vec![("rank".to_owned(), 0.25)]),
            ("2", "", vec![]),
        ]
        .map(|(id, text, features)| Document {
            id: id.into(),
            title: "T".into(),
            text: text.into(),
            features,
        });
        let write = |documents: &[&Document]| {
            let mut writer = PoolWriter::create(&path).unwrap();
            let added: Vec<bool> = documents.iter().map(|d| writer.add(d).unwrap()).collect();
            (writer.finish().unwrap(), added)
        };
        let [a, b] = &documents;
        let (pool, added) = write(&[a, b, a]);
        assert_eq!((pool.documents, added), (2, vec![true, true, false]));
        let read = Corpus::open(&[&path], &CorpusOptions::default()).unwrap();
        let read: Vec<Document> = read.map(Result::unwrap).collect();
        assert_eq!(read, documents);
        assert_eq!(write(&[a, b]).0.hash, pool.hash);
        assert_ne!(write(&[b, a]).0.hash, pool.hash);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
