//! What the x86 implementations share: fetching memory, and turning digits into bytes.

use std::arch::x86_64::*;

/// Asks for the cache line at `address`, into the second-level cache: the first holds the tile at hand.
#[inline(always)]
pub(super) fn fetch(address: usize) {
    // SAFETY: a prefetch is a hint; it reads nothing and accepts any address.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(address as *const i8) }
}

/// Asks for the cache line at `address`, into the first-level cache.
#[inline(always)]
pub(super) fn fetch_close(address: usize) {
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address as *const i8) }
}

/// Interleaves the bytes of eight digits: qword `j` of a lane then holds the eight digits of one octet of tokens,
/// byte `i` being digit `i`. Register `r` holds octets `2r` and `2r + 1` of every lane.
macro_rules! interleave {
    ($digits:expr, $lo8:ident, $hi8:ident, $lo16:ident, $hi16:ident, $lo32:ident, $hi32:ident) => {{
        let d = $digits;
        let (a0, a1) = ($lo8(d[0], d[1]), $hi8(d[0], d[1]));
        let (b0, b1) = ($lo8(d[2], d[3]), $hi8(d[2], d[3]));
        let (c0, c1) = ($lo8(d[4], d[5]), $hi8(d[4], d[5]));
        let (e0, e1) = ($lo8(d[6], d[7]), $hi8(d[6], d[7]));
        let (f0, f1) = ($lo16(a0, b0), $hi16(a0, b0));
        let (f2, f3) = ($lo16(a1, b1), $hi16(a1, b1));
        let (g0, g1) = ($lo16(c0, e0), $hi16(c0, e0));
        let (g2, g3) = ($lo16(c1, e1), $hi16(c1, e1));
        [
            $lo32(f0, g0),
            $hi32(f0, g0),
            $lo32(f1, g1),
            $hi32(f1, g1),
            $lo32(f2, g2),
            $hi32(f2, g2),
            $lo32(f3, g3),
            $hi32(f3, g3),
        ]
    }};
}
pub(super) use interleave;
