//! Documents kept for a second pass: an iterator can be read once, and choosing token groups takes a pass of its own.

use crate::{Document, IndexError};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// zstd's fastest useful level: the spool is written once and read once.
const LEVEL: i32 = 1;

/// Where a spool is written until it is whole.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("unfinished")
}

/// Writes the spool; it appears when it is whole.
pub(crate) struct SpoolWriter {
    out: zstd::Encoder<'static, BufWriter<File>>,
    line: Vec<u8>,
    documents: u64,
    bytes: u64,
    path: PathBuf,
    unfinished: PathBuf,
}

impl SpoolWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, IndexError> {
        let unfinished = unfinished(path);
        let create = || zstd::Encoder::new(BufWriter::new(File::create(&unfinished)?), LEVEL);
        Ok(Self {
            out: create().map_err(IndexError::io(&unfinished, "cannot create"))?,
            line: Vec::new(),
            documents: 0,
            bytes: 0,
            path: path.to_owned(),
            unfinished,
        })
    }

    pub(crate) fn push(&mut self, document: &Document) -> Result<(), IndexError> {
        self.line.clear();
        let written = serde_json::to_writer(&mut self.line, document)
            .map_err(std::io::Error::from)
            .and_then(|()| {
                self.line.push(b'\n');
                self.out.write_all(&self.line)
            });
        written.map_err(IndexError::io(&self.unfinished, "cannot write"))?;
        self.documents += 1;
        self.bytes += (document.title.len() + document.text.len()) as u64;
        Ok(())
    }

    /// Removes what is at a path, whole or not.
    pub(crate) fn clear(path: &Path) {
        let _ = fs::remove_file(unfinished(path));
        let _ = fs::remove_file(path);
    }

    /// Ends the spool with the number of its documents and their bytes, and puts it in place.
    pub(crate) fn finish(mut self) -> Result<Spool, IndexError> {
        let (documents, bytes) = (self.documents, self.bytes);
        let finish = || {
            writeln!(self.out, "{documents} {bytes}")?;
            let file = self
                .out
                .finish()?
                .into_inner()
                .map_err(std::io::IntoInnerError::into_error)?;
            file.sync_all()?;
            fs::rename(&self.unfinished, &self.path)
        };
        finish().map_err(IndexError::io(&self.path, "cannot write"))?;
        Ok(Spool {
            path: self.path,
            documents,
            bytes,
        })
    }
}

/// A whole spool.
pub(crate) struct Spool {
    path: PathBuf,
    pub(crate) documents: u64,
    /// Of titles and texts.
    pub(crate) bytes: u64,
}

impl Spool {
    /// The spool that an earlier try left, if it is whole.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, IndexError> {
        if !path.is_file() {
            return Ok(None);
        }
        let count = || {
            let mut last = String::new();
            for line in lines(path)? {
                last = line?;
            }
            let counts = last.split_once(' ');
            std::io::Result::Ok(counts.and_then(|(documents, bytes)| {
                Some((documents.parse().ok()?, bytes.parse().ok()?))
            }))
        };
        let counts: Option<(u64, u64)> = count().map_err(IndexError::io(path, "cannot read"))?;
        Ok(counts.map(|(documents, bytes)| Self {
            path: path.to_owned(),
            documents,
            bytes,
        }))
    }

    /// The documents, in their order.
    pub(crate) fn read(
        &self,
    ) -> Result<impl Iterator<Item = Result<Document, IndexError>> + use<>, IndexError> {
        let (path, count) = (self.path.clone(), self.documents as usize);
        let lines = lines(&path).map_err(IndexError::io(&path, "cannot read"))?;
        Ok(lines.take(count).map(move |line| {
            let document = line.and_then(|line| Ok(serde_json::from_str(&line)?));
            document.map_err(IndexError::io(&path, "cannot read"))
        }))
    }

    /// Removes the file; what is left is a nuisance, not a fault.
    pub(crate) fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn lines(path: &Path) -> std::io::Result<impl Iterator<Item = std::io::Result<String>> + use<>> {
    Ok(BufReader::new(zstd::Decoder::new(File::open(path)?)?).lines())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_back_and_a_half_spool_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let mut first = Document::new("a\n\"1\"", "Title", "line\nline\u{2028}é");
        first.features.push(("pagerank".into(), 0.1));
        let documents = [first, Document::default(), Document::new("7", "", "7")];
        let mut writer = SpoolWriter::create(&path).unwrap();
        documents.iter().for_each(|d| writer.push(d).unwrap());
        assert!(Spool::open(&path).unwrap().is_none(), "not finished");
        writer.finish().unwrap();
        let spool = Spool::open(&path).unwrap().unwrap();
        assert_eq!((spool.documents, spool.bytes), (3, 20));
        let read: Vec<_> = spool.read().unwrap().map(Result::unwrap).collect();
        assert_eq!(read, documents);
        spool.remove();
        assert!(Spool::open(&path).unwrap().is_none());
    }
}
