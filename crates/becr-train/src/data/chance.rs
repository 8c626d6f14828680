//! Chance that can be repeated: numbers drawn from a seed and a name.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A number for this seed, purpose and name; the same on every machine.
pub(crate) fn draw(seed: u64, purpose: &str, name: &str) -> u64 {
    let purpose = xxh3_64_with_seed(purpose.as_bytes(), seed);
    xxh3_64_with_seed(name.as_bytes(), purpose)
}

/// A generator started by [`draw`] (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64, purpose: &str, name: &str) -> Self {
        Self(draw(seed, purpose, name))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// One of `0..count`, which must not be empty.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        // The high half of a 128-bit product; the bias is below count/2⁶⁴.
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }

    /// True with this probability.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        // 53 random bits fill a double's mantissa: a number from 0 to just below 1.
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
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
