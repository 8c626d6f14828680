//! TREC SGML as on disks 4 and 5: Financial Times, Federal Register 94, FBIS, LA Times, and others of the kind.

use crate::charset::decode_legacy;
use crate::error::{ErrorKind, Fault};
use crate::flow::Flow;
use crate::lines::{LONGEST, Lines};
use crate::markup::{Markup, Token, push_decoded};
use crate::records::{Found, Records};
use becr_basics::Document;

/// Title tags of the sub-collections: FT and LA Times, WSJ, AP, FBIS (`<H3> <TI>`), Ziff, and common ones.
const TITLE: [&str; 7] = ["HEADLINE", "HL", "HEAD", "TI", "H3", "TITLE", "TTL"];
/// The Federal Register's title stands inside the text.
const TITLE_IN_TEXT: &str = "DOCTITLE";
/// Body tags: `TEXT` everywhere, lead paragraphs in WSJ and Ziff.
const BODY: [&str; 4] = ["TEXT", "LP", "LEADPARA", "BODY"];

/// Tags of type faces, which do not end a word. Others do, whatever they mean in HTML: `<S>` may be a sentence.
const INLINE: [&str; 11] = [
    "B", "I", "U", "EM", "STRONG", "SUB", "SUP", "TT", "CODE", "SPAN", "FONT",
];

/// Documents of an SGML file, found between `<DOC>` and `</DOC>`.
pub(crate) struct TrecSgml {
    lines: Lines,
    /// The line last read, and how much of it is done.
    line: Vec<u8>,
    at: usize,
    record: Vec<u8>,
    /// Line of the `<DOC>` we are in.
    inside: Option<u64>,
    /// How the file begins, until a record has been found: a file without any is not what it was said to be.
    opening: Option<String>,
}

impl TrecSgml {
    pub(crate) fn new(lines: Lines) -> Self {
        Self {
            lines,
            line: Vec::new(),
            at: 0,
            record: Vec::new(),
            inside: None,
            opening: Some(String::new()),
        }
    }

    /// Reads the next line, or the error or end that takes its place.
    fn read_line(&mut self) -> Option<Result<(), Fault>> {
        self.line.clear();
        self.at = 0;
        match self.lines.next_bytes() {
            Some(Ok(line)) => {
                self.line.extend_from_slice(line);
                self.line.push(b'\n');
                Some(Ok(()))
            }
            Some(Err(fault)) => {
                // The record it belongs to is lost with it.
                self.inside = None;
                Some(Err(fault))
            }
            None => {
                if let Some(found) = self.opening.take().filter(|found| !found.is_empty()) {
                    return Some(Err(Fault::line(
                        1,
                        ErrorKind::Form {
                            expected: "<DOC> records",
                            found,
                        },
                    )));
                }
                let started = self.inside.take()?;
                let kind = ErrorKind::Truncated {
                    inside: "a <DOC> record without </DOC>",
                };
                Some(Err(Fault::line(started, kind)))
            }
        }
    }

    /// Moves on to the inside of the next record.
    fn enter(&mut self) {
        match find_tag(&self.line[self.at..], b"<DOC") {
            Some((_, end)) => {
                self.at += end;
                self.record.clear();
                self.inside = Some(self.lines.number());
                self.opening = None;
            }
            None => {
                let line = self.line.trim_ascii();
                if let Some(opening) = self
                    .opening
                    .as_mut()
                    .filter(|opening| opening.is_empty() && !line.is_empty())
                {
                    *opening =
                        format!("{:?}", String::from_utf8_lossy(&line[..line.len().min(40)]));
                }
                self.at = self.line.len();
            }
        }
    }

    /// Takes the rest of the line into the record; true if the record ends in it.
    fn take(&mut self) -> bool {
        let rest = &self.line[self.at..];
        let (length, next) = find_tag(rest, b"</DOC").unwrap_or((rest.len(), rest.len()));
        self.record.extend_from_slice(&rest[..length]);
        self.at += next;
        length < next
    }

    fn finish(&mut self, started: u64) -> Result<Found, Fault> {
        self.inside = None;
        document(&decode_legacy(&self.record))
            .map(|document| Found::line(started, document))
            .map_err(|kind| Fault::line(started, kind))
    }
}

impl Records for TrecSgml {
    fn next(&mut self) -> Option<Result<Found, Fault>> {
        loop {
            if self.at >= self.line.len()
                && let Err(fault) = self.read_line()?
            {
                return Some(Err(fault));
            }
            let Some(started) = self.inside else {
                self.enter();
                continue;
            };
            if self.line[self.at..]
                .get(..5)
                .is_some_and(|tag| tag.eq_ignore_ascii_case(b"<DOC>"))
            {
                self.inside = None;
                return Some(Err(Fault::line(
                    started,
                    ErrorKind::Form {
                        expected: "</DOC> before the next <DOC>",
                        found: "an unclosed record".to_owned(),
                    },
                )));
            }
            if self.take() {
                return Some(self.finish(started));
            }
            if self.record.len() > LONGEST {
                self.inside = None;
                return Some(Err(Fault::line(
                    started,
                    ErrorKind::TooLong { limit: LONGEST },
                )));
            }
        }
    }
}

/// Where a tag whose name ends here begins and ends, in any case; `<DOC` does not find `<DOCNO>`.
fn find_tag(line: &[u8], open: &[u8]) -> Option<(usize, usize)> {
    memchr::memchr_iter(b'<', line).find_map(|at| {
        let name = line.get(at..at + open.len())?;
        let after = &line[at + open.len()..];
        let ends = after
            .first()
            .is_some_and(|&byte| byte == b'>' || byte.is_ascii_whitespace());
        if !name.eq_ignore_ascii_case(open) || !ends {
            return None;
        }
        Some((at, at + open.len() + memchr::memchr(b'>', after)? + 1))
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Field {
    Id,
    Title,
    Body,
}

impl Field {
    /// The field a tag opens, given whether we are in the body already.
    fn of(name: &str, in_body: bool) -> Option<Self> {
        let is = |known: &&str| name.eq_ignore_ascii_case(known);
        match in_body {
            _ if is(&TITLE_IN_TEXT) => Some(Self::Title),
            true => None,
            false if is(&"DOCNO") => Some(Self::Id),
            false if TITLE.iter().any(is) => Some(Self::Title),
            false if BODY.iter().any(is) => Some(Self::Body),
            false => None,
        }
    }
}

/// The document of one record.
fn document(record: &str) -> Result<Document, ErrorKind> {
    let (mut id, mut title, mut text) = (Flow::default(), Flow::default(), Flow::default());
    // Fields we are in, the innermost last: FBIS nests its title tags, FR94 has its title in the text.
    let mut open: Vec<(&str, Field)> = Vec::new();
    for (_, token) in Markup::new(record) {
        match token {
            Token::Open(name, _) => {
                let in_body = open.last().is_some_and(|&(_, field)| field == Field::Body);
                if let Some(field) = Field::of(name, in_body) {
                    open.push((name, field));
                }
            }
            Token::Close(name) => {
                if let Some(at) = open
                    .iter()
                    .rposition(|(known, _)| known.eq_ignore_ascii_case(name))
                {
                    open.truncate(at);
                }
            }
            Token::Text(piece) => match open.last() {
                Some((_, Field::Id)) => push_decoded(&mut id, piece),
                Some((_, Field::Title)) => push_decoded(&mut title, piece),
                Some((_, Field::Body)) => push_decoded(&mut text, piece),
                None => {}
            },
        }
        let is_inline = |name: &str| INLINE.iter().any(|known| name.eq_ignore_ascii_case(known));
        if let Token::Open(name, _) | Token::Close(name) = token
            && !is_inline(name)
        {
            title.break_word();
            text.break_word();
        }
    }
    if id.is_empty() {
        return Err(ErrorKind::MissingId {
            expected: "<DOCNO> in the <DOC> record",
        });
    }
    Ok(Document {
        id: id.into_text(),
        title: title.into_text(),
        text: text.into_text(),
        ..Document::default()
    })
}
