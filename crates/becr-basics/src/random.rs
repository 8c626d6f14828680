//! Numbers that look random.

/// Steele, Lea and Flood's SplitMix64. Never change it: hyperplanes, folds and trainings are drawn from it, and a seed must
/// mean the same on every machine and in every version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number in `0.0..1.0`: 53 bits, as many as a double's mantissa has.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of `0..count`, which must not be empty: the high half of a 128-bit product, whose bias is below count/2⁶⁴.
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next_u64()) * count as u128) >> 64) as usize
    }
}

/// Every bit of the result depends on every bit of `key`: what SplitMix64 ends with, and a hash of numbers by itself.
#[inline]
pub fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    key ^ (key >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the authors' reference implementation with seed 1234567.
    #[test]
    fn the_stream_is_the_published_one() {
        let mut random = SplitMix64::new(1_234_567);
        let first = [(); 5].map(|()| random.next_u64());
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
    }

    #[test]
    fn numbers_are_even() {
        let mut random = SplitMix64::new(7);
        let mut counts = [0; 5];
        (0..10_000).for_each(|_| counts[random.below(5)] += 1);
        let is_even = |count: &i32| (1800..2200).contains(count);
        assert!(counts.iter().all(is_even), "{counts:?}");
        let mean = (0..10_000).map(|_| random.unit()).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
    }
}
