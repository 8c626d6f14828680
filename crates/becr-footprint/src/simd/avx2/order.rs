//! From the order of the registers to that of the tokens.

use crate::lanes::Lanes;
use crate::workspace::{Numbers, Similarities};
use std::arch::x86_64::*;

/// Takes the similarities to a term out of its sums.
///
/// # Safety
///
/// The CPU has AVX2.
#[target_feature(enable = "avx2")]
#[inline(never)]
pub(super) unsafe fn take(
    sums: &mut Numbers,
    halves: usize,
    lanes: Lanes,
    similarities: &mut Similarities,
) {
    let count = lanes.octets(0);
    for (half, sums) in sums.as_chunks_mut::<8>().0[..halves].iter_mut().enumerate() {
        let first_lane = 2 * half;
        // Where rows are as long as their registers, as most are, octets can be stored two at a time.
        let is_whole = count == lanes.octets(15) && count >= first_lane + 2;
        for parity in 0..2 {
            let mut octets = [_mm256_setzero_si256(); 8];
            for (octets, pair) in octets.iter_mut().zip(sums.iter_mut()) {
                // SAFETY: the array is of a register's size and alignment.
                unsafe {
                    let at = pair[parity].as_mut_ptr().cast();
                    *octets = _mm256_load_si256(at);
                    _mm256_store_si256(at, _mm256_setzero_si256());
                }
            }
            for (i, octets) in transpose(octets).into_iter().enumerate() {
                let position = 2 * i + parity;
                let place = 8 * (lanes.first_octet(position) + first_lane);
                // SAFETY: the slices are eight or sixteen numbers.
                unsafe {
                    if is_whole {
                        let place = &mut similarities.0[place..place + 16];
                        _mm256_storeu_si256(place.as_mut_ptr().cast(), octets);
                        continue;
                    }
                    match lanes.octets(position).saturating_sub(first_lane) {
                        0 => (),
                        1 => {
                            let place = &mut similarities.0[place..place + 8];
                            _mm_storeu_si128(
                                place.as_mut_ptr().cast(),
                                _mm256_castsi256_si128(octets),
                            );
                        }
                        _ => {
                            let place = &mut similarities.0[place..place + 16];
                            _mm256_storeu_si256(place.as_mut_ptr().cast(), octets);
                        }
                    }
                }
            }
        }
    }
}

/// Transposes the 8 × 8 numbers of every lane.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose(x: [__m256i; 8]) -> [__m256i; 8] {
    let [a, b, c, d, e, f, g, h] = x;
    let pairs = |a, b| [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)];
    let ([ab0, ab1], [cd0, cd1]) = (pairs(a, b), pairs(c, d));
    let ([ef0, ef1], [gh0, gh1]) = (pairs(e, f), pairs(g, h));
    let fours = |a, b| [_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)];
    let ([ad0, ad1], [ad2, ad3]) = (fours(ab0, cd0), fours(ab1, cd1));
    let ([eh0, eh1], [eh2, eh3]) = (fours(ef0, gh0), fours(ef1, gh1));
    let all = |a, b| [_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)];
    let ([p, q], [r, s]) = (all(ad0, eh0), all(ad1, eh1));
    let ([t, u], [v, w]) = (all(ad2, eh2), all(ad3, eh3));
    [p, q, r, s, t, u, v, w]
}
