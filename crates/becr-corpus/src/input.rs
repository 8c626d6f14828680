//! Opening a file whatever its compression. The first bytes decide, not the name: collections are often misnamed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::error::{CorpusError, ErrorKind, Place};
use crate::lzw::LzwReader;
use crate::progress::Progress;

/// How much of the uncompressed beginning can be looked at before reading starts.
const HEAD: usize = 4096;
/// Large enough that system calls and decoder calls do not show in a profile.
const BUFFER: usize = 256 * 1024;

/// Compression of a file, told by its magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Plain,
    Gzip,
    Zstd,
    UnixCompress,
}

impl Compression {
    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            // A zstd file may open with a skippable frame (0x184D2A50 to 0x184D2A5F) instead of a data frame.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0x1f, 0x9d, ..] => Self::UnixCompress,
            _ => Self::Plain,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::UnixCompress => "Unix compress",
        }
    }
}

/// An opened, decompressed input whose beginning can be peeked at.
pub(crate) struct Input {
    compression: Compression,
    head: Vec<u8>,
    reader: BufReader<Peeked>,
}

/// The peeked bytes, then the error met while peeking if there was one, then the rest.
struct Peeked {
    head: io::Cursor<Vec<u8>>,
    failed: Option<io::Error>,
    rest: Box<dyn Read + Send>,
}

impl Read for Peeked {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let from_head = self.head.read(buf)?;
        if from_head > 0 {
            return Ok(from_head);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.rest.read(buf),
        }
    }
}

/// Counts stored bytes as the decoder takes them.
struct Counting<R> {
    inner: R,
    progress: Progress,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buf)?;
        self.progress.add_bytes(count as u64);
        Ok(count)
    }
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(path: &Path, progress: Progress) -> Result<Self, CorpusError> {
        let fail = |error| CorpusError {
            path: path.to_owned(),
            place: Place::File,
            kind: ErrorKind::Io(error),
        };
        let stored: Box<dyn Read + Send> = if is_stdin(path) {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path).map_err(fail)?)
        };
        Self::new(stored, progress).map_err(fail)
    }

    /// Wraps stored bytes in the decoder their magic number asks for.
    pub(crate) fn new(stored: Box<dyn Read + Send>, progress: Progress) -> io::Result<Self> {
        let mut stored = Counting {
            inner: stored,
            progress,
        };
        let mut magic = Vec::with_capacity(4);
        stored.by_ref().take(4).read_to_end(&mut magic)?;
        let compression = Compression::of(&magic);
        let stored = BufReader::with_capacity(BUFFER, io::Cursor::new(magic).chain(stored));
        let (mut rest, mut failed) = match decoder(compression, stored) {
            Ok(rest) => (rest, None),
            Err(error) => (Box::new(io::empty()) as Box<dyn Read + Send>, Some(error)),
        };
        let mut head = Vec::with_capacity(HEAD);
        // An error here (a file cut short) is kept for later: what comes before it must still be read.
        if let Err(error) = rest.by_ref().take(HEAD as u64).read_to_end(&mut head) {
            failed = Some(error);
        }
        let peeked = Peeked {
            head: io::Cursor::new(head.clone()),
            failed,
            rest,
        };
        Ok(Self {
            compression,
            head,
            reader: BufReader::with_capacity(BUFFER, peeked),
        })
    }

    /// The first bytes, after decompression: all of them if the file is short.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Says whether a read error means a damaged or truncated compressed file rather than a failing disk.
    pub(crate) fn explain(&self, error: io::Error) -> ErrorKind {
        match self.compression {
            Compression::Plain => ErrorKind::Io(error),
            compressed => match error.kind() {
                io::ErrorKind::UnexpectedEof => ErrorKind::Truncated {
                    inside: match compressed {
                        Compression::Gzip => "a gzip member",
                        Compression::Zstd => "a zstd frame",
                        _ => "its header",
                    },
                },
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                    ErrorKind::Damaged {
                        what: compressed.name(),
                        detail: error.to_string(),
                    }
                }
                _ => ErrorKind::Io(error),
            },
        }
    }
}

fn decoder<R: BufRead + Send + 'static>(
    compression: Compression,
    stored: R,
) -> io::Result<Box<dyn Read + Send>> {
    Ok(match compression {
        Compression::Plain => Box::new(stored),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(stored)),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(stored)?),
        Compression::UnixCompress => Box::new(LzwReader::new(stored)?),
    })
}

impl Read for Input {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buf)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.reader.consume(amount);
    }
}

/// Whether the path means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
