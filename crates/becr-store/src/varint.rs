//! Unsigned integers in as few bytes as they need: seven bits a byte, low bits first.

/// Appends `value`.
pub(crate) fn push(value: u32, out: &mut Vec<u8>) {
    let mut rest = value;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads one from the front of `bytes` and moves past it; `None` if there is no whole one.
#[inline]
pub(crate) fn pull(bytes: &mut &[u8]) -> Option<u32> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(u32::from(first));
    }
    let mut value = u32::from(first & 0x7f);
    for (n, &byte) in rest.iter().enumerate().take(4) {
        value |= u32::from(byte & 0x7f).checked_shl(7 * (n as u32 + 1))?;
        if byte < 0x80 {
            // The fifth byte has room for four bits only.
            if n == 3 && byte > 0x0f {
                return None;
            }
            *bytes = &rest[n + 1..];
            return Some(value);
        }
    }
    None
}

/// The number that the bytes end with, if one ends there.
#[inline]
pub(crate) fn ending(bytes: &[u8]) -> u32 {
    let (last, before) = bytes.split_last().unwrap_or((&0, &[]));
    let before = before
        .iter()
        .rev()
        .take(4)
        .take_while(|byte| **byte >= 0x80);
    before.fold(u32::from(*last), |value, byte| {
        value << 7 | u32::from(byte & 0x7f)
    })
}

/// How many of the bytes end a number.
#[inline(always)]
pub(crate) fn count(bytes: &[u8; 16]) -> u32 {
    let [a, b] = ends(bytes);
    // The product brings the sum of all bytes together in its highest byte.
    ((a + b).wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

/// How many of the first bytes, `end` of 16, end a number.
#[inline(always)]
pub(crate) fn count_before(bytes: &[u8; 16], end: u32) -> u32 {
    let [a, b] = ends(bytes);
    let ends = u128::from(b) << 64 | u128::from(a);
    let before = ends & ((1 << (8 * end)) - 1);
    let sum = (before >> 64) as u64 + before as u64;
    (sum.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

/// For each byte, in its place: 1 if a number ends with it, else 0.
#[inline(always)]
fn ends(bytes: &[u8; 16]) -> [u64; 2] {
    let bytes = u128::from_le_bytes(*bytes);
    [bytes as u64, (bytes >> 64) as u64].map(|eight| (!eight >> 7) & 0x0101_0101_0101_0101)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(values in prop::collection::vec(any::<u32>(), 0..50)) {
            let mut bytes = Vec::new();
            values.iter().for_each(|&value| push(value, &mut bytes));
            let mut rest = bytes.as_slice();
            let read: Vec<u32> = std::iter::from_fn(|| pull(&mut rest)).collect();
            prop_assert_eq!(read, values);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn numbers_are_read_from_their_end(before in any::<u32>(), value in any::<u32>()) {
            let mut bytes = Vec::new();
            push(before, &mut bytes);
            push(value, &mut bytes);
            prop_assert_eq!(ending(&bytes), value);
        }

        #[test]
        fn ends_are_counted(bytes in any::<[u8; 16]>()) {
            for end in 0..16 {
                let expected = bytes[..end].iter().filter(|byte| **byte < 0x80).count();
                prop_assert_eq!(count_before(&bytes, end as u32) as usize, expected);
            }
            prop_assert_eq!(count(&bytes), count_before(&bytes, 15) + u32::from(bytes[15] < 0x80));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let mut rest = bytes.as_slice();
            while pull(&mut rest).is_some() {}
        }
    }

    #[test]
    fn edges() {
        for (value, length) in [
            (0, 1),
            (127, 1),
            (128, 2),
            (16_383, 2),
            (16_384, 3),
            (u32::MAX, 5),
        ] {
            let mut bytes = Vec::new();
            push(value, &mut bytes);
            assert_eq!(bytes.len(), length);
        }
        assert_eq!(
            pull(&mut &[0xff, 0xff, 0xff, 0xff, 0x7f][..]),
            None,
            "more than 32 bits"
        );
        assert_eq!(pull(&mut &[0x80][..]), None, "cut short");
    }
}
