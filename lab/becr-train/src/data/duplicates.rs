//! Near-duplicates: documents that share most of their words.
//!
//! A collection may hold the same text twice under two ids. One of them judged relevant, the other would be taught
//! as irrelevant.

/// The words of a document, each once, as sorted numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WordSet(Vec<u32>);

impl WordSet {
    pub(crate) fn new(words: impl Iterator<Item = u32>) -> Self {
        let mut words: Vec<u32> = words.collect();
        words.sort_unstable();
        words.dedup();
        Self(words)
    }

    /// Jaccard's measure: words of both, divided by words of either. Two documents without a word are equal.
    pub(crate) fn similarity(&self, other: &Self) -> f64 {
        let (mut a, mut b, mut common) = (self.0.iter().peekable(), other.0.iter().peekable(), 0);
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match x.cmp(y) {
                std::cmp::Ordering::Less => _ = a.next(),
                std::cmp::Ordering::Greater => _ = b.next(),
                std::cmp::Ordering::Equal => {
                    common += 1;
                    a.next();
                    b.next();
                }
            }
        }
        let either = self.0.len() + other.0.len() - common;
        match either {
            0 => 1.0,
            _ => common as f64 / either as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn jaccard_as_it_is_defined(
            a in prop::collection::vec(0u32..20, 0..30),
            b in prop::collection::vec(0u32..20, 0..30),
        ) {
            let (one, two) = (WordSet::new(a.iter().copied()), WordSet::new(b.iter().copied()));
            let (a, b): (BTreeSet<u32>, BTreeSet<u32>) = (a.into_iter().collect(), b.into_iter().collect());
            let either = a.union(&b).count();
            let expected = if either == 0 { 1.0 } else { a.intersection(&b).count() as f64 / either as f64 };
            prop_assert_eq!(one.similarity(&two), expected);
            prop_assert_eq!(two.similarity(&one), expected);
            prop_assert_eq!(one.similarity(&one), 1.0);
        }
    }
}
