//! The column of vectors: the signs of all documents' vectors, side by side in blocks, to find the nearest ones by.
//!
//! A search goes through it twice. The first pass counts in how many dimensions signs differ from the query's, for every
//! document: 48 bytes each at 384 dimensions. The second one compares the vectors themselves, which records have in four bits
//! a dimension, for the documents that the first pass found best: [`MARGIN`] times as many as are wanted, so that a collection
//! of fewer documents is searched exactly.
//!
//! A block has the documents whose numbers are equal but for the last nine bits:
//!
//! ```text
//!   0  "SIGN"
//!   4  words of a vector's signs  u16
//!  48  which of the 512 documents have a vector: a bit each
//! 112  signs, in tiles of 16 documents
//! ```
//!
//! LMDB puts a large value 16 bytes into a page: tiles then begin on a cache line. Whatever is in the column follows from the
//! records, so a digest leaves it out, and a store that keeps none is as good but for searching.

use crate::group::u32s;
use crate::record;
use becr_footprint::signs::{
    packed_dot, packed_signs, set_signs, sign_distances, signs, signs_at, tile_bytes,
};

/// Documents of a block.
pub const BLOCK_DOCUMENTS: usize = 512;
/// The second pass looks at so many times the documents that are wanted...
pub const MARGIN: usize = 10;
/// ...and at least at so many.
const LEAST: usize = 500;

const MAGIC: &[u8; 4] = b"SIGN";
const WORDS: std::ops::Range<usize> = 4..6;
const PRESENT: std::ops::Range<usize> = 48..48 + BLOCK_DOCUMENTS / 8;
const TILES: usize = PRESENT.end;
/// More documents at one distance than these times the wanted ones are no longer told apart.
const TIES: usize = 8;

/// A document that is near to a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// Its number.
    pub number: u64,
    /// The cosine of its vector and the query's.
    pub similarity: f32,
}

/// The key of the block that has a document.
pub fn key(number: u64) -> u64 {
    number / BLOCK_DOCUMENTS as u64
}

/// The signs of the vector of a document, by its record, which is not checked; `None` if it has no direction.
pub fn record_signs(record: &[u8]) -> Option<Vec<u32>> {
    packed_signs(u32s(record::mean(record)))
}

/// A block whose bytes are not those of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamagedBlock;

/// A block as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct SignBlock<'a> {
    bytes: &'a [u8],
    words: usize,
}

impl<'a> SignBlock<'a> {
    /// Takes bytes as a block.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DamagedBlock> {
        let head = bytes.get(..TILES).ok_or(DamagedBlock)?;
        let words = usize::from(u16::from_le_bytes([
            head[WORDS.start],
            head[WORDS.start + 1],
        ]));
        let is_whole = head.starts_with(MAGIC) && bytes.len() == TILES + tiles_bytes(words);
        let block = Self { bytes, words };
        is_whole.then_some(block).ok_or(DamagedBlock)
    }

    /// The signs at a place; `None` where no document has a vector.
    pub fn signs(&self, place: usize) -> Option<Vec<u32>> {
        self.is_present(place)
            .then(|| signs_at(&self.bytes[TILES..], place, self.words))
    }

    fn is_present(&self, place: usize) -> bool {
        self.bytes[PRESENT.start + place / 8] >> (place % 8) & 1 == 1
    }
}

fn tiles_bytes(words: usize) -> usize {
    BLOCK_DOCUMENTS / 16 * tile_bytes(words)
}

/// A block after a change: each document's new signs, or none. `None` if no document of it has a vector then.
pub fn changed(
    old: Option<&[u8]>,
    words: usize,
    changes: &[(u64, Option<Vec<u32>>)],
) -> Result<Option<Vec<u8>>, DamagedBlock> {
    let mut block = match old {
        Some(old) => {
            if SignBlock::read(old)?.words != words {
                return Err(DamagedBlock);
            }
            old.to_vec()
        }
        None => {
            let mut new = vec![0; TILES + tiles_bytes(words)];
            new[..4].copy_from_slice(MAGIC);
            new[WORDS].copy_from_slice(&(words as u16).to_le_bytes());
            new
        }
    };
    let nothing = vec![0; words];
    for (number, signs) in changes {
        let place = (number % BLOCK_DOCUMENTS as u64) as usize;
        let (byte, bit) = (PRESENT.start + place / 8, 1 << (place % 8));
        let signs = signs.as_ref().filter(|signs| signs.len() == words);
        match signs {
            Some(_) => block[byte] |= bit,
            None => block[byte] &= !bit,
        }
        set_signs(&mut block[TILES..], place, signs.unwrap_or(&nothing));
    }
    let is_empty = block[PRESENT].iter().all(|&byte| byte == 0);
    Ok((!is_empty).then_some(block))
}

/// A search of the column, block by block.
pub struct SignScan<'q> {
    vector: &'q [f32],
    signs: Vec<u32>,
    wanted: usize,
    /// How many the second pass looks at.
    keep: usize,
    /// Documents that differ in more dimensions are not among the best.
    limit: u16,
    found: Vec<(u16, u64)>,
    distances: Vec<u16>,
}

impl<'q> SignScan<'q> {
    /// For the `wanted` documents nearest to a vector.
    pub fn new(vector: &'q [f32], wanted: usize) -> Self {
        let keep = wanted.saturating_mul(MARGIN).max(LEAST);
        Self {
            vector,
            signs: signs(vector),
            wanted,
            keep,
            limit: u16::MAX,
            found: Vec::new(),
            distances: vec![0; BLOCK_DOCUMENTS],
        }
    }

    /// Whether there is a direction to look in.
    pub fn is_empty(&self) -> bool {
        self.wanted == 0 || self.vector.iter().all(|x| *x == 0.0)
    }

    /// The first pass over one block.
    pub fn block(&mut self, key: u64, bytes: &[u8]) -> Result<(), DamagedBlock> {
        let block = SignBlock::read(bytes)?;
        let measured = sign_distances(&bytes[TILES..], &self.signs, &mut self.distances);
        measured.map_err(|_| DamagedBlock)?;
        let first = key * BLOCK_DOCUMENTS as u64;
        for (part, distances) in self.distances.chunks_exact(64).enumerate() {
            // Nearly always there is none: one comparison of registers says so.
            let limit = self.limit;
            let near = distances.iter().fold(false, |near, d| near | (*d <= limit));
            if !near {
                continue;
            }
            for (at, &distance) in distances.iter().enumerate() {
                let place = 64 * part + at;
                if distance <= limit && block.is_present(place) {
                    self.found.push((distance, first + place as u64));
                }
            }
        }
        if self.found.len() >= 4 * self.keep {
            self.narrow();
        }
        Ok(())
    }

    /// Keeps the best, and all that are as good as the last of them.
    fn narrow(&mut self) {
        if self.found.len() <= self.keep {
            return;
        }
        let (_, last, _) = self.found.select_nth_unstable(self.keep - 1);
        self.limit = last.0;
        let limit = self.limit;
        self.found.retain(|(distance, _)| *distance <= limit);
        // Thousands of equal documents must not be thousands of looks.
        if self.found.len() > TIES * self.keep {
            self.found.sort_unstable();
            self.found.truncate(self.keep);
        }
    }

    /// The second pass: numbers whose vectors are to be compared, in order.
    pub fn candidates(&mut self) -> Vec<u64> {
        self.narrow();
        let mut numbers: Vec<u64> = self.found.iter().map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The best of documents, by their records, which are not checked.
    pub fn nearest<'r>(&self, records: impl Iterator<Item = (u64, &'r [u8])>) -> Vec<Near> {
        let mut buffer = Vec::new();
        let compared = records.filter_map(|(number, bytes)| {
            let mean = record::mean(bytes);
            (!mean.is_empty()).then(|| Near {
                number,
                similarity: packed_dot(self.vector, u32s(mean), &mut buffer),
            })
        });
        best(compared.collect(), self.wanted)
    }
}

/// The nearest first, ties by number; as many as are wanted, and those that are as near as the last of them.
pub fn best(mut nears: Vec<Near>, wanted: usize) -> Vec<Near> {
    nears.sort_unstable_by(|a, b| {
        let by_similarity = b.similarity.total_cmp(&a.similarity);
        by_similarity.then(a.number.cmp(&b.number))
    });
    let Some(last) = wanted
        .checked_sub(1)
        .and_then(|last| nears.get(last))
        .copied()
    else {
        nears.truncate(wanted);
        return nears;
    };
    let mut count = wanted;
    while nears
        .get(count)
        .is_some_and(|near| near.similarity == last.similarity)
    {
        count += 1;
    }
    nears.truncate(count.min(wanted.saturating_mul(TIES)));
    nears
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Signs of 33 to 64 dimensions.
    const SIGNS: usize = 2;

    #[test]
    fn blocks_by_hand() {
        let one = changed(None, SIGNS, &[(513, Some(vec![7, 9]))])
            .unwrap()
            .unwrap();
        let block = SignBlock::read(&one).unwrap();
        assert_eq!((block.signs(1), block.signs(0)), (Some(vec![7, 9]), None));
        assert_eq!(one.len(), 112 + 512 * 8);
        let two = changed(Some(&one), SIGNS, &[(512, Some(vec![0, 0])), (513, None)]).unwrap();
        let two = two.unwrap();
        let block = SignBlock::read(&two).unwrap();
        assert_eq!((block.signs(1), block.signs(0)), (None, Some(vec![0, 0])));
        assert_eq!(changed(Some(&two), SIGNS, &[(512, None)]), Ok(None));
        assert_eq!(changed(Some(&two), SIGNS + 1, &[]), Err(DamagedBlock));
        assert!(SignBlock::read(&two[1..]).is_err() && SignBlock::read(&[]).is_err());
    }

    /// A column of these signs.
    fn column(signs: &[Vec<u32>]) -> Vec<(u64, Vec<u8>)> {
        let numbered: Vec<(u64, Option<Vec<u32>>)> =
            (0..).zip(signs.iter().cloned().map(Some)).collect();
        let blocks = numbered.chunks(BLOCK_DOCUMENTS).enumerate();
        blocks
            .map(|(key, block)| (key as u64, changed(None, SIGNS, block).unwrap().unwrap()))
            .collect()
    }

    fn first_pass(column: &[(u64, Vec<u8>)], vector: &[f32], wanted: usize) -> Vec<u64> {
        let mut scan = SignScan::new(vector, wanted);
        scan.keep = wanted;
        for (key, block) in column {
            scan.block(*key, block).unwrap();
        }
        scan.candidates()
    }

    proptest! {
        /// The first pass finds the documents with the fewest other signs, and all that tie with the last of them.
        #[test]
        fn the_first_pass_finds_the_nearest(
            count in 1usize..3000,
            wanted in 1usize..40,
            seed in any::<u64>(),
        ) {
            let mut random = becr_basics::SplitMix64::new(seed);
            let signs: Vec<Vec<u32>> = (0..count)
                .map(|_| (0..SIGNS).map(|_| random.next_u64() as u32).collect())
                .collect();
            let vector: Vec<f32> = (0..64).map(|_| (random.next_u64() >> 40) as f32 - 8_388_608.0).collect();
            let query = becr_footprint::signs::signs(&vector);
            let distance = |signs: &[u32]| -> u32 {
                signs.iter().zip(&query).map(|(a, b)| (a ^ b).count_ones()).sum()
            };
            let mut by_distance: Vec<u32> = signs.iter().map(|signs| distance(signs)).collect();
            by_distance.sort_unstable();
            let limit = by_distance[wanted.min(count) - 1];
            let expected: Vec<u64> = (0..count as u64)
                .filter(|&n| distance(&signs[n as usize]) <= limit)
                .collect();
            let found = first_pass(&column(&signs), &vector, wanted);
            match expected.len() > TIES * wanted {
                true => prop_assert_eq!(found.len(), wanted),
                false => prop_assert_eq!(found, expected),
            }
        }
    }

    #[test]
    fn ties_at_the_end_come_along() {
        let near = |number, similarity| Near { number, similarity };
        let all = vec![near(3, 0.5), near(1, 0.5), near(2, 0.75), near(4, 0.25)];
        assert_eq!(best(all.clone(), 1), [near(2, 0.75)]);
        assert_eq!(
            best(all.clone(), 2),
            [near(2, 0.75), near(1, 0.5), near(3, 0.5)]
        );
        assert_eq!(best(all.clone(), 9).len(), 4);
        assert_eq!(best(all, 0), []);
        let equal = (0..100).map(|number| near(number, 1.0)).collect();
        assert_eq!(best(equal, 3).len(), 3 * TIES);
    }

    /// A thousand times the same document, as in a collection of templates.
    #[test]
    fn equal_documents_are_not_all_looked_at() {
        let found = first_pass(&column(&vec![vec![5, 5]; 5000]), &[1.0; 64], 3);
        assert_eq!(found, [0, 1, 2]);
    }
}
