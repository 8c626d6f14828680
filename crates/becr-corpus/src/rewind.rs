//! An input one can push bytes back into, which resynchronising needs.

use std::io::{self, BufRead, Read};

use crate::error::ErrorKind;
use crate::input::Input;

/// Reads bytes pushed back first, then the input, and knows the offset.
pub(crate) struct Rewind {
    input: Input,
    back: Vec<u8>,
    at: usize,
    offset: u64,
}

impl Rewind {
    pub(crate) fn new(input: Input) -> Self {
        Self {
            input,
            back: Vec::new(),
            at: 0,
            offset: 0,
        }
    }

    /// Offset of the next byte in the uncompressed input.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Puts bytes back in front of what comes next.
    pub(crate) fn unread(&mut self, bytes: &[u8]) {
        self.offset -= bytes.len() as u64;
        self.back.splice(..self.at, bytes.iter().copied());
        self.at = 0;
    }

    /// The next line with its end, or its first `limit` bytes; empty at the end of the input.
    pub(crate) fn line(&mut self, limit: usize) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.by_ref()
            .take(limit as u64)
            .read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// Up to `count` bytes, fewer at the end of the input.
    pub(crate) fn bytes(&mut self, count: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.by_ref().take(count).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn explain(&self, error: io::Error) -> ErrorKind {
        self.input.explain(error)
    }
}

impl Read for Rewind {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buf.len());
        buf[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Rewind {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at < self.back.len() {
            return Ok(&self.back[self.at..]);
        }
        self.back.clear();
        self.at = 0;
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.offset += amount as u64;
        if self.at < self.back.len() {
            self.at += amount;
        } else {
            self.input.consume(amount);
        }
    }
}
