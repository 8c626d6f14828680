//! Records of neighbouring documents in one value: LMDB gives a value of more than half a page pages of its own, and what
//! the last of them has left is lost. Eight records share that loss.
//!
//! ```text
//!   0  "BLCK"
//!   8  checksum of the directory  u64
//!  16  directory: for each of 8 documents, where its record begins and its bytes, u32 each; no bytes: no record
//! 128  records, each at a multiple of 64 bytes
//! ```
//!
//! Numbers are little-endian. A record at a multiple of 64 has its footprints on a cache line, as one with a value of its own
//! has. Long records lose little, and a change writes the whole value: they are kept by themselves, under their numbers.
//! Blocks have keys of their own behind all of these.

use std::iter::from_fn;
use twox_hash::XxHash3_64;

/// Documents whose numbers differ in the last three bits share a block.
const SHIFT: u32 = 3;
const DOCUMENTS: usize = 1 << SHIFT;
/// Set in the keys of blocks.
pub(crate) const BLOCK: u64 = 1 << 63;
/// Longer records are kept by themselves.
pub(crate) const LONGEST: usize = 16 << 10;

const MAGIC: &[u8; 4] = b"BLCK";
const CHECKSUM: std::ops::Range<usize> = 8..16;
const DIRECTORY: std::ops::Range<usize> = 16..16 + 8 * DOCUMENTS;
const FIRST: usize = 128;
const LINE: usize = 64;

/// The key of the block that has a document's record, if it is in one.
pub(crate) fn key(number: u64) -> u64 {
    BLOCK | number >> SHIFT
}

/// The records of a block, by place.
pub(crate) type Records<'a> = [Option<&'a [u8]>; DOCUMENTS];

/// The place of a document in its block.
pub(crate) fn place(number: u64) -> usize {
    (number % DOCUMENTS as u64) as usize
}

/// The numbers of a block's documents, by its key.
pub(crate) fn numbers(key: u64) -> impl Iterator<Item = u64> {
    let first = (key & !BLOCK) << SHIFT;
    (0..DOCUMENTS as u64).map(move |place| first | place)
}

/// The record at a place; `Err` if the block is damaged.
pub(crate) fn record(block: &[u8], place: usize) -> Result<Option<&[u8]>, Damaged> {
    let directory = directory(block)?;
    entry(block, directory, place)
}

/// All records of a block.
pub(crate) fn records(block: &[u8]) -> Result<Records<'_>, Damaged> {
    let directory = directory(block)?;
    let mut records = [None; DOCUMENTS];
    for (place, record) in records.iter_mut().enumerate() {
        *record = entry(block, directory, place)?;
    }
    Ok(records)
}

/// A block whose directory is not what was written.
#[derive(Debug, PartialEq)]
pub(crate) struct Damaged;

fn directory(block: &[u8]) -> Result<&[u8], Damaged> {
    let directory = block.get(DIRECTORY).ok_or(Damaged)?;
    let checksum = XxHash3_64::oneshot(directory).to_le_bytes();
    let is_whole = block.starts_with(MAGIC) && block[CHECKSUM] == checksum;
    is_whole.then_some(directory).ok_or(Damaged)
}

fn entry<'a>(block: &'a [u8], directory: &[u8], place: usize) -> Result<Option<&'a [u8]>, Damaged> {
    let numbers = directory.as_chunks::<4>().0;
    let number = |at: usize| u32::from_le_bytes(numbers[at]) as usize;
    let (start, bytes) = (number(2 * place), number(2 * place + 1));
    match bytes {
        0 => Ok(None),
        _ => block.get(start..start + bytes).map(Some).ok_or(Damaged),
    }
}

/// The block of these records; `None` if there are none.
pub(crate) fn block(records: &Records<'_>) -> Option<Vec<u8>> {
    records.iter().flatten().next()?;
    let mut block = vec![0; FIRST];
    for (place, record) in records.iter().enumerate() {
        let Some(record) = record else {
            continue;
        };
        block.resize(block.len().next_multiple_of(LINE), 0);
        let (at, start) = (DIRECTORY.start + 8 * place, block.len() as u32);
        // Both fit: a block has eight records of at most LONGEST bytes.
        block[at..at + 4].copy_from_slice(&start.to_le_bytes());
        block[at + 4..at + 8].copy_from_slice(&(record.len() as u32).to_le_bytes());
        block.extend_from_slice(record);
    }
    block[..4].copy_from_slice(MAGIC);
    let checksum = XxHash3_64::oneshot(&block[DIRECTORY]);
    block[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    Some(block)
}

/// Two streams of numbered things, each in order, as one.
pub(crate) fn merged<T, E>(
    first: impl Iterator<Item = Result<(u64, T), E>>,
    second: impl Iterator<Item = Result<(u64, T), E>>,
) -> impl Iterator<Item = Result<(u64, T), E>> {
    let (mut first, mut second) = (first.peekable(), second.peekable());
    from_fn(move || {
        let number = |row: Option<&Result<(u64, T), E>>| match row {
            Some(Ok((number, _))) => *number,
            Some(Err(_)) => 0,
            None => u64::MAX,
        };
        match number(first.peek()) <= number(second.peek()) {
            true => first.next().or_else(|| second.next()),
            false => second.next(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_back(lengths in prop::array::uniform8(0usize..3000)) {
            let bytes: Vec<Vec<u8>> = lengths.iter().map(|&n| (0..n).map(|at| (at * 7 + n) as u8).collect()).collect();
            let mut given = [None; DOCUMENTS];
            for (record, bytes) in given.iter_mut().zip(&bytes) {
                *record = (!bytes.is_empty()).then_some(bytes.as_slice());
            }
            let Some(block) = block(&given) else {
                prop_assert!(lengths.iter().all(|&n| n == 0));
                return Ok(());
            };
            prop_assert_eq!(records(&block).unwrap(), given);
            for (place, record) in given.iter().enumerate() {
                prop_assert_eq!(super::record(&block, place).unwrap(), *record);
                if let Some(found) = super::record(&block, place).unwrap() {
                    prop_assert_eq!((found.as_ptr() as usize - block.as_ptr() as usize) % LINE, 0);
                }
            }
        }

        /// A changed byte of the first 80 is found; no bytes at all are a panic.
        #[test]
        fn damage_is_seen(at in 0usize..80, bit in 0u8..8, noise in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = block(&[Some(&[7; 100][..]); DOCUMENTS]).unwrap();
            bytes[at] ^= 1 << bit;
            let reserved = (4..8).contains(&at);
            prop_assert_eq!(records(&bytes).is_err(), !reserved);
            let _ = records(&noise);
        }
    }

    #[test]
    fn keys_of_blocks_are_behind_all_numbers() {
        assert_eq!(key(0), BLOCK);
        assert_eq!(key(17), BLOCK | 2);
        assert_eq!(place(17), 1);
        assert!(numbers(key(17)).eq(16..24));
    }

    #[test]
    fn streams_are_merged_by_number() {
        let rows = |numbers: &[u64]| {
            numbers
                .iter()
                .map(|&n| Ok::<_, ()>((n, ())))
                .collect::<Vec<_>>()
        };
        let both = merged(rows(&[1, 5, 9]).into_iter(), rows(&[2, 3, 10]).into_iter());
        let numbers: Vec<u64> = both.map(|row| row.unwrap().0).collect();
        assert_eq!(numbers, [1, 2, 3, 5, 9, 10]);
    }
}
