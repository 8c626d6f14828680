//! Reading a count file, trusting nothing in it.

use super::{CountFile, Entry, HEADER_BYTES, TRAILER_BYTES, corrupt, is_pair};
use crate::Error;
use becr_basics::varint;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use xxhash_rust::xxh3::Xxh3;
use zstd::stream::read::Decoder;

/// Longer than any key of two words of [`crate::MAX_WORD_CHARS`] characters.
const MAX_KEY_BYTES: u64 = 1024;

/// The groups of a count file, one after the other. Damage that shows only as a whole (the digest) is
/// reported at the end: what was read is good once the end has been reached without an error.
pub struct Entries {
    records: BufReader<Decoder<'static, BufReader<Take<File>>>>,
    file: CountFile,
    hash: Xxh3,
    key: Vec<u8>,
    words: u64,
    pairs: u64,
    ended: bool,
}

impl Entries {
    pub(super) fn open(file: &CountFile) -> Result<Self, Error> {
        let fail = || Error::io(&file.path, "read the count file");
        let mut input = File::open(&file.path).map_err(fail())?;
        let length = input.metadata().map_err(fail())?.len();
        input.seek(SeekFrom::Start(HEADER_BYTES)).map_err(fail())?;
        let records = input.take(length.saturating_sub(HEADER_BYTES + TRAILER_BYTES));
        let records = Decoder::with_buffer(BufReader::new(records)).map_err(fail())?;
        let mut hash = Xxh3::new();
        hash.update(&file.window.to_le_bytes());
        Ok(Self {
            records: BufReader::with_capacity(64 * 1024, records),
            file: file.clone(),
            hash,
            key: Vec::new(),
            words: 0,
            pairs: 0,
            ended: false,
        })
    }

    /// Replaces `entry` by the next group; `false` at the end.
    pub fn read(&mut self, entry: &mut Entry) -> Result<bool, Error> {
        if self.ended {
            return Ok(false);
        }
        if self.words + self.pairs
            == self.file.totals.distinct_words + self.file.totals.distinct_pairs
        {
            self.ended = true;
            return self.check_end().map(|()| false);
        }
        self.next_record(entry).map_err(|error| {
            self.ended = true;
            let at = self.words + self.pairs + 1;
            corrupt(&self.file.path, format!("group {at}: {error}"))
        })?;
        match is_pair(&entry.key) {
            true => self.pairs += 1,
            false => self.words += 1,
        }
        Ok(true)
    }

    fn next_record(&mut self, entry: &mut Entry) -> io::Result<()> {
        let mut input = Hashing {
            input: &mut self.records,
            hash: &mut self.hash,
        };
        let shared = varint::read(&mut input)?;
        let rest = varint::read(&mut input)?;
        if shared > self.key.len() as u64 || shared + rest.min(MAX_KEY_BYTES + 1) > MAX_KEY_BYTES {
            return Err(invalid("a key of an impossible length"));
        }
        let shared = shared as usize;
        let mut bytes = [0; MAX_KEY_BYTES as usize];
        let bytes = &mut bytes[..rest as usize];
        input.read_exact(bytes)?;
        if self.key[shared..] >= *bytes {
            return Err(invalid("keys out of order"));
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(bytes);
        let key = str::from_utf8(&self.key).map_err(|_| invalid("a key that is not UTF-8"))?;
        entry.key.clear();
        entry.key.push_str(key);
        entry.documents = varint::read(&mut input)?;
        entry.occurrences = varint::read(&mut input)?;
        if entry.documents == 0
            || entry.documents > entry.occurrences
            || entry.documents > self.file.totals.documents
        {
            return Err(invalid("impossible counts"));
        }
        Ok(())
    }

    fn check_end(&mut self) -> Result<(), Error> {
        let path = &self.file.path;
        let after = self.records.read(&mut [0; 1]);
        if !matches!(after, Ok(0)) {
            return Err(corrupt(path, "more groups than it says".into()));
        }
        let totals = &self.file.totals;
        for number in totals.numbers() {
            self.hash.update(&number.to_le_bytes());
        }
        let counted = (self.words, self.pairs);
        if self.hash.digest128() != self.file.digest
            || counted != (totals.distinct_words, totals.distinct_pairs)
        {
            return Err(corrupt(path, "its checksum does not match".into()));
        }
        Ok(())
    }
}

impl Iterator for Entries {
    type Item = Result<Entry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut entry = Entry::default();
        self.read(&mut entry)
            .map(|found| found.then_some(entry))
            .transpose()
    }
}

/// Hashes what is read through it.
struct Hashing<'a, R> {
    input: &'a mut R,
    hash: &'a mut Xxh3,
}

impl<R: Read> Read for Hashing<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
