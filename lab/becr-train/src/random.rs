//! Random numbers that depend on a seed and a purpose alone, so that a resumed training draws what it would have.

use becr_basics::SplitMix64;

#[derive(Debug, Clone)]
pub(crate) struct Random(SplitMix64);

impl Random {
    /// Numbers for a purpose: the parts of it are mixed into the seed one after the other.
    pub(crate) fn new(seed: u64, purpose: &[u64]) -> Self {
        let mut random = Self(SplitMix64::new(seed));
        for &part in purpose {
            random = Self(SplitMix64::new(random.next() ^ part));
        }
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // The bias of the remainder is below 2⁻³² for all bounds that fit into memory.
        (self.next() % bound as u64) as usize
    }

    /// A normal number, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f32 {
        let uniform = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let (a, b) = (uniform(self.next()), uniform(self.next()));
        ((-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()) as f32
    }

    /// Puts `count` random elements first, in random order.
    pub(crate) fn pick<T>(&mut self, list: &mut [T], count: usize) {
        for at in 0..count.min(list.len()) {
            let other = at + self.below(list.len() - at);
            list.swap(at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_have_streams_of_their_own() {
        let draw = |seed, purpose: &[u64]| Random::new(seed, purpose).next();
        assert_eq!(draw(1, &[2, 3]), draw(1, &[2, 3]));
        assert_ne!(draw(1, &[2, 3]), draw(1, &[3, 2]));
        assert_ne!(draw(1, &[2, 3]), draw(2, &[2, 3]));
    }

    #[test]
    fn picks_are_permutations_and_normals_are_normal() {
        let mut random = Random::new(7, &[]);
        let mut list: Vec<usize> = (0..100).collect();
        random.pick(&mut list, 100);
        assert_ne!(list, (0..100).collect::<Vec<_>>());
        list.sort_unstable();
        assert_eq!(list, (0..100).collect::<Vec<_>>());
        let drawn: Vec<f32> = (0..10_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f32>() / 1e4;
        let variance = drawn.iter().map(|x| x * x).sum::<f32>() / 1e4;
        assert!(
            mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
    }
}
