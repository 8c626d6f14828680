//! Lines of an input, numbered, without their ends, and never longer than a limit.

use std::io::{self, BufRead};

use crate::error::{ErrorKind, Fault, not_utf8};
use crate::input::Input;

/// No line, record or note may be longer than this: past it a file is taken for something else than it says.
pub(crate) const LONGEST: usize = 256 * 1024 * 1024;

/// Reads an input line by line.
pub(crate) struct Lines {
    input: Input,
    line: Vec<u8>,
    number: u64,
    limit: usize,
    ended: bool,
}

impl Lines {
    pub(crate) fn new(input: Input) -> Self {
        Self::with_limit(input, LONGEST)
    }

    pub(crate) fn with_limit(input: Input, limit: usize) -> Self {
        Self {
            input,
            line: Vec::new(),
            number: 0,
            limit,
            ended: false,
        }
    }

    /// Number of the line last read, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The next line as bytes, without `\n` or `\r\n`, the first one without a byte order mark.
    /// After a read error there are no more lines; after a line that is too long reading goes on with the next.
    pub(crate) fn next_bytes(&mut self) -> Option<Result<&[u8], Fault>> {
        if self.ended {
            return None;
        }
        self.line.clear();
        self.number += 1;
        match self.fill() {
            Err(error) => {
                self.ended = true;
                Some(Err(Fault::line(self.number, self.input.explain(error))))
            }
            Ok(Filled::Nothing) => {
                self.ended = true;
                None
            }
            Ok(Filled::TooLong) => Some(Err(Fault::line(
                self.number,
                ErrorKind::TooLong { limit: self.limit },
            ))),
            Ok(Filled::Line) => Some(Ok(self.trimmed())),
        }
    }

    /// The next line as text.
    pub(crate) fn next_text(&mut self) -> Option<Result<(u64, &str), Fault>> {
        let number = self.number + 1;
        let bytes = match self.next_bytes()? {
            Ok(bytes) => bytes,
            Err(fault) => return Some(Err(fault)),
        };
        Some(match std::str::from_utf8(bytes) {
            Ok(text) => Ok((number, text)),
            Err(error) => Err(Fault::line(number, not_utf8(bytes, error))),
        })
    }

    fn trimmed(&self) -> &[u8] {
        let line = self.line.as_slice();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.number == 1 {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        } else {
            line
        }
    }

    fn fill(&mut self) -> io::Result<Filled> {
        let mut too_long = false;
        let mut any = false;
        loop {
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if available.is_empty() {
                break;
            }
            any = true;
            let (taken, found) = match memchr::memchr(b'\n', available) {
                Some(at) => (at + 1, true),
                None => (available.len(), false),
            };
            too_long |= self.line.len() + taken > self.limit;
            if !too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            if found {
                break;
            }
        }
        Ok(match (any, too_long) {
            (false, _) => Filled::Nothing,
            (true, true) => Filled::TooLong,
            (true, false) => Filled::Line,
        })
    }
}

enum Filled {
    Nothing,
    Line,
    TooLong,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Progress;

    #[test]
    fn a_line_over_the_limit_is_passed_over_without_being_held() {
        let content = format!("\u{feff}short\r\n{}\nlast", "x".repeat(1_000_000));
        let input = Input::new(Box::new(io::Cursor::new(content)), Progress::default()).unwrap();
        let mut lines = Lines::with_limit(input, 100);
        assert_eq!(lines.next_bytes().unwrap().unwrap(), b"short");
        let fault = lines.next_bytes().unwrap().unwrap_err();
        assert!(matches!(fault.kind, ErrorKind::TooLong { limit: 100 }));
        assert!(lines.line.capacity() <= 512 * 1024);
        assert_eq!(lines.next_text().unwrap().unwrap(), (3, "last"));
        assert!(lines.next_bytes().is_none());
    }
}
