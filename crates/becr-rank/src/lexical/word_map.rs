//! Which words of a document matter to a query.

use becr_store::Wanted;

/// What a word of the vocabulary is to the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The query stem it has.
    pub(crate) stem: Option<u32>,
    /// The query word that it is, letter by letter.
    pub(crate) word: Option<u32>,
}

/// The words of the vocabulary that matter to a query, by number.
#[derive(Debug, Clone)]
pub(crate) struct WordMap {
    /// What documents are searched for.
    pub(crate) wanted: Wanted,
    /// A hash table, at most half full.
    slots: Vec<Option<(u32, Meaning)>>,
}

impl WordMap {
    /// Words by number, each once.
    pub(crate) fn new(entries: &[(u32, Meaning)]) -> Self {
        let mut slots = vec![None; (2 * entries.len()).next_power_of_two()];
        let last = slots.len() - 1;
        for &entry in entries {
            let mut slot = hash(entry.0) & last;
            while slots[slot].is_some() {
                slot = (slot + 1) & last;
            }
            slots[slot] = Some(entry);
        }
        let wanted = Wanted::new(entries.iter().map(|(number, _)| *number));
        Self { wanted, slots }
    }

    /// What a word is to the query.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<Meaning> {
        let last = self.slots.len() - 1;
        let mut slot = hash(number) & last;
        loop {
            match self.slots[slot]? {
                (known, meaning) if known == number => return Some(meaning),
                _ => slot = (slot + 1) & last,
            }
        }
    }
}

/// Multiplicative hashing: the high half of the product has the well mixed bits.
fn hash(number: u32) -> usize {
    (u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn finds_what_was_put_in(numbers in prop::collection::hash_set(any::<u32>(), 0..300), others in prop::collection::vec(any::<u32>(), 50)) {
            let meaning = |n: usize| Meaning { stem: Some(n as u32), word: None };
            let entries: Vec<_> = numbers.iter().enumerate().map(|(n, &w)| (w, meaning(n))).collect();
            let map = WordMap::new(&entries);
            let reference: HashMap<u32, Meaning> = entries.iter().copied().collect();
            for word in numbers.iter().chain(&others) {
                prop_assert_eq!(map.get(*word), reference.get(word).copied());
            }
        }
    }
}
