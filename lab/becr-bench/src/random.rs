//! Numbers that look random and are the same in every run.

use becr_basics::SplitMix64;

pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// In `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0.unit()
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
