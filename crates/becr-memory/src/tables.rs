//! Rows of bytes in several versions: each generation sees its own.

use becr_store::Table;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The tables of a store, with as much of their past as somebody can still see.
#[derive(Default)]
pub(crate) struct Tables {
    rows: BTreeMap<Table, BTreeMap<Vec<u8>, Vec<Version>>>,
    /// What is not seen by a generation any more, nor by later ones.
    outdated: VecDeque<(u64, Table, Vec<u8>)>,
}

/// What a row says from a generation on.
struct Version {
    since: u64,
    /// `None` if it was deleted.
    value: Option<Arc<[u8]>>,
}

impl Tables {
    /// A row as a generation sees it.
    pub(crate) fn get(&self, table: Table, key: &[u8], generation: u64) -> Option<Arc<[u8]>> {
        seen(self.rows.get(&table)?.get(key)?, generation).cloned()
    }

    /// All rows that a generation sees, in the order of their keys.
    pub(crate) fn iter(
        &self,
        table: Table,
        generation: u64,
    ) -> impl Iterator<Item = (&Vec<u8>, &Arc<[u8]>)> {
        let rows = self.rows.get(&table).into_iter().flatten();
        rows.filter_map(move |(key, versions)| Some((key, seen(versions, generation)?)))
    }

    /// Writes a row, or deletes it, for a generation and all later ones.
    pub(crate) fn set(&mut self, table: Table, key: &[u8], value: Option<&[u8]>, generation: u64) {
        let versions = self.rows.entry(table).or_default();
        let versions = versions.entry(key.to_vec()).or_default();
        versions.retain(|version| version.since < generation);
        versions.push(Version {
            since: generation,
            value: value.map(Arc::from),
        });
        self.outdated.push_back((generation, table, key.to_vec()));
    }

    /// Forgets what no generation from `oldest` on sees.
    pub(crate) fn forget(&mut self, oldest: u64) {
        // They were put in by the order of their generations.
        let count = self.outdated.partition_point(|row| row.0 <= oldest);
        for (_, table, key) in self.outdated.drain(..count) {
            let Some(rows) = self.rows.get_mut(&table) else {
                continue;
            };
            if let Some(versions) = rows.get_mut(&key) {
                let newer = versions.partition_point(|version| version.since <= oldest);
                versions.drain(..newer.saturating_sub(1));
                if let [Version { value: None, .. }] = versions[..] {
                    rows.remove(&key);
                }
            }
        }
    }

    /// How many versions of rows there are.
    #[cfg(test)]
    pub(crate) fn versions(&self) -> usize {
        self.rows.values().flatten().map(|row| row.1.len()).sum()
    }
}

/// The version that a generation sees: the last that is not younger.
fn seen(versions: &[Version], generation: u64) -> Option<&Arc<[u8]>> {
    let newer = versions.partition_point(|version| version.since <= generation);
    versions[..newer].last()?.value.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_sees_its_own() {
        let mut tables = Tables::default();
        tables.set(Table::Ids, b"a", Some(b"1"), 1);
        tables.set(Table::Ids, b"a", Some(b"2"), 2);
        tables.set(Table::Ids, b"a", None, 4);
        let seen = |tables: &Tables, generation| {
            let value = tables.get(Table::Ids, b"a", generation);
            value.map(|value| value[0])
        };
        let all = |tables: &Tables| [0, 1, 2, 3, 4].map(|generation| seen(tables, generation));
        assert_eq!(
            all(&tables),
            [None, Some(b'1'), Some(b'2'), Some(b'2'), None]
        );
        assert_eq!(tables.iter(Table::Ids, 3).count(), 1);
        tables.forget(3);
        assert_eq!(all(&tables)[3..], [Some(b'2'), None]);
        assert_eq!(tables.versions(), 2);
        tables.forget(4);
        assert_eq!(tables.versions(), 0);
    }
}
