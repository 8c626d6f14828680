//! How rows become keys, and keys slots.
//!
//! ```text
//! becr:{NAME}:meta                          what the index is: its current edition and generation
//! becr:{NAME}:lease, :token, :partial       the writer's lease, the last token, an export that is not finished
//! becr:{NAME.MODEL.EDITION.BUCKET}:mark     there as long as the bucket's data is; raised by each writer
//! becr:{NAME.MODEL.EDITION.BUCKET}:RKEY     a row: R is the letter of its table
//! becr:{NAME.MODEL.EDITION.BUCKET}:o8:RKEY  what the row was from generation 8 on, for readers of then
//! becr:{NAME.MODEL.EDITION.BUCKET}:p9       the rows that generation 9 changed
//! becr:{NAME.MODEL.EDITION.files}:FILE      becr.json, head, tokenizer and so on
//! ```
//!
//! What stands between the braces decides the slot, so a bucket lies in one slot and on one node: its rows can be asked for
//! in one command and changed in one step. Documents go by their number, a record with its id and its text; everything
//! else by a hash of its key. There are as many buckets as [`BUCKETS`], so that up to some hundred nodes get about the
//! same share.

use crate::slots::slot_of;
use becr_store::Table;
use twox_hash::XxHash3_64;

/// Buckets of an index unless said otherwise.
pub(crate) const BUCKETS: u32 = 1024;

/// All tables, in the order in which their rows are counted.
pub(crate) const TABLES: [Table; 9] = [
    Table::Records,
    Table::Numbers,
    Table::Ids,
    Table::Texts,
    Table::Words,
    Table::Spellings,
    Table::Stems,
    Table::Pairs,
    Table::Groups,
];

/// The place of a table in [`TABLES`].
pub(crate) fn place(table: Table) -> usize {
    table as usize
}

fn letter(table: Table) -> char {
    ['R', 'N', 'I', 'T', 'W', 'S', 'M', 'P', 'G'][place(table)]
}

/// Whether a table's keys are numbers.
pub(crate) fn is_numbered(table: Table) -> bool {
    matches!(
        table,
        Table::Records | Table::Ids | Table::Texts | Table::Spellings
    )
}

/// The names of an edition's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Namespace {
    /// NAME.MODEL.EDITION
    prefix: String,
    buckets: u32,
}

/// A bucket of an edition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bucket(pub(crate) u32);

impl Namespace {
    pub(crate) fn new(name: &str, encoder_id: &str, edition: u64, buckets: u32) -> Self {
        let model = XxHash3_64::oneshot(encoder_id.as_bytes()) as u32;
        Self {
            prefix: format!("{name}.{model:08x}.{edition}"),
            buckets: buckets.max(1),
        }
    }

    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket> {
        (0..self.buckets).map(Bucket)
    }

    /// The bucket of a row.
    pub(crate) fn bucket(&self, table: Table, key: &[u8]) -> Bucket {
        let number = match is_numbered(table) {
            true => number(key),
            false => XxHash3_64::oneshot(key),
        };
        Bucket((number % u64::from(self.buckets)) as u32)
    }

    pub(crate) fn slot(&self, bucket: Bucket) -> u16 {
        slot_of(format!("{}.{}", self.prefix, bucket.0).as_bytes())
    }

    fn in_bucket(&self, bucket: Bucket) -> String {
        format!("becr:{{{}.{}}}:", self.prefix, bucket.0)
    }

    pub(crate) fn mark(&self, bucket: Bucket) -> Vec<u8> {
        (self.in_bucket(bucket) + "mark").into_bytes()
    }

    /// The rows that a generation changed.
    pub(crate) fn changes(&self, bucket: Bucket, generation: u64) -> Vec<u8> {
        format!("{}p{generation}", self.in_bucket(bucket)).into_bytes()
    }

    /// The key of a row as it is now.
    pub(crate) fn row(&self, bucket: Bucket, table: Table, key: &[u8]) -> Vec<u8> {
        let mut row = self.in_bucket(bucket).into_bytes();
        push_row(table, key, &mut row);
        row
    }

    /// The key of a row as it was from a generation on.
    pub(crate) fn old(&self, bucket: Bucket, since: u64, table: Table, key: &[u8]) -> Vec<u8> {
        let mut row = format!("{}o{since}:", self.in_bucket(bucket)).into_bytes();
        push_row(table, key, &mut row);
        row
    }

    /// What matches the keys of all rows of a table, as `SCAN` takes it.
    pub(crate) fn pattern(&self, table: Table) -> String {
        format!("becr:{{{}.*}}:{}*", self.prefix, letter(table))
    }

    /// What matches all keys of the edition.
    pub(crate) fn everything(&self) -> String {
        format!("becr:{{{}.*}}:*", self.prefix)
    }

    /// The row's key from the cluster's; `None` if it is none of that table.
    pub(crate) fn of_row<'k>(&self, table: Table, key: &'k [u8]) -> Option<&'k [u8]> {
        let end = key.iter().position(|&byte| byte == b'}')?;
        key.get(end + 2..)?.strip_prefix(&[letter(table) as u8])
    }

    pub(crate) fn file(&self, name: &str) -> Vec<u8> {
        format!("becr:{{{}.files}}:{name}", self.prefix).into_bytes()
    }

    pub(crate) fn file_slot(&self) -> u16 {
        slot_of(format!("{}.files", self.prefix).as_bytes())
    }
}

/// Numbers are written out, so that people find a document's record.
fn push_row(table: Table, key: &[u8], row: &mut Vec<u8>) {
    row.push(letter(table) as u8);
    match is_numbered(table) {
        true => row.extend_from_slice(number(key).to_string().as_bytes()),
        false => row.extend_from_slice(key),
    }
}

/// The number that a key of a numbered table is.
pub(crate) fn number(key: &[u8]) -> u64 {
    key.first_chunk()
        .map_or(u64::MAX, |key| u64::from_be_bytes(*key))
}

/// The keys of an index that are in no edition.
pub(crate) struct IndexKeys<'n>(pub(crate) &'n str);

impl IndexKeys<'_> {
    pub(crate) fn key(&self, what: &str) -> Vec<u8> {
        format!("becr:{{{}}}:{what}", self.0).into_bytes()
    }

    pub(crate) fn slot(&self) -> u16 {
        slot_of(self.0.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_keys_of_their_own_in_the_slot_of_their_bucket() {
        let names = Namespace::new("wiki", "encoder-1", 3, 16);
        for (at, table) in TABLES.into_iter().enumerate() {
            assert_eq!(place(table), at);
            let key = 35_u64.to_be_bytes();
            let bucket = names.bucket(table, &key);
            let row = names.row(bucket, table, &key);
            let tag: Vec<u8> = row
                .iter()
                .copied()
                .skip_while(|b| *b != b'{')
                .skip(1)
                .take_while(|b| *b != b'}')
                .collect();
            assert_eq!(slot_of(&tag), names.slot(bucket));
            if !is_numbered(table) {
                assert_eq!(names.of_row(table, &row), Some(&key[..]));
            }
        }
        assert_eq!(
            names.bucket(Table::Records, &35_u64.to_be_bytes()),
            Bucket(3)
        );
        let key = names.row(Bucket(3), Table::Records, &35_u64.to_be_bytes());
        assert!(String::from_utf8(key).unwrap().ends_with(".3.3}:R35"));
    }
}
