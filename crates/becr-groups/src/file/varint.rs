//! Whole numbers in as few bytes as they need.

use std::io::{self, Read};

/// Seven bits a byte, the lowest first; the high bit says that more follow.
pub(super) fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(super) fn read_varint(input: &mut impl Read) -> io::Result<u64> {
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
    Err(invalid("a number of more than 64 bits"))
}

pub(super) fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(number in any::<u64>(), shift in 0u32..64) {
            let mut bytes = Vec::new();
            push_varint(&mut bytes, number >> shift);
            prop_assert_eq!(read_varint(&mut &bytes[..]).unwrap(), number >> shift);
            prop_assert!(read_varint(&mut &bytes[..bytes.len() - 1]).is_err());
        }
    }

    #[test]
    fn too_many_bits_are_refused() {
        assert_eq!(
            read_varint(&mut &[0xff; 9].iter().copied().chain([1]).collect::<Vec<u8>>()[..])
                .unwrap(),
            u64::MAX
        );
        assert!(
            read_varint(&mut &[0xff; 9].iter().copied().chain([2]).collect::<Vec<u8>>()[..])
                .is_err()
        );
        assert!(read_varint(&mut &[0x80; 20][..]).is_err());
    }
}
