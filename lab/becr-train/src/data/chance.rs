//! Chance that can be repeated: numbers drawn from a seed and a name.

use becr_basics::SplitMix64;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A number for this seed, purpose and name; the same on every machine.
pub(crate) fn draw(seed: u64, purpose: &str, name: &str) -> u64 {
    let purpose = xxh3_64_with_seed(purpose.as_bytes(), seed);
    xxh3_64_with_seed(name.as_bytes(), purpose)
}

/// A generator started by [`draw`].
#[derive(Debug, Clone)]
pub(crate) struct Chance(SplitMix64);

impl Chance {
    pub(crate) fn new(seed: u64, purpose: &str, name: &str) -> Self {
        Self(SplitMix64::new(draw(seed, purpose, name)))
    }

    /// One of `0..count`, which must not be empty.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0.below(count)
    }

    /// True with this probability.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        // 53 random bits fill a double's mantissa: a number from 0 to just below 1.
        ((self.0.next_u64() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// Brings `items` into a random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_draws_the_same() {
        assert_eq!(draw(1, "split", "owl"), draw(1, "split", "owl"));
        assert_ne!(draw(1, "split", "owl"), draw(2, "split", "owl"));
        assert_ne!(draw(1, "split", "owl"), draw(1, "words", "owl"));
    }

    #[test]
    fn chance_is_even() {
        let mut chance = Chance::new(7, "test", "even");
        let mut counts = [0; 5];
        (0..10_000).for_each(|_| counts[chance.below(5)] += 1);
        assert!(
            counts.iter().all(|count| (1800..2200).contains(count)),
            "{counts:?}"
        );
        let happened = (0..10_000).filter(|_| chance.happens(0.3)).count();
        assert!((2800..3200).contains(&happened), "{happened}");
        assert!((0..99).all(|_| chance.happens(1.0) && !chance.happens(0.0)));
        let mut items: Vec<usize> = (0..50).collect();
        chance.shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..50));
    }
}
