//! `words.bin`: the vectors of WordPieces, packed, so that no build of an index computes them again.
//!
//! ```text
//! magic | encoder_id | u32s of a vector | count | ids, ascending | vectors | first half of the SHA-256 of all that
//! ```
//!
//! Numbers are little-endian `u32`s.

use crate::ModelError;
use sha2::{Digest, Sha256};
use std::path::Path;

/// The file's name in a model directory.
pub const WORDS_FILE: &str = "words.bin";

const MAGIC: &[u8; 16] = b"becr words.bin 1";
/// Hexadecimal digits of an encoder's id.
const ID_BYTES: usize = 32;
const SUM_BYTES: usize = 16;

/// Vectors of WordPieces as token groups keep them: seen from the groups' centre, packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordVectors {
    /// The encoder that they are of.
    pub encoder_id: String,
    width: usize,
    ids: Vec<u32>,
    vectors: Vec<u32>,
}

impl WordVectors {
    /// Vectors of `width` numbers by the ids of their WordPieces, which ascend.
    pub fn new(encoder_id: String, width: usize, ids: Vec<u32>, vectors: Vec<u32>) -> Self {
        debug_assert!(ids.is_sorted() && vectors.len() == ids.len() * width);
        Self {
            encoder_id,
            width,
            ids,
            vectors,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Numbers of a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The vector of a WordPiece, if it is among them.
    pub fn get(&self, id: u32) -> Option<&[u32]> {
        let at = self.ids.binary_search(&id).ok()?;
        Some(&self.vectors[at * self.width..][..self.width])
    }

    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let bytes = std::fs::read(path).map_err(ModelError::io(path))?;
        Self::parse(&bytes, path)
    }

    /// Reads and checks the bytes of a file; `path` stands for them in errors.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        decode(bytes).map_err(|problem| ModelError::Config {
            path: path.to_owned(),
            field: "word vectors".into(),
            problem: format!(
                "{problem}; remove the file, it only saves time, or take the model anew"
            ),
        })
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.encoder_id.as_bytes());
        let numbers = [self.width as u32, self.ids.len() as u32];
        let numbers = numbers.iter().chain(&self.ids).chain(&self.vectors);
        bytes.extend(numbers.flat_map(|number| number.to_le_bytes()));
        let sum = Sha256::digest(&bytes);
        bytes.extend(&sum[..SUM_BYTES]);
        bytes
    }
}

fn decode(bytes: &[u8]) -> Result<WordVectors, &'static str> {
    let body = bytes.strip_prefix(MAGIC).ok_or("of another format")?;
    let cut = "truncated";
    let (_, sum) = bytes
        .split_last_chunk::<SUM_BYTES>()
        .filter(|_| body.len() >= ID_BYTES + 8 + SUM_BYTES)
        .ok_or(cut)?;
    let whole = &bytes[..bytes.len() - SUM_BYTES];
    if Sha256::digest(whole)[..SUM_BYTES] != sum[..] {
        return Err("damaged: the checksum is another");
    }
    let (id, numbers) = body[..body.len() - SUM_BYTES].split_at(ID_BYTES);
    let encoder_id = str::from_utf8(id).map_err(|_| "damaged: no encoder's id")?;
    let mut numbers = numbers.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n));
    let mut size = || numbers.next().ok_or(cut).map(|n| n as usize);
    let (width, count) = (size()?, size()?);
    let expected = count.checked_mul(width + 1).ok_or("of an absurd size")?;
    if numbers.len() != expected {
        return Err("of another size than it says");
    }
    let ids: Vec<u32> = numbers.by_ref().take(count).collect();
    if !ids.is_sorted_by(|a, b| a < b) {
        return Err("damaged: ids do not ascend");
    }
    Ok(WordVectors {
        encoder_id: encoder_id.to_owned(),
        width,
        ids,
        vectors: numbers.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> WordVectors {
        let id = "0123456789abcdef0123456789abcdef".to_owned();
        WordVectors::new(id, 2, vec![3, 5, 900], vec![1, 2, 3, 4, 5, u32::MAX])
    }

    #[test]
    fn what_is_written_is_read() {
        let path = Path::new("words.bin");
        let read = WordVectors::parse(&words().to_bytes(), path).unwrap();
        assert_eq!(read, words());
        assert_eq!(read.get(5), Some(&[3, 4][..]));
        assert_eq!((read.get(4), read.len(), read.width()), (None, 3, 2));
    }

    #[test]
    fn damage_is_an_error() {
        let bytes = words().to_bytes();
        let parse = |bytes: &[u8]| WordVectors::parse(bytes, Path::new("words.bin"));
        for cut in 0..bytes.len() {
            let error = parse(&bytes[..cut]).unwrap_err().to_string();
            assert!(error.contains("words.bin"), "{error}");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 16;
            assert!(parse(&damaged).is_err(), "{place}");
        }
    }
}
