//! Unix `compress` (`.Z`, `.z`, `.0z`), in which TREC's disks were shipped.
//!
//! Codes of 9 to 16 bits, lowest bit first. The writer packs eight codes at a time and pads the group it is in whenever
//! the width changes or the table is cleared, so the reader takes whole groups and drops their rest at those points.
//! The format has neither a length nor a checksum: a file cut short cannot be told from a whole one.

use std::io::{self, BufRead, Read};

const FIRST_BITS: u32 = 9;
const CLEAR: usize = 256;

/// Decodes a stream that begins with the magic bytes 1f 9d.
pub(crate) struct LzwReader<R> {
    inner: R,
    max_bits: u32,
    /// Whether code 256 clears the table.
    block_mode: bool,
    bits: u32,
    /// The group of codes being taken apart, and how much of it is used, in bits.
    group: Vec<u8>,
    used: usize,
    /// For every code from 256 the code before its last byte, and that byte.
    prefix: Vec<u16>,
    suffix: Vec<u8>,
    previous: Option<usize>,
    first_byte: u8,
    /// Decoded bytes not yet handed out, last one first.
    stack: Vec<u8>,
}

impl<R: BufRead> LzwReader<R> {
    /// Reads the header.
    pub(crate) fn new(mut inner: R) -> io::Result<Self> {
        let mut header = [0; 3];
        inner.read_exact(&mut header)?;
        let max_bits = u32::from(header[2] & 0x1f);
        if !(FIRST_BITS..=16).contains(&max_bits) {
            return Err(damaged("codes must have 9 to 16 bits"));
        }
        let block_mode = header[2] & 0x80 != 0;
        let mut reader = Self {
            inner,
            max_bits,
            block_mode,
            bits: FIRST_BITS,
            group: Vec::new(),
            used: 0,
            prefix: Vec::new(),
            suffix: Vec::new(),
            previous: None,
            first_byte: 0,
            stack: Vec::new(),
        };
        reader.clear();
        Ok(reader)
    }

    /// The code the next entry of the table will have.
    fn next_free(&self) -> usize {
        256 + self.prefix.len()
    }

    fn clear(&mut self) {
        self.prefix.clear();
        self.suffix.clear();
        if self.block_mode {
            // Code 256 is taken.
            self.prefix.push(0);
            self.suffix.push(0);
        }
        self.bits = FIRST_BITS;
        self.group.clear();
        self.used = 0;
        self.previous = None;
    }

    /// The next code, or `None` at the end.
    fn code(&mut self) -> io::Result<Option<usize>> {
        if self.next_free() > (1 << self.bits) - 1
            && self.bits < self.max_bits
            && self.previous.is_some()
        {
            self.bits += 1;
            self.group.clear();
            self.used = 0;
        }
        if self.used + self.bits as usize > self.group.len() * 8 {
            self.group.clear();
            self.used = 0;
            self.inner
                .by_ref()
                .take(u64::from(self.bits))
                .read_to_end(&mut self.group)?;
            if (self.bits as usize) > self.group.len() * 8 {
                return Ok(None);
            }
        }
        let (byte, shift) = (self.used / 8, self.used % 8);
        let window = (0..3).fold(0, |window, index| {
            window
                | usize::from(self.group.get(byte + index).copied().unwrap_or_default())
                    << (8 * index)
        });
        self.used += self.bits as usize;
        Ok(Some(window >> shift & ((1 << self.bits) - 1)))
    }

    /// Decodes one code onto the stack; false at the end.
    fn decode(&mut self) -> io::Result<bool> {
        let Some(code) = self.code()? else {
            return Ok(false);
        };
        if code == CLEAR && self.block_mode {
            self.clear();
            return Ok(true);
        }
        let Some(previous) = self.previous else {
            self.first_byte =
                u8::try_from(code).map_err(|_| damaged("the first code must be a byte"))?;
            self.stack.push(self.first_byte);
            self.previous = Some(code);
            return Ok(true);
        };
        let mut at = code;
        if code >= self.next_free() {
            // The writer may use an entry it has only just made: the former string and its own first byte.
            if code > self.next_free() {
                return Err(damaged("a code that is not in the table"));
            }
            self.stack.push(self.first_byte);
            at = previous;
        }
        while at >= 256 {
            self.stack.push(self.suffix[at - 256]);
            at = usize::from(self.prefix[at - 256]);
        }
        self.first_byte = at as u8;
        self.stack.push(self.first_byte);
        if self.next_free() < 1 << self.max_bits {
            self.prefix.push(previous as u16);
            self.suffix.push(self.first_byte);
        }
        self.previous = Some(code);
        Ok(true)
    }
}

impl<R: BufRead> Read for LzwReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buf.len() {
            match self.stack.pop() {
                Some(byte) => {
                    buf[filled] = byte;
                    filled += 1;
                }
                None if !self.decode()? => break,
                None => {}
            }
        }
        Ok(filled)
    }
}

fn damaged(detail: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, detail)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn decode(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        LzwReader::new(bytes)?.read_to_end(&mut out)?;
        Ok(out)
    }

    /// A writer after the format's description, clearing the table whenever it is full and `clears` is set.
    fn encode(input: &[u8], max_bits: u32, clears: bool) -> Vec<u8> {
        let mut out = vec![0x1f, 0x9d, max_bits as u8 | if clears { 0x80 } else { 0 }];
        let (mut bits, mut group): (u32, Vec<bool>) = (FIRST_BITS, Vec::new());
        let first_free = if clears { 257 } else { 256 };
        let mut table: HashMap<(usize, u8), usize> = HashMap::new();
        let mut flush = |group: &mut Vec<bool>, whole: bool, bits: u32| {
            if whole && !group.is_empty() {
                group.resize(8 * bits as usize, false);
            }
            for byte in group.chunks(8) {
                out.push(
                    byte.iter()
                        .enumerate()
                        .fold(0, |value, (index, &bit)| value | u8::from(bit) << index),
                );
            }
            group.clear();
        };
        let put = |group: &mut Vec<bool>, code: usize, bits: u32| {
            group.extend((0..bits).map(|bit| code >> bit & 1 == 1));
        };
        let Some((&first, rest)) = input.split_first() else {
            return out;
        };
        let mut current = usize::from(first);
        for &byte in rest {
            if let Some(&code) = table.get(&(current, byte)) {
                current = code;
                continue;
            }
            put(&mut group, current, bits);
            if group.len() == 8 * bits as usize {
                flush(&mut group, false, bits);
            }
            let free = first_free + table.len();
            if free < 1 << max_bits {
                table.insert((current, byte), free);
                // The reader is one entry behind.
                if free > (1 << bits) - 1 && bits < max_bits {
                    flush(&mut group, true, bits);
                    bits += 1;
                }
            } else if clears {
                put(&mut group, CLEAR, bits);
                flush(&mut group, true, bits);
                bits = FIRST_BITS;
                table.clear();
            }
            current = usize::from(byte);
        }
        put(&mut group, current, bits);
        flush(&mut group, false, bits);
        out
    }

    /// Written by the `compress` of ncompress 4.2.4 from "tobeornottobeortobeornot" and a line end.
    const REAL: &[u8] = &[
        0x1f, 0x9d, 0x90, 0x74, 0xde, 0x88, 0x29, 0xf3, 0x46, 0x8e, 0x9b, 0x37, 0x74, 0x02, 0x0e,
        0x2c, 0xa8, 0x90, 0xa0, 0x41, 0x84, 0x0a, 0x00,
    ];

    #[test]
    fn reads_what_compress_wrote() {
        assert_eq!(decode(REAL).unwrap(), b"tobeornottobeortobeornot\n");
    }

    #[test]
    fn damaged_streams_are_errors() {
        assert_eq!(
            decode(b"\x1f\x9d").unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        assert_eq!(
            decode(b"\x1f\x9d\x88abc").unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        assert_eq!(
            decode(b"\x1f\x9d\x90\xff\xff\xff\xff").unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }

    proptest! {
        #[test]
        fn round_trips(
            seed in prop::collection::vec(0u8..4, 0..200),
            repeat in 1usize..60,
            max_bits in 9u32..=16,
            clears: bool,
        ) {
            let input: Vec<u8> = (0..repeat).flat_map(|turn| seed.iter().map(move |byte| byte.wrapping_mul(turn as u8))).collect();
            prop_assert_eq!(decode(&encode(&input, max_bits, clears)).unwrap(), input);
        }

        #[test]
        fn takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), flags: u8) {
            let _result = decode(&[&[0x1f, 0x9d, flags], bytes.as_slice()].concat());
        }
    }
}
