//! The checksum of records, XXH3 of 64 bits: every byte of every document that is scored goes through it.

use std::hash::Hasher;
use twox_hash::XxHash3_64;

/// The checksum of two pieces as if they were one.
pub(crate) fn checksum(head: &[u8], rest: &[u8]) -> u64 {
    let mut hasher = XxHash3_64::new();
    hasher.write(head);
    hasher.write(rest);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By another implementation of XXH3: the checksums of stored records must never change.
    #[test]
    fn checksums_stay_what_they_were() {
        let bytes: Vec<u8> = (0..5000_u32).map(|n| ((n * n) >> 3) as u8).collect();
        for (length, expected) in [
            (0, 0x2d06_8005_38d3_94c2_u64),
            (48, 0x3e5d_e9c2_ec1f_7391),
            (300, 0x1c31_5d21_13ef_824e),
            (1088, 0x354b_118e_4641_f4a1),
            (5000, 0xdd98_91de_816b_182f),
        ] {
            let (head, rest) = bytes[..length].split_at(length.min(24));
            assert_eq!(checksum(head, rest), expected, "{length} bytes");
        }
    }
}
