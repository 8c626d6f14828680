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

/// The bytes of the first three numbers, as they stand, and how many bytes these are; `None` if three do not end
/// within eight bytes.
#[inline(always)]
pub(crate) fn three_codes(bytes: [u8; 8]) -> Option<([u64; 3], usize)> {
    let bytes = u64::from_le_bytes(bytes);
    // The high bit of every byte that ends a number; then without the first of them; then without the second.
    let ends = !bytes & 0x8080_8080_8080_8080;
    let second = ends & ends.wrapping_sub(1);
    let third = second & second.wrapping_sub(1);
    if third == 0 {
        return None;
    }
    let up_to = |end: u64| bytes & (end ^ (end - 1));
    let bits = |end: u64| end.trailing_zeros() + 1;
    let codes = [
        up_to(ends),
        up_to(second) >> bits(ends),
        up_to(third) >> bits(second),
    ];
    Some((codes, bits(third) as usize / 8))
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
