//! A row of a store that is a map of keys and values, as Redis is: since when it is what it is, what it was before, and a
//! checksum that binds it to its key.
//!
//! ```text
//!  0  since   u64   the generation that wrote it
//!  8  before  u64   the generation that wrote what it was before; all ones if it was not there
//! 16  before        the same with every bit turned round: the server writes both, which can compute no checksum
//! 24  lives   u8    1, or 0 if that generation deleted it
//! 25  sum     u64   checksum of the key, `since`, `lives` and the value
//! 33  the value
//! ```
//!
//! Numbers have their high bytes first. The checksum is over the row's own key also where it is kept under another one, as
//! what the row was: so a row that came to be under another key is found, and so is one of another index or edition, whose
//! names are part of the key. Of a record it is over the first bytes, which hold the record's own checksum: whoever uses
//! the record checks that, and would read it twice.

use crate::Table;
use crate::record::FOOTPRINTS;
use twox_hash::XxHash3_64;

/// Bytes before the value.
pub const HEADER: usize = 33;
/// There was nothing before.
pub const NOTHING: u64 = u64::MAX;

const LIVES: usize = 24;
const SUM: std::ops::Range<usize> = 25..HEADER;

/// A row as somebody sees it who looks at one generation.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen<'a> {
    /// It is there.
    Value(&'a [u8]),
    /// It is not.
    Nothing,
    /// It was changed since: look at what was written by this generation.
    Older(u64),
}

/// A row that nothing was before.
pub fn new(key: &[u8], table: Table, since: u64, value: &[u8]) -> Vec<u8> {
    let before = NOTHING.to_be_bytes();
    let since_bytes = since.to_be_bytes();
    let turned = before.map(|byte| !byte);
    let rest = rest(key, table, since, Some(value));
    [&since_bytes[..], &before, &turned, &rest].concat()
}

/// A row from `lives` on: what a writer can tell who does not know what was before. Without a value the row is deleted.
pub fn rest(key: &[u8], table: Table, since: u64, value: Option<&[u8]>) -> Vec<u8> {
    let lives = u8::from(value.is_some());
    let value = value.unwrap_or_default();
    let sum = sum(key, table, since, lives, value).to_be_bytes();
    [&[lives][..], &sum, value].concat()
}

/// A row under a key as `generation` sees it; `None` if it is not what was written under this key.
pub fn see<'a>(bytes: &'a [u8], key: &[u8], table: Table, generation: u64) -> Option<Seen<'a>> {
    let (header, value) = bytes.split_at_checked(HEADER)?;
    let (since, before) = generations(header)?;
    let lives = header[LIVES];
    let written = u64::from_be_bytes(header[SUM].try_into().ok()?);
    if written != sum(key, table, since, lives, value) {
        return None;
    }
    Some(match (since > generation, lives) {
        (true, _) if before == NOTHING => Seen::Nothing,
        (true, _) => Seen::Older(before),
        (false, 0) => Seen::Nothing,
        (false, _) => Seen::Value(value),
    })
}

/// Whether a row is there in its newest state, by its header alone; `None` if that cannot be read.
pub fn lives(header: &[u8]) -> Option<bool> {
    generations(header)?;
    match header.get(LIVES)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// The generations that wrote a row and what was before.
fn generations(header: &[u8]) -> Option<(u64, u64)> {
    let number = |at: usize| Some(u64::from_be_bytes(header.get(at..at + 8)?.try_into().ok()?));
    let (since, before) = (number(0)?, number(8)?);
    (number(16)? == !before).then_some((since, before))
}

fn sum(key: &[u8], table: Table, since: u64, lives: u8, value: &[u8]) -> u64 {
    let covered = match table {
        Table::Records => &value[..value.len().min(FOOTPRINTS)],
        _ => value,
    };
    let mut about = [0; 17];
    about[..8].copy_from_slice(&since.to_be_bytes());
    about[8..16].copy_from_slice(&(value.len() as u64).to_be_bytes());
    about[16] = lives;
    let of_key = XxHash3_64::oneshot(key);
    let of_key = XxHash3_64::oneshot_with_seed(of_key, &about);
    XxHash3_64::oneshot_with_seed(of_key, covered)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: Table = Table::Words;

    /// A row as the server puts it together.
    fn row(key: &[u8], since: u64, before: u64, value: Option<&[u8]>) -> Vec<u8> {
        let (before, turned) = (before.to_be_bytes(), (!before).to_be_bytes());
        let rest = rest(key, WORDS, since, value);
        [&since.to_be_bytes()[..], &before, &turned, &rest].concat()
    }

    #[test]
    fn each_generation_sees_its_own() {
        let changed = row(b"k", 5, 3, Some(b"value"));
        let see = |row, generation| super::see(row, b"k", WORDS, generation);
        assert_eq!(see(&changed, 5), Some(Seen::Value(b"value")));
        assert_eq!(see(&changed, 4), Some(Seen::Older(3)));
        let new = new(b"k", WORDS, 5, b"");
        assert_eq!(see(&new, 4), Some(Seen::Nothing));
        assert_eq!(see(&new, 9), Some(Seen::Value(b"")));
        let deleted = row(b"k", 5, 3, None);
        assert_eq!(see(&deleted, 5), Some(Seen::Nothing));
        assert_eq!(lives(&deleted[..HEADER]), Some(false));
        assert_eq!(lives(&new), Some(true));
        assert_eq!(lives(b""), None);
    }

    #[test]
    fn every_changed_bit_and_every_cut_is_seen() {
        let whole = row(b"k", 5, 3, Some(b"value"));
        for generation in [4, 5] {
            for bit in 0..whole.len() * 8 {
                let mut bytes = whole.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(see(&bytes, b"k", WORDS, generation), None, "bit {bit}");
            }
            for length in 0..whole.len() {
                assert_eq!(see(&whole[..length], b"k", WORDS, generation), None);
            }
            let longer = [&whole[..], b"x"].concat();
            assert_eq!(see(&longer, b"k", WORDS, generation), None);
        }
    }

    #[test]
    fn a_row_under_another_key_is_none() {
        let here = row(b"here", 5, 3, Some(b"value"));
        assert!(see(&here, b"here", WORDS, 5).is_some());
        assert_eq!(see(&here, b"there", WORDS, 5), None);
        assert_eq!(see(&here, b"there", WORDS, 4), None);
    }

    /// Of a record the sum is over what holds the record's own checksum, and over its length.
    #[test]
    fn a_record_is_bound_by_its_own_checksum() {
        let record: Vec<u8> = (0..100).collect();
        let whole = new(b"k", Table::Records, 1, &record);
        let see = |bytes: &[u8]| super::see(bytes, b"k", Table::Records, 1).is_some();
        assert!(see(&whole));
        assert!(!see(&whole[..whole.len() - 1]));
        for at in 0..HEADER + FOOTPRINTS {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(!see(&bytes), "{at}");
        }
    }
}
