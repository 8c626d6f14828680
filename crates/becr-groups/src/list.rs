//! The token groups of an index: what will be encoded and stored.
//!
//! A text file that people and other programs can read:
//!
//! ```text
//! becr-groups 1 window 3 documents 12000
//! neural<TAB>412
//! neural ranking<TAB>37
//! end 2 6c1f…
//! ```
//!
//! One line a group, its key and its document frequency, in the byte order of keys. A key is a word, a
//! WordPiece (`##ing`), or two words with a space between them. The last line has the number of groups
//! and the XXH3-128 of all bytes before it.

use crate::Error;
use crate::file::is_pair;
use crate::output::{Output, Purpose};
use becr_text::groups::TokenGroup;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const VERSION: &str = "1";
/// Longer than any line of a list.
const MAX_LINE_BYTES: u64 = 4096;

/// A token group and its document frequency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The group; displayed, it is its key.
    pub group: TokenGroup,
    /// In how many documents of the corpus it is. 0 for a WordPiece that is no word of the corpus, and
    /// for what only the query log has.
    pub documents: u64,
}

/// A finished list of token groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupList {
    path: PathBuf,
    window: u32,
    documents: u64,
    groups: u64,
    digest: u128,
}

impl GroupList {
    /// Opens a list and reads its first and last line; the groups are checked as they are read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut file = File::open(path).map_err(Error::io(path, "open the list of groups"))?;
        let mut head = Vec::new();
        let read = (&mut file).take(MAX_LINE_BYTES).read_to_end(&mut head);
        let fail = || Error::io(path, "read the list of groups");
        read.map_err(fail())?;
        let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let (window, documents) = parse_first(first)
            .ok_or_else(|| corrupt(path, "its first line is not that of one".into()))?;
        let length = file.metadata().map_err(fail())?.len();
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(length.saturating_sub(MAX_LINE_BYTES)))
            .and_then(|_| file.read_to_end(&mut tail))
            .map_err(fail())?;
        let (groups, digest) =
            parse_last(&tail).ok_or_else(|| corrupt(path, "its last line is missing".into()))?;
        Ok(Self {
            path: path.to_owned(),
            window,
            documents,
            groups,
            digest,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The largest distance between the words of a pair.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Documents of the corpus that was counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// How many groups there are.
    pub fn len(&self) -> u64 {
        self.groups
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.groups == 0
    }

    /// A hash of the list, in hexadecimal.
    pub fn digest(&self) -> String {
        format!("{:032x}", self.digest)
    }

    /// Reads the groups in the order of their keys, one at a time. Damage that only the digest shows is
    /// reported at the end.
    pub fn iter(&self) -> Result<Groups, Error> {
        let file = File::open(&self.path).map_err(Error::io(&self.path, "open the list"))?;
        let mut groups = Groups {
            input: BufReader::with_capacity(256 * 1024, file),
            list: self.clone(),
            hash: Xxh3::new(),
            line: Vec::new(),
            last: Vec::new(),
            read: 0,
            ended: false,
        };
        groups.next_line()?;
        groups.hash.update(&groups.line);
        Ok(groups)
    }
}

fn parse_first(line: &[u8]) -> Option<(u32, u64)> {
    let fields: Vec<&str> = str::from_utf8(line).ok()?.split(' ').collect();
    match fields[..] {
        [
            "becr-groups",
            VERSION,
            "window",
            window,
            "documents",
            documents,
        ] => Some((window.parse().ok()?, documents.parse().ok()?)),
        _ => None,
    }
}

fn parse_last(tail: &[u8]) -> Option<(u64, u128)> {
    let line = tail
        .strip_suffix(b"\n")?
        .rsplit(|&byte| byte == b'\n')
        .next()?;
    let fields: Vec<&str> = str::from_utf8(line).ok()?.split(' ').collect();
    match fields[..] {
        ["end", groups, digest] => {
            Some((groups.parse().ok()?, u128::from_str_radix(digest, 16).ok()?))
        }
        _ => None,
    }
}

fn corrupt(path: &Path, found: String) -> Error {
    Error::Corrupt {
        path: path.to_owned(),
        expected: "list of token groups (version 1)",
        found,
        remedy: "select the groups again",
    }
}

/// The groups of a list, one after the other.
pub struct Groups {
    input: BufReader<File>,
    list: GroupList,
    hash: Xxh3,
    line: Vec<u8>,
    last: Vec<u8>,
    read: u64,
    ended: bool,
}

impl Groups {
    /// The next key and document frequency; `None` after the last.
    pub(crate) fn read(&mut self) -> Result<Option<(&str, u64)>, Error> {
        if self.ended {
            return Ok(None);
        }
        self.next_line()?;
        if self.read == self.list.groups {
            self.ended = true;
            return self.check_end().map(|()| None);
        }
        self.read += 1;
        self.hash.update(&self.line);
        let parsed = parse_group(&self.line);
        let Some((key, documents)) = parsed.filter(|(key, _)| key.as_bytes() > &self.last[..])
        else {
            self.ended = true;
            let found = format!(
                "line {}: expected a key after the last, a tab and a number",
                self.read + 1
            );
            return Err(corrupt(&self.list.path, found));
        };
        self.last.clear();
        self.last.extend_from_slice(key.as_bytes());
        Ok(Some((key, documents)))
    }

    fn next_line(&mut self) -> Result<(), Error> {
        self.line.clear();
        let mut input = (&mut self.input).take(MAX_LINE_BYTES);
        let read = input.read_until(b'\n', &mut self.line);
        read.map(drop)
            .map_err(Error::io(&self.list.path, "read the list of groups"))
    }

    fn check_end(&mut self) -> Result<(), Error> {
        let digest = self.hash.digest128();
        let path = &self.list.path;
        if parse_last(&self.line) != Some((self.list.groups, digest)) {
            return Err(corrupt(path, "its checksum does not match".into()));
        }
        self.next_line()?;
        match self.line.is_empty() {
            true => Ok(()),
            false => Err(corrupt(&self.list.path, "more lines than it says".into())),
        }
    }
}

fn parse_group(line: &[u8]) -> Option<(&str, u64)> {
    let line = str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (key, documents) = line.split_once('\t')?;
    Some((key, documents.parse().ok()?))
}

impl Iterator for Groups {
    type Item = Result<Group, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.read().transpose()?.map(|(key, documents)| Group {
            group: match key.split_once(' ') {
                Some((first, second)) => TokenGroup::Pair(first.into(), second.into()),
                None => TokenGroup::Unigram(key.into()),
            },
            documents,
        });
        Some(group)
    }
}

/// Writes a list.
pub(crate) struct Writer {
    output: Output,
    hash: Xxh3,
    line: String,
    list: GroupList,
}

impl Writer {
    pub(crate) fn create(path: &Path, window: u32, documents: u64) -> Result<Self, Error> {
        let mut writer = Self {
            output: Output::create(path, Purpose::Result)?,
            hash: Xxh3::new(),
            line: format!("becr-groups {VERSION} window {window} documents {documents}\n"),
            list: GroupList {
                path: path.to_owned(),
                window,
                documents,
                groups: 0,
                digest: 0,
            },
        };
        writer.write_line()?;
        Ok(writer)
    }

    /// Appends a group. Keys must rise.
    pub(crate) fn write(&mut self, key: &str, documents: u64) -> Result<(), Error> {
        use std::fmt::Write as _;
        self.line.clear();
        self.line.push_str(key);
        // Writing to a string cannot fail.
        let _ = writeln!(self.line, "\t{documents}");
        self.list.groups += 1;
        self.write_line()
    }

    fn write_line(&mut self) -> Result<(), Error> {
        self.hash.update(self.line.as_bytes());
        let written = self.output.write_all(self.line.as_bytes());
        written.map_err(Error::io(self.output.path(), "write the list of groups"))
    }

    pub(crate) fn finish(mut self) -> Result<GroupList, Error> {
        self.list.digest = self.hash.digest128();
        self.line = format!("end {} {}\n", self.list.groups, self.list.digest());
        self.write_line()?;
        self.output.commit()?;
        Ok(self.list)
    }
}

/// How much of some queries a list has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Coverage {
    /// Queries that were asked.
    pub queries: u64,
    /// Their words. A word that is not found falls back to its WordPieces.
    pub words: Share,
    /// Their pairs. A pair that is not found is left out.
    pub pairs: Share,
}

/// A part of a whole, counted in two ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Share {
    /// Distinct groups.
    pub distinct: u64,
    /// Those that were found.
    pub distinct_found: u64,
    /// Every time a group is asked for.
    pub occurrences: u64,
    /// Those for groups that were found.
    pub occurrences_found: u64,
}

impl GroupList {
    /// Looks up the groups of queries that a [`crate::Counter`] has counted, a query a document.
    pub fn coverage(&self, queries: &crate::CountFile) -> Result<Coverage, Error> {
        if queries.window() != self.window {
            return Err(Error::Window {
                path: queries.path().to_owned(),
                expected: self.window,
                found: queries.window(),
            });
        }
        let mut coverage = Coverage {
            queries: queries.totals().documents,
            ..Coverage::default()
        };
        let mut groups = self.iter()?;
        let mut known = groups.read()?.map(|(key, _)| key.to_owned());
        for entry in queries.entries()? {
            let entry = entry?;
            while known.as_ref().is_some_and(|known| *known < entry.key) {
                known = groups.read()?.map(|(key, _)| key.to_owned());
            }
            let found = known.as_ref() == Some(&entry.key);
            match is_pair(&entry.key) {
                true => coverage.pairs.add(entry.occurrences, found),
                false => coverage.words.add(entry.occurrences, found),
            }
        }
        // To its end, where a damaged list shows.
        while groups.read()?.is_some() {}
        Ok(coverage)
    }
}

impl Share {
    fn add(&mut self, occurrences: u64, found: bool) {
        self.distinct += 1;
        self.occurrences += occurrences;
        if found {
            self.distinct_found += 1;
            self.occurrences_found += occurrences;
        }
    }
}
