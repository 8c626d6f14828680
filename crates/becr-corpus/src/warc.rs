//! WARC files: ClueWeb09's WARC/0.18, whose record lengths are off by a few bytes, and standard WARC/1.x.

use std::io;

use crate::error::{ErrorKind, Fault, Place};
use crate::http::Headers;
use crate::records::{Found, Records};
use crate::rewind::Rewind;
use crate::web::content;

/// The largest record held in memory.
pub(crate) const LONGEST_RECORD: usize = 64 * 1024 * 1024;
/// The largest header of a record, and the longest line looked at while searching for the next record.
const LONGEST_HEADER: usize = 64 * 1024;
/// How many bytes the last record of a WARC/0.18 file may be short of its stated length.
const SHORTFALL: u64 = 64;

/// Pages of a WARC file.
pub(crate) struct Warc {
    stream: Rewind,
    records: u64,
    ended: bool,
}

/// A record as stored.
struct Record {
    place: Place,
    headers: Headers,
    body: Vec<u8>,
}

/// What stands where a record should begin.
enum Start {
    Record { old: bool },
    Other(Vec<u8>),
    End,
}

impl Warc {
    pub(crate) fn new(stream: Rewind) -> Self {
        Self {
            stream,
            records: 0,
            ended: false,
        }
    }

    fn record(&mut self) -> Result<Option<Record>, Fault> {
        let byte = self.stream.offset();
        let place = Place::Record {
            number: self.records + 1,
            byte,
        };
        let result = self.start().and_then(|start| match start {
            Start::End => Ok(Ok(None)),
            Start::Other(line) => {
                self.resynchronise()?;
                let found = format!("{:?}", String::from_utf8_lossy(&line[..line.len().min(40)]));
                Ok(Err(ErrorKind::Form {
                    expected: "a line with WARC/ and a version",
                    found,
                }))
            }
            Start::Record { old } => {
                self.records += 1;
                Ok(self.content(old)?.map(|(headers, body)| {
                    Some(Record {
                        place,
                        headers,
                        body,
                    })
                }))
            }
        });
        match result {
            Ok(Ok(record)) => Ok(record),
            Ok(Err(kind)) => Err(Fault { place, kind }),
            Err(error) => {
                self.ended = true;
                Err(Fault {
                    place,
                    kind: self.stream.explain(error),
                })
            }
        }
    }

    /// Passes over blank lines and reads the version line.
    fn start(&mut self) -> io::Result<Start> {
        loop {
            let line = self.stream.line(LONGEST_HEADER)?;
            match line.trim_ascii() {
                [] if line.is_empty() => return Ok(Start::End),
                [] => {}
                version if is_version(version) => {
                    return Ok(Start::Record {
                        old: version.starts_with(b"WARC/0."),
                    });
                }
                _ => return Ok(Start::Other(line)),
            }
        }
    }

    /// Header and body after the version line.
    fn content(&mut self, old: bool) -> io::Result<Result<(Headers, Vec<u8>), ErrorKind>> {
        let headers = match self.headers()? {
            Ok(headers) => headers,
            Err(kind) => return Ok(Err(kind)),
        };
        let stated = headers.get("Content-Length").unwrap_or_default();
        let Ok(length) = stated.parse::<u64>() else {
            let found = format!("{stated:?}");
            self.resynchronise()?;
            return Ok(Err(ErrorKind::Form {
                expected: "a Content-Length with a number",
                found,
            }));
        };
        if length > LONGEST_RECORD as u64 {
            // The number may be damaged, so the next record is searched for rather than jumped to.
            self.resynchronise()?;
            return Ok(Err(ErrorKind::TooLong {
                limit: LONGEST_RECORD,
            }));
        }
        let mut body = self.stream.bytes(length)?;
        let missing = length - body.len() as u64;
        let realigned = self.realign(&mut body, missing > 0)?;
        if missing > 0 && !realigned && !(old && missing <= SHORTFALL) {
            return Ok(Err(ErrorKind::Truncated {
                inside: "a WARC record",
            }));
        }
        Ok(Ok((headers, body)))
    }

    /// The record's header lines. ClueWeb09 has headers with a blank line in them, so that one ends at a blank line only
    /// once the length is known.
    fn headers(&mut self) -> io::Result<Result<Headers, ErrorKind>> {
        let mut headers = Headers::default();
        let mut size = 0;
        loop {
            let line = self.stream.line(LONGEST_HEADER)?;
            size += line.len();
            if line.is_empty() {
                return Ok(Err(ErrorKind::Truncated {
                    inside: "a WARC header",
                }));
            }
            let trimmed = line.trim_ascii();
            let length_known = headers.get("Content-Length").is_some();
            if trimmed.is_empty() && length_known {
                return Ok(Ok(headers));
            }
            if is_version(trimmed) || size > LONGEST_HEADER {
                self.stream.unread(&line);
                self.resynchronise()?;
                let found = "a header without it".to_owned();
                return Ok(Err(ErrorKind::Form {
                    expected: "a Content-Length and a blank line",
                    found,
                }));
            }
            headers.add(trimmed);
        }
    }

    /// Moves to the next line that begins a record.
    fn resynchronise(&mut self) -> io::Result<()> {
        let mut at_line_start = true;
        loop {
            let line = self.stream.line(LONGEST_HEADER)?;
            if line.is_empty() {
                return Ok(());
            }
            if at_line_start && is_version(line.trim_ascii()) {
                self.stream.unread(&line);
                return Ok(());
            }
            at_line_start = line.ends_with(b"\n");
        }
    }

    /// Puts right a body whose stated length was wrong: the next record must begin after it. True if it was cut.
    fn realign(&mut self, body: &mut Vec<u8>, short: bool) -> io::Result<bool> {
        let stated = body.len();
        let mut blank = true;
        loop {
            let line = self.stream.line(LONGEST_HEADER)?;
            let trimmed = line.trim_ascii();
            if is_version(trimmed) {
                self.stream.unread(&line);
                break;
            }
            if line.is_empty() || body.len() > LONGEST_RECORD {
                break;
            }
            blank &= trimmed.is_empty();
            body.extend_from_slice(&line);
        }
        if blank && !short {
            body.truncate(stated);
            return Ok(false);
        }
        // Stated too long, the body swallowed the beginning of the next record.
        let Some(at) = next_record(body) else {
            return Ok(false);
        };
        self.stream.unread(&body[at..]);
        body.truncate(at);
        Ok(true)
    }
}

impl Records for Warc {
    fn next(&mut self) -> Option<Result<Found, Fault>> {
        while !self.ended {
            match self.record() {
                Err(fault) => return Some(Err(fault)),
                Ok(None) => self.ended = true,
                Ok(Some(record)) => {
                    if let Some(found) = content(&record.headers, &record.body) {
                        return Some(
                            found
                                .map(|content| Found {
                                    place: record.place,
                                    content,
                                    converted: None,
                                    bytes: None,
                                })
                                .map_err(|kind| Fault {
                                    place: record.place,
                                    kind,
                                }),
                        );
                    }
                }
            }
        }
        None
    }
}

/// `WARC/` and a version, nothing else on the line.
fn is_version(line: &[u8]) -> bool {
    line.strip_prefix(b"WARC/").is_some_and(|version| {
        matches!(version, [b'0'..=b'9', b'.', rest @ ..] if (1..=2).contains(&rest.len()) && rest.iter().all(u8::is_ascii_digit))
    })
}

/// Offset of the first record that begins inside a body: a version line with a WARC header after it.
fn next_record(body: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(body, b"\nWARC/")
        .map(|at| at + 1)
        .find(|&at| {
            let mut lines = body[at..].split(|&byte| byte == b'\n');
            let version = lines
                .next()
                .is_some_and(|line| is_version(line.trim_ascii()));
            version
                && lines
                    .next()
                    .is_some_and(|line| line.starts_with(b"WARC-") || line.starts_with(b"Content-"))
        })
}
