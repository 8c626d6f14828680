//! Numbers that look random and are the same in every run (SplitMix64).

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }

    /// Different documents, picked out of `documents`: `length` of them, or all if there are fewer.
    pub(crate) fn list(&mut self, length: usize, documents: u64) -> Vec<u64> {
        let mut taken = vec![false; documents as usize];
        let mut list = Vec::with_capacity(length);
        while list.len() < length.min(documents as usize) {
            let number = self.next() % documents;
            if !std::mem::replace(&mut taken[number as usize], true) {
                list.push(number);
            }
        }
        list
    }
}
