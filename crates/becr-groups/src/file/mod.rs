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

mod read;
mod write;

pub use read::Entries;
pub(crate) use write::Writer;

use crate::Error;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"BECRcnt\x01";
const HEADER_BYTES: u64 = 8 + 4;
const TRAILER_BYTES: u64 = 5 * 8 + 16 + 8;

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
