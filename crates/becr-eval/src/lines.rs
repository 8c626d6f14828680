//! Files of lines, plain, gzip or zstd, read one line at a time in bounded memory.

use crate::error::{Error, quote};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// What to do with a line that is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Stop at the first one.
    #[default]
    Stop,
    /// Leave it out, count it, go on. Data cut short by a damaged compressed file counts as one.
    Skip,
}

/// What [`OnError::Skip`] left out of one file.
#[derive(Debug, Default)]
pub struct Skips {
    /// How many lines were left out.
    pub count: u64,
    /// The first few reasons.
    pub examples: Vec<Error>,
}

impl Skips {
    const EXAMPLES: usize = 3;

    /// Notes one line left out.
    pub(crate) fn add(&mut self, error: Error) {
        self.count += 1;
        if self.examples.len() < Self::EXAMPLES {
            self.examples.push(error);
        }
    }
}

impl fmt::Display for Skips {
    /// Nothing if nothing was left out; otherwise a line with the count and one for each example.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count > 0 {
            writeln!(f, "skipped {}: lines that cannot be used", self.count)?;
        }
        self.examples
            .iter()
            .try_for_each(|example| writeln!(f, "  {example}"))
    }
}

/// Where a line stands, to be named in its errors.
pub(crate) struct Place<'a> {
    path: &'a Path,
    /// The line, counted from 1.
    pub(crate) line: u64,
}

impl Place<'_> {
    pub(crate) fn error(
        &self,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        Error::Line {
            path: self.path.to_owned(),
            line: self.line,
            expected: expected.into(),
            found: found.into(),
            remedy: remedy.into(),
        }
    }
}

/// Longer lines are no qrels or runs: most likely the file is not text at all.
const LONGEST_LINE: usize = 1 << 20;

/// Opens a file to be read by [`for_each_line`]; `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read>, Error> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(std::io::stdin()));
    }
    let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    Ok(Box::new(file))
}

/// Calls `each` with every line that is not blank, without its line end; `path` is only named in errors.
pub(crate) fn for_each_line(
    reader: impl Read,
    path: &Path,
    on_error: OnError,
    mut each: impl FnMut(&str, &Place<'_>) -> Result<(), Error>,
) -> Result<Skips, Error> {
    let mut lines = Lines::new(reader, path)?;
    let mut skips = Skips::default();
    loop {
        let outcome = match lines.advance() {
            Ok(false) => return Ok(skips),
            Ok(true) => lines.text().and_then(|text| match text.trim().is_empty() {
                true => Ok(()),
                false => each(text, &lines.place()),
            }),
            // Nothing after damaged data can be trusted: what came before is all there is.
            Err(error @ Error::Compressed { .. }) if on_error == OnError::Skip => {
                skips.add(error);
                return Ok(skips);
            }
            Err(error) => return Err(error),
        };
        match (outcome, on_error) {
            (Ok(()), _) => {}
            (Err(error), OnError::Stop) => return Err(error),
            (Err(error), OnError::Skip) => skips.add(error),
        }
    }
}

struct Lines<'a> {
    path: PathBuf,
    reader: Box<dyn BufRead + 'a>,
    /// The compression's name, if there is one.
    format: Option<&'static str>,
    line: u64,
    buffer: Vec<u8>,
    overlong: bool,
}

impl<'a> Lines<'a> {
    fn new(reader: impl Read + 'a, path: &Path) -> Result<Self, Error> {
        let mut plain = BufReader::new(reader);
        // The first bytes decide, not the name: files get renamed.
        let head = first_bytes(&mut plain).map_err(|e| Error::io("read", path, e))?;
        let whole = io::Cursor::new(head.clone()).chain(plain);
        let (reader, format): (Box<dyn BufRead>, _) = match head.as_slice() {
            [0x1f, 0x8b, ..] => (
                Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(whole))),
                Some("gzip"),
            ),
            // A zstd file may open with a skippable frame (0x184D2A50 to 0x184D2A5F) instead of a data frame.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                let decoder = zstd::stream::read::Decoder::with_buffer(whole)
                    .map_err(|e| Error::io("read", path, e))?;
                (Box::new(BufReader::new(decoder)), Some("zstd"))
            }
            _ => (Box::new(whole), None),
        };
        let path = path.to_owned();
        Ok(Self {
            path,
            reader,
            format,
            line: 0,
            buffer: Vec::new(),
            overlong: false,
        })
    }

    fn place(&self) -> Place<'_> {
        Place {
            path: &self.path,
            line: self.line,
        }
    }

    /// Reads the next line into the buffer; false at the end of the file.
    fn advance(&mut self) -> Result<bool, Error> {
        self.buffer.clear();
        self.overlong = false;
        self.line += 1;
        let mut any = false;
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.read_error(error)),
            };
            if chunk.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if self.buffer.len() + part.len() <= LONGEST_LINE {
                self.buffer.extend_from_slice(part);
            } else {
                self.overlong = true;
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn read_error(&self, error: io::Error) -> Error {
        match self.format {
            None => Error::io("read", &self.path, error),
            Some(format) => Error::Compressed {
                path: self.path.clone(),
                line: self.line,
                format,
                detail: error.to_string(),
            },
        }
    }

    /// The line in the buffer as text, without the byte-order mark and carriage return some editors add.
    fn text(&self) -> Result<&str, Error> {
        if self.overlong {
            return Err(self.place().error(
                format!("a line of at most {LONGEST_LINE} bytes"),
                "a longer one",
                "check that this is the right file",
            ));
        }
        let bytes = self.buffer.strip_suffix(b"\r").unwrap_or(&self.buffer);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let found = format!(
                "byte 0x{:02x} at column {} after {}",
                bytes[error.valid_up_to()],
                error.valid_up_to() + 1,
                quote(&good)
            );
            self.place()
                .error("UTF-8 text", found, "convert the file with iconv")
        })?;
        Ok(if self.line == 1 {
            text.trim_start_matches('\u{feff}')
        } else {
            text
        })
    }
}

/// Up to four bytes from the start, enough to tell the compression.
fn first_bytes(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(4);
    reader.take(4).read_to_end(&mut head)?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8], on_error: OnError) -> Result<(Vec<String>, Skips), Error> {
        let mut lines = Vec::new();
        let skips = for_each_line(bytes, Path::new("f"), on_error, |line, _| {
            lines.push(line.to_owned());
            Ok(())
        })?;
        Ok((lines, skips))
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Text that hardly compresses, so that half of the bytes hold about half of the lines.
    fn noise() -> String {
        (0..20_000u64)
            .map(|i| format!("{:x}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect()
    }

    #[test]
    fn line_ends_blank_lines_and_byte_order_mark() {
        let (lines, _) = read("\u{feff}a b\r\n\n  \nc".as_bytes(), OnError::Stop).unwrap();
        assert_eq!(lines, ["a b", "c"]);
    }

    #[test]
    fn compression_is_told_by_content() {
        let text = noise();
        let plain = read(text.as_bytes(), OnError::Stop).unwrap().0;
        let half = text.len() / 2;
        let members = [
            gzip(&text.as_bytes()[..half]),
            gzip(&text.as_bytes()[half..]),
        ]
        .concat();
        assert_eq!(read(&members, OnError::Stop).unwrap().0, plain);
        let frame = zstd::encode_all(text.as_bytes(), 1).unwrap();
        assert_eq!(read(&frame, OnError::Stop).unwrap().0, plain);
        let skippable = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let both = [&skippable[..], &frame].concat();
        assert_eq!(read(&both, OnError::Stop).unwrap().0, plain);
    }

    #[test]
    fn cut_short_is_an_error_with_a_line_or_one_skip() {
        let text = noise();
        for whole in [
            gzip(text.as_bytes()),
            zstd::encode_all(text.as_bytes(), 1).unwrap(),
        ] {
            let cut = &whole[..whole.len() / 2];
            let error = read(cut, OnError::Stop).unwrap_err();
            assert!(matches!(error, Error::Compressed { .. }), "{error}");
            assert!(error.to_string().contains("cut short"), "{error}");
            let (lines, skips) = read(cut, OnError::Skip).unwrap();
            assert_eq!(skips.count, 1);
            assert!(lines.len() < 20_000);
            let prefix: Vec<_> = text.lines().take(lines.len()).collect();
            assert_eq!(lines, prefix);
        }
    }

    #[test]
    fn bytes_that_are_not_text() {
        let error = read(b"ok\nab\xffc\n", OnError::Stop)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("f:2: expected UTF-8 text, found byte 0xff at column 3"),
            "{error}"
        );
        let (lines, skips) = read(b"ok\nab\xffc\nfine\n", OnError::Skip).unwrap();
        assert_eq!((lines.len(), skips.count), (2, 1));
        let report = skips.to_string();
        assert!(
            report.starts_with("skipped 1: lines that cannot be used\n  f:2: expected UTF-8"),
            "{report}"
        );
        assert_eq!(Skips::default().to_string(), "");
    }

    #[test]
    fn endless_lines_do_not_fill_memory() {
        let mut bytes = vec![b'x'; LONGEST_LINE + 1];
        bytes.extend_from_slice(b"\nnext\n");
        assert!(
            read(&bytes, OnError::Stop)
                .unwrap_err()
                .to_string()
                .starts_with("f:1:")
        );
        let (lines, skips) = read(&bytes, OnError::Skip).unwrap();
        assert_eq!((lines, skips.count), (vec!["next".to_owned()], 1));
    }
}
