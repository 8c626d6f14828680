//! Counts on disk: a file of groups in the order of their keys.
//!
//! ```text
//! magic    8 bytes   "BECRcnt" and the format version, 1
//! window   u32
//! records  one zstd frame: for each group
//!            bytes shared with the key before (varint), bytes that follow (varint), those bytes,
//!            documents (varint), occurrences (varint)
//! trailer  documents, words, long words, distinct words, distinct pairs (u64 each),
//!          digest (16 bytes), magic (8 bytes) again
//! ```
//!
//! Integers are little-endian. The digest is XXH3-128 over the window, the uncompressed records and the
//! five numbers: two files with the same counts have the same digest, however they came to be.
//! A key is a word, or two words and a space between them. No word contains a space or anything that
//! sorts before it, so the order of keys is the order of first words, then of second words.

use crate::Error;
use crate::output::{Output, Purpose};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;
use zstd::stream::{read::Decoder, write::Encoder};

const MAGIC: [u8; 8] = *b"BECRcnt\x01";
const HEADER_BYTES: u64 = 8 + 4;
const TRAILER_BYTES: u64 = 5 * 8 + 16 + 8;
/// Longer than any key of two words of [`crate::MAX_WORD_CHARS`] characters.
const MAX_KEY_BYTES: u64 = 1024;

/// A group and how often it was met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// A word, or two words with a space between them.
    pub key: String,
    /// In how many documents.
    pub documents: u64,
    /// How many times in all.
    pub occurrences: u64,
}

/// True for the key of a pair.
pub(crate) fn is_pair(key: &str) -> bool {
    key.contains(' ')
}

/// What was counted, over all groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Totals {
    /// Documents, empty ones included.
    pub documents: u64,
    /// Words in all, long ones not included.
    pub words: u64,
    /// Words of more than [`crate::MAX_WORD_CHARS`] characters, which are counted nowhere else.
    pub long_words: u64,
    /// Distinct words.
    pub distinct_words: u64,
    /// Distinct pairs.
    pub distinct_pairs: u64,
}

impl Totals {
    fn numbers(&self) -> [u64; 5] {
        [
            self.documents,
            self.words,
            self.long_words,
            self.distinct_words,
            self.distinct_pairs,
        ]
    }
}

/// A finished count file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountFile {
    path: PathBuf,
    window: u32,
    totals: Totals,
    digest: u128,
}

impl CountFile {
    /// Opens a count file and reads its totals; the records are checked as they are read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut file = File::open(path).map_err(Error::io(path, "open the count file"))?;
        let length = file
            .metadata()
            .map_err(Error::io(path, "read the count file"))?
            .len();
        if length < HEADER_BYTES + TRAILER_BYTES {
            return Err(corrupt(path, format!("only {length} bytes")));
        }
        let mut header = [0; HEADER_BYTES as usize];
        let mut trailer = [0; TRAILER_BYTES as usize];
        file.read_exact(&mut header)
            .and_then(|()| file.seek(SeekFrom::End(-(TRAILER_BYTES as i64))))
            .and_then(|_| file.read_exact(&mut trailer))
            .map_err(Error::io(path, "read the count file"))?;
        if header[..7] != MAGIC[..7] {
            return Err(corrupt(path, "it does not begin as one".into()));
        }
        if header[7] != MAGIC[7] {
            let found = format!("format version {}, expected {}", header[7], MAGIC[7]);
            return Err(corrupt(path, found));
        }
        if trailer[56..] != MAGIC {
            return Err(corrupt(path, "its end is missing".into()));
        }
        let number = |i: usize| {
            let bytes = trailer[8 * i..8 * i + 8].try_into();
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        Ok(Self {
            path: path.to_owned(),
            window: u32::from_le_bytes(header[8..].try_into().unwrap_or_default()),
            totals: Totals {
                documents: number(0),
                words: number(1),
                long_words: number(2),
                distinct_words: number(3),
                distinct_pairs: number(4),
            },
            digest: u128::from(number(5)) | u128::from(number(6)) << 64,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The largest distance between the words of a pair.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Sums over the file.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// A hash of the counts, in hexadecimal: equal for equal counts.
    pub fn digest(&self) -> String {
        format!("{:032x}", self.digest)
    }

    /// Reads the groups in the order of their keys.
    pub fn entries(&self) -> Result<Entries, Error> {
        Entries::open(self)
    }
}

fn corrupt(path: &Path, found: String) -> Error {
    Error::Corrupt {
        path: path.to_owned(),
        expected: "count file",
        found,
        remedy: "count its documents again",
    }
}

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
        push_varint(&mut self.record, shared as u64);
        push_varint(&mut self.record, rest.len() as u64);
        self.record.extend_from_slice(rest);
        push_varint(&mut self.record, documents);
        push_varint(&mut self.record, occurrences);
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
    fn open(file: &CountFile) -> Result<Self, Error> {
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
        let shared = read_varint(&mut input)?;
        let rest = read_varint(&mut input)?;
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
        entry.documents = read_varint(&mut input)?;
        entry.occurrences = read_varint(&mut input)?;
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

fn shared_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Seven bits a byte, the lowest first; the high bit says that more follow.
fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_varint(input: &mut impl Read) -> io::Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        input.read_exact(&mut byte)?;
        let bits = u64::from(byte[0] & 0x7f);
        if shift == 63 && bits > 1 {
            break;
        }
        number |= bits << shift;
        if byte[0] < 0x80 {
            return Ok(number);
        }
    }
    Err(invalid("a number of more than 64 bits"))
}
