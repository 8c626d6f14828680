//! Unsigned integers in as few bytes as they need: seven bits a byte, low bits first; the high bit says that more follow.

use std::io::{self, Read};

/// Appends `value`.
pub fn push(value: u64, out: &mut Vec<u8>) {
    let mut rest = value;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads one of at most 64 bits; an error of kind `InvalidData` if it has more.
pub fn read(input: &mut impl Read) -> io::Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        input.read_exact(&mut byte)?;
        let bits = u64::from(byte[0] & 0x7f);
        if shift == 63 && bits > 1 {
            break;
        }
        number |= bits << shift;
        if byte[0] < 0x80 {
            return Ok(number);
        }
    }
    let more = "a number of more than 64 bits";
    Err(io::Error::new(io::ErrorKind::InvalidData, more))
}

/// Reads one of at most 32 bits from the front of `bytes` and moves past it; `None` if there is no whole one.
#[inline]
pub fn pull(bytes: &mut &[u8]) -> Option<u32> {
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

/// The number of at most 32 bits that the bytes end with, if one ends there.
#[inline]
pub fn ending(bytes: &[u8]) -> u32 {
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
pub fn count(bytes: &[u8; 16]) -> u32 {
    let [a, b] = ends(bytes);
    // The product brings the sum of all bytes together in its highest byte.
    ((a + b).wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

/// How many of the first bytes, `end` of 16, end a number.
#[inline(always)]
pub fn count_before(bytes: &[u8; 16], end: u32) -> u32 {
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
            values.iter().for_each(|&value| push(value.into(), &mut bytes));
            let mut rest = bytes.as_slice();
            let read: Vec<u32> = std::iter::from_fn(|| pull(&mut rest)).collect();
            prop_assert_eq!(read, values);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn numbers_are_read_from_their_end(before in any::<u32>(), value in any::<u32>()) {
            let mut bytes = Vec::new();
            push(before.into(), &mut bytes);
            push(value.into(), &mut bytes);
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

    proptest! {
        #[test]
        fn long_numbers_come_back(number in any::<u64>(), shift in 0_u32..64) {
            let mut bytes = Vec::new();
            push(number >> shift, &mut bytes);
            prop_assert_eq!(read(&mut &bytes[..]).unwrap(), number >> shift);
            prop_assert!(read(&mut &bytes[..bytes.len() - 1]).is_err());
        }
    }

    #[test]
    fn more_than_64_bits_are_refused() {
        let ending_with = |last: u8| [&[0xff; 9][..], &[last]].concat();
        assert_eq!(read(&mut &ending_with(1)[..]).unwrap(), u64::MAX);
        assert!(read(&mut &ending_with(2)[..]).is_err());
        assert!(read(&mut &[0x80; 20][..]).is_err());
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
            push(value.into(), &mut bytes);
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
