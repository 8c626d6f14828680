//! Which words of a document matter to a query: asked for every word, so it must be fast.

use becr_store::ForwardIndex;

/// What a word of the vocabulary is to the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The query stem it has.
    pub(crate) stem: Option<u32>,
    /// The query word that it is, letter by letter.
    pub(crate) word: Option<u32>,
}

/// A hash table from the codes of words ([`ForwardIndex::code`]) to their meaning, at most an eighth full: nearly
/// every word of a document is looked for and not there, which a single look should tell.
#[derive(Debug, Clone)]
pub(crate) struct WordMap {
    /// `EMPTY` where there is none.
    codes: Vec<u64>,
    meanings: Vec<Meaning>,
    shift: u32,
}

/// Slots of the smallest table: a quarter of the first-level cache, so that hardly a word meets another.
const LEAST: usize = 1024;

/// No word has this code: codes are of five bytes at most.
const EMPTY: u64 = u64::MAX;

impl WordMap {
    /// Words by number, each once.
    pub(crate) fn new(entries: &[(u32, Meaning)]) -> Self {
        let size = (8 * entries.len()).next_power_of_two().max(LEAST);
        let nothing = Meaning {
            stem: None,
            word: None,
        };
        let mut map = Self {
            codes: vec![EMPTY; size],
            meanings: vec![nothing; size],
            shift: 64 - size.trailing_zeros(),
        };
        for &(number, meaning) in entries {
            let code = ForwardIndex::code(number);
            let mut slot = map.slot(code);
            while map.codes[slot] != EMPTY {
                slot = (slot + 1) & (size - 1);
            }
            map.codes[slot] = code;
            map.meanings[slot] = meaning;
        }
        map
    }

    #[inline(always)]
    fn slot(&self, code: u64) -> usize {
        // Multiplicative hashing: the high bits of the product are the well mixed ones.
        (code.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// What the word of a code is to the query.
    #[inline(always)]
    pub(crate) fn get(&self, code: u64) -> Option<Meaning> {
        let mut slot = self.slot(code);
        loop {
            match self.codes[slot] {
                EMPTY => return None,
                known if known == code => return Some(self.meanings[slot]),
                _ => slot = (slot + 1) & (self.codes.len() - 1),
            }
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
                prop_assert_eq!(map.get(ForwardIndex::code(*word)), reference.get(word).copied());
            }
        }
    }
}
