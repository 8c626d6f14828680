//! Hash tables whose keys are hashes already.

use std::hash::Hasher;

/// Takes a hash as it is instead of hashing it again.
#[derive(Default)]
pub(crate) struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Not used by the integer keys below; kept correct for any other.
        self.0 = bytes.iter().fold(self.0, |value, &byte| {
            value.rotate_left(8) ^ u64::from(byte)
        });
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write_u128(&mut self, hash: u128) {
        self.0 = hash as u64;
    }
}
