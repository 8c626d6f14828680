//! Writing a count file.

use super::{CountFile, MAGIC, TRAILER_BYTES, Totals, is_pair};
use crate::Error;
use crate::output::{Output, Purpose};
use becr_basics::varint;
use std::io::Write;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;
use zstd::stream::write::Encoder;

/// Writes a count file.
pub(crate) struct Writer {
    records: Encoder<'static, Output>,
    path: PathBuf,
    window: u32,
    hash: Xxh3,
    last: Vec<u8>,
    record: Vec<u8>,
    totals: Totals,
}

impl Writer {
    pub(crate) fn create(path: &Path, window: u32, purpose: Purpose) -> Result<Self, Error> {
        let mut output = Output::create(path, purpose)?;
        let mut hash = Xxh3::new();
        hash.update(&window.to_le_bytes());
        let records = output
            .write_all(&MAGIC)
            .and_then(|()| output.write_all(&window.to_le_bytes()))
            .and_then(|()| Encoder::new(output, 1));
        Ok(Self {
            records: records.map_err(Error::io(path, "write the count file"))?,
            path: path.to_owned(),
            window,
            hash,
            last: Vec::new(),
            record: Vec::new(),
            totals: Totals::default(),
        })
    }

    /// Appends a group. Keys must rise.
    pub(crate) fn write(
        &mut self,
        key: &str,
        documents: u64,
        occurrences: u64,
    ) -> Result<(), Error> {
        debug_assert!(self.last.is_empty() || self.last.as_slice() < key.as_bytes());
        let shared = shared_bytes(&self.last, key.as_bytes());
        let rest = &key.as_bytes()[shared..];
        self.record.clear();
        varint::push(shared as u64, &mut self.record);
        varint::push(rest.len() as u64, &mut self.record);
        self.record.extend_from_slice(rest);
        varint::push(documents, &mut self.record);
        varint::push(occurrences, &mut self.record);
        self.hash.update(&self.record);
        self.last.truncate(shared);
        self.last.extend_from_slice(rest);
        match is_pair(key) {
            true => self.totals.distinct_pairs += 1,
            false => self.totals.distinct_words += 1,
        }
        self.records
            .write_all(&self.record)
            .map_err(Error::io(&self.path, "write the count file"))
    }

    /// Completes the file, given what the records do not say of themselves.
    pub(crate) fn finish(
        mut self,
        documents: u64,
        words: u64,
        long_words: u64,
    ) -> Result<CountFile, Error> {
        self.totals.documents = documents;
        self.totals.words = words;
        self.totals.long_words = long_words;
        let mut trailer = Vec::with_capacity(TRAILER_BYTES as usize);
        for number in self.totals.numbers() {
            trailer.extend(number.to_le_bytes());
        }
        self.hash.update(&trailer);
        let digest = self.hash.digest128();
        trailer.extend(digest.to_le_bytes());
        trailer.extend(MAGIC);
        let fail = || Error::io(&self.path, "write the count file");
        let mut output = self.records.finish().map_err(fail())?;
        output.write_all(&trailer).map_err(fail())?;
        output.commit()?;
        Ok(CountFile {
            path: self.path,
            window: self.window,
            totals: self.totals,
            digest,
        })
    }
}

fn shared_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
