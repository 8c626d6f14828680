//! Counts in one block of memory of known size.
//!
//! An open-addressing hash table rather than the standard one, because its memory is the budget: the
//! slots are sorted where they lie when a run is written, so that no second copy is ever needed, and it
//! never grows past its limit unless a single document asks for it.

use becr_basics::mix;

/// One counted group: `key` is what [`crate::counter`] made of it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) key: u64,
    /// Zero marks a free slot.
    pub(crate) occurrences: u64,
    pub(crate) documents: u32,
    /// The last document that had it, so that each document counts once.
    last: u32,
}

#[derive(Debug)]
pub(crate) struct Table {
    slots: Vec<Tally>,
    used: usize,
    most_slots: usize,
}

const FEWEST_SLOTS: usize = 64;

impl Table {
    /// A table that stays within `bytes`.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            slots: Vec::new(),
            used: 0,
            most_slots: (bytes / size_of::<Tally>()).max(FEWEST_SLOTS),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Makes room for `more` keys and says whether it could. It always can when it is empty.
    pub(crate) fn make_room(&mut self, more: usize) -> bool {
        let needed = slots_for(self.used + more);
        if needed <= self.slots.len() {
            return true;
        }
        if self.is_empty() {
            // One document may need more than the budget; the next spill gives that back.
            self.slots = Vec::new();
            let wanted = needed.saturating_mul(2).min(self.most_slots).max(needed);
            self.slots = vec![Tally::default(); wanted];
            return true;
        }
        // Old and new live side by side for a moment: both count.
        let wanted = needed.max(self.slots.len() * 2);
        let wanted = wanted.min(self.most_slots.saturating_sub(self.slots.len()));
        if wanted < needed {
            return false;
        }
        let old = std::mem::replace(&mut self.slots, vec![Tally::default(); wanted]);
        for tally in old.into_iter().filter(|tally| tally.occurrences > 0) {
            let at = self.find(tally.key);
            self.slots[at] = tally;
        }
        true
    }

    /// Counts one occurrence of `key` in a document. There must be room for it.
    pub(crate) fn add(&mut self, key: u64, document: u32) {
        let at = self.find(key);
        let tally = &mut self.slots[at];
        if tally.occurrences == 0 {
            self.used += 1;
            *tally = Tally {
                key,
                occurrences: 1,
                documents: 1,
                last: document,
            };
            return;
        }
        tally.occurrences += 1;
        tally.documents += u32::from(tally.last != document);
        tally.last = document;
    }

    /// All tallies in the order of `rank`, which also replaces their keys. The table is unusable until
    /// [`Table::clear`].
    pub(crate) fn sort_by(&mut self, rank: impl Fn(u64) -> u64) -> &[Tally] {
        let mut next = 0;
        for at in 0..self.slots.len() {
            if self.slots[at].occurrences > 0 {
                self.slots.swap(next, at);
                self.slots[next].key = rank(self.slots[next].key);
                next += 1;
            }
        }
        let tallies = &mut self.slots[..next];
        tallies.sort_unstable_by_key(|tally| tally.key);
        tallies
    }

    /// Forgets everything; a table that had to exceed its limit, or had not reached it, gets it now.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        if self.slots.len() == self.most_slots {
            self.slots.fill(Tally::default());
        } else {
            self.slots = Vec::new();
            self.slots = vec![Tally::default(); self.most_slots];
        }
    }

    /// The slot of `key`, or the free one where it belongs.
    fn find(&self, key: u64) -> usize {
        // The high bits of the product spread over any number of slots, not only powers of two.
        let mut at = ((u128::from(mix(key)) * self.slots.len() as u128) >> 64) as usize;
        while self.slots[at].occurrences > 0 && self.slots[at].key != key {
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
        at
    }
}

/// Slots that hold `keys` with a fifth of them free.
fn slots_for(keys: usize) -> usize {
    keys.saturating_add(keys / 4).max(FEWEST_SLOTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn counts_as_a_map_does_and_never_outgrows_its_limit() {
        let limit = 1000 * size_of::<Tally>();
        let mut table = Table::new(limit);
        let mut expected: BTreeMap<u64, (u64, u32)> = BTreeMap::new();
        let mut document = 0;
        while table.make_room(10) {
            document += 1;
            for i in 0..10 {
                let key = u64::from(document * 7 + i) << 32 | 5;
                table.add(key, document);
                table.add(key, document);
                let entry = expected.entry(key).or_default();
                *entry = (entry.0 + 2, entry.1 + 1);
            }
        }
        assert!(
            table.slots.len() <= 1000 && expected.len() > 300,
            "{}",
            expected.len()
        );
        let sorted: Vec<_> = table
            .sort_by(|key| !key)
            .iter()
            .rev()
            .map(|t| (!t.key, (t.occurrences, t.documents)))
            .collect();
        assert_eq!(sorted, expected.into_iter().collect::<Vec<_>>());
        table.clear();
        assert!(table.is_empty() && table.slots.len() == 1000);
        assert!(table.sort_by(|key| key).is_empty());
    }

    #[test]
    fn an_empty_table_makes_room_for_any_document() {
        let mut table = Table::new(0);
        assert!(table.make_room(10_000));
        (0..10_000).for_each(|key| table.add(key, 1));
        assert!(!table.make_room(10_000));
        table.clear();
        assert_eq!(table.slots.len(), FEWEST_SLOTS);
    }
}
