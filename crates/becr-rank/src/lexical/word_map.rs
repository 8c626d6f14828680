//! Which words of a document matter to a query: asked for every word, so it must be fast.

/// What a word of the vocabulary is to the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The query stem it has.
    pub(crate) stem: Option<u32>,
    /// The query word that it is, letter by letter.
    pub(crate) word: Option<u32>,
}

/// A hash table from word numbers to their meaning, at most a quarter full.
#[derive(Debug, Clone)]
pub(crate) struct WordMap {
    /// Word number and place in `meanings`; `EMPTY` where there is none.
    slots: Vec<(u32, u32)>,
    shift: u32,
    meanings: Vec<Meaning>,
}

const EMPTY: u32 = u32::MAX;

impl WordMap {
    /// Words by number, each once.
    pub(crate) fn new(entries: &[(u32, Meaning)]) -> Self {
        let size = (4 * entries.len()).next_power_of_two().max(64);
        let mut map = Self {
            slots: vec![(0, EMPTY); size],
            shift: 32 - size.trailing_zeros(),
            meanings: entries.iter().map(|(_, meaning)| *meaning).collect(),
        };
        for (at, &(number, _)) in entries.iter().enumerate() {
            let mut slot = map.slot(number);
            while map.slots[slot].1 != EMPTY {
                slot = (slot + 1) & (size - 1);
            }
            map.slots[slot] = (number, at as u32);
        }
        map
    }

    #[inline(always)]
    fn slot(&self, number: u32) -> usize {
        // Multiplicative hashing: the high bits of the product are the well mixed ones.
        (number.wrapping_mul(0x9E37_79B9) >> self.shift) as usize
    }

    /// What the word is to the query.
    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> Option<Meaning> {
        let mut slot = self.slot(number);
        loop {
            let (known, at) = self.slots[slot];
            if at == EMPTY {
                return None;
            }
            if known == number {
                return Some(self.meanings[at as usize]);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
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
