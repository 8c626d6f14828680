//! The checksum of records, XXH3 of 64 bits: every byte of every document that is scored goes through it.
#![allow(unsafe_code)]

use std::hash::Hasher;
use twox_hash::XxHash3_64;

/// The checksum of two pieces as if they were one.
pub(crate) fn checksum(head: &[u8], rest: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(sum) = wide::checksum(head, rest) {
        return sum;
    }
    let mut hasher = XxHash3_64::new();
    hasher.write(head);
    hasher.write(rest);
    hasher.finish()
}

/// The same with registers of 512 bits, which `twox-hash` does not have, for long inputs.
///
/// Names are those of the specification: an input is blocks of 16 stripes of 64 bytes, each of which is mixed with
/// another part of the secret; after each block the accumulators are scrambled.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    const STRIPE: usize = 64;
    const BLOCK: usize = 16 * STRIPE;
    /// Shorter inputs are left to the library: those which are hashed in other ways, and those whose last stripe reaches
    /// into the first block.
    const LEAST: usize = BLOCK + STRIPE;

    const PRIME32: [u64; 3] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D];
    const PRIME64: [u64; 5] = [
        0x9E37_79B1_85EB_CA87,
        0xC2B2_AE3D_27D4_EB4F,
        0x1656_67B1_9E37_79F9,
        0x85EB_CA77_C2B2_AE63,
        0x27D4_EB2F_1656_67C5,
    ];
    const PRIME_MX: u64 = 0x1656_6791_9E37_79F9;
    const START: [u64; 8] = [
        PRIME32[2], PRIME64[0], PRIME64[1], PRIME64[2], PRIME64[3], PRIME32[1], PRIME64[4],
        PRIME32[0],
    ];

    #[rustfmt::skip]
    const SECRET: [u8; 192] = [
        0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
        0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
        0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
        0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
        0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
        0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
        0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
        0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
        0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
        0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
        0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
        0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
    ];
    // Where the parts of the secret begin: for the end of a block, for the last stripe and for the accumulators.
    const SCRAMBLE: usize = 128;
    const LAST: usize = 121;
    const MERGE: usize = 11;

    /// `None` if the input is too short, or the CPU has no such registers.
    pub(super) fn checksum(head: &[u8], rest: &[u8]) -> Option<u64> {
        let has_them = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
        if !has_them || head.len() > BLOCK || head.len() + rest.len() < LEAST {
            return None;
        }
        let (end_of_first, rest) = rest.split_at(BLOCK - head.len());
        let mut first = [0; BLOCK];
        first[..head.len()].copy_from_slice(head);
        first[head.len()..].copy_from_slice(end_of_first);
        // SAFETY: the CPU has the features.
        let sums = unsafe { sums(&first, rest) };
        Some(merged(&sums, (BLOCK + rest.len()) as u64))
    }

    /// The accumulators after the first block and the rest, which is a stripe at least.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn sums(first: &[u8; BLOCK], rest: &[u8]) -> [u64; 8] {
        let secrets: [__m512i; 16] = std::array::from_fn(|stripe| load(secret(8 * stripe)));
        let (scramble, prime) = (load(secret(SCRAMBLE)), _mm512_set1_epi64(PRIME32[0] as i64));
        // The last block, whole or not, is not scrambled.
        let (blocks, last_block) = rest.split_at((rest.len() - 1) / BLOCK * BLOCK);
        let blocks = blocks.as_chunks::<BLOCK>().0;
        // SAFETY: there are 64 bytes to read.
        let mut sums = Sums::new(unsafe { _mm512_loadu_si512(START.as_ptr().cast()) });
        for block in std::iter::once(first).chain(blocks) {
            for (stripe, secret) in block.as_chunks().0.iter().zip(secrets) {
                sums.add(stripe, secret);
            }
            let whole = sums.whole();
            let high = _mm512_srli_epi64::<47>(whole);
            let mixed = _mm512_xor_si512(_mm512_xor_si512(whole, high), scramble);
            sums = Sums::new(_mm512_mullo_epi64(mixed, prime));
        }
        let stripes = last_block[..last_block.len() - 1].as_chunks().0;
        for (stripe, secret) in stripes.iter().zip(secrets) {
            sums.add(stripe, secret);
        }
        // The last stripe has bytes of the one before it, if there are too few.
        if let Some(last) = rest.last_chunk() {
            sums.add(last, load(secret(LAST)));
        }
        let mut out = [0; 8];
        // SAFETY: there is room for 64 bytes.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), sums.whole()) };
        out
    }

    /// The accumulators.
    #[derive(Clone, Copy)]
    struct Sums {
        sums: __m512i,
        /// What is yet to be added, neighbours in each other's place: they change places once a block.
        swapped: __m512i,
    }

    impl Sums {
        #[target_feature(enable = "avx512f")]
        fn new(sums: __m512i) -> Self {
            let swapped = _mm512_setzero_si512();
            Self { sums, swapped }
        }

        #[target_feature(enable = "avx512f")]
        fn add(&mut self, stripe: &[u8; STRIPE], secret: __m512i) {
            let stripe = load(stripe);
            let keyed = _mm512_xor_si512(stripe, secret);
            let product = _mm512_mul_epu32(keyed, _mm512_srli_epi64::<32>(keyed));
            self.sums = _mm512_add_epi64(self.sums, product);
            self.swapped = _mm512_add_epi64(self.swapped, stripe);
        }

        #[target_feature(enable = "avx512f")]
        fn whole(self) -> __m512i {
            let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(self.swapped);
            _mm512_add_epi64(self.sums, swapped)
        }
    }

    #[target_feature(enable = "avx512f")]
    fn load(bytes: &[u8; STRIPE]) -> __m512i {
        // SAFETY: there are 64 bytes to read.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    /// 64 bytes of the secret.
    const fn secret(at: usize) -> &'static [u8; STRIPE] {
        match SECRET.split_at(at).1.first_chunk() {
            Some(secret) => secret,
            None => panic!("the secret ends before"),
        }
    }

    /// The hash that the accumulators of an input of this length stand for.
    fn merged(sums: &[u64; 8], length: u64) -> u64 {
        let keys = secret(MERGE).as_chunks().0;
        let keyed = |at: usize| u128::from(sums[at] ^ u64::from_le_bytes(keys[at]));
        let sum = (0..4).fold(length.wrapping_mul(PRIME64[0]), |sum, pair| {
            let product = keyed(2 * pair) * keyed(2 * pair + 1);
            sum.wrapping_add(product as u64 ^ (product >> 64) as u64)
        });
        let sum = (sum ^ sum >> 37).wrapping_mul(PRIME_MX);
        sum ^ sum >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_that_of_the_library(length in 0_usize..5000, cut in 0_usize..1500, seed in any::<u64>()) {
            let byte = |at: u64| ((at ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
            let bytes: Vec<u8> = (0..length as u64).map(byte).collect();
            let (head, rest) = bytes.split_at(cut.min(length));
            prop_assert_eq!(checksum(head, rest), XxHash3_64::oneshot(&bytes));
        }
    }

    #[test]
    fn every_length_near_a_border() {
        let bytes: Vec<u8> = (0..4200_u32).map(|n| ((n * n) >> 3) as u8).collect();
        for border in [0, 64, 128, 1024, 1088, 2048, 3072, 4096] {
            for length in (border.max(66) - 66)..border + 66 {
                let (head, rest) = bytes[..length].split_at(length.min(24));
                let expected = XxHash3_64::oneshot(&bytes[..length]);
                assert_eq!(checksum(head, rest), expected, "{length} bytes");
            }
        }
    }
}
