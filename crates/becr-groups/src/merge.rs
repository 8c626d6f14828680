//! Several count files into one, in one pass where there are few and in several where there are many.

use crate::Error;
use crate::file::{CountFile, Entries, Entry, Writer};
use crate::output::Purpose;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::Path;

/// What one open file takes while it is merged: decoder window and buffers.
const BYTES_PER_INPUT: usize = 2 << 20;
const MOST_INPUTS: usize = 128;

impl CountFile {
    /// Adds up `files`, the counts of the parts of a corpus, into one file at `out`. The result depends
    /// on the documents alone, not on how they were spread over the parts.
    ///
    /// Takes about `memory` bytes; a great many files are merged in several passes through a folder
    /// that is made in `scratch` and removed at the end.
    pub fn merge(
        files: &[CountFile],
        out: &Path,
        scratch: &Path,
        memory: usize,
    ) -> Result<CountFile, Error> {
        let at_once = (memory / BYTES_PER_INPUT).clamp(2, MOST_INPUTS);
        let folder = tempfile::Builder::new()
            .prefix("becr-merge-")
            .tempdir_in(scratch)
            .map_err(Error::io(scratch, "create a scratch folder"))?;
        let mut files = files.to_vec();
        let mut passes = 0;
        while files.len() > at_once {
            let part: Vec<CountFile> = files.drain(..at_once).collect();
            let merged = merge_at_once(
                &part,
                &folder.path().join(passes.to_string()),
                Purpose::Scratch,
            )?;
            // What an earlier pass has written here is not needed any more; the caller's files stay.
            for file in part.iter().filter(|f| f.path().starts_with(folder.path())) {
                std::fs::remove_file(file.path())
                    .map_err(Error::io(file.path(), "remove the file"))?;
            }
            files.push(merged);
            passes += 1;
        }
        merge_at_once(&files, out, Purpose::Result)
    }
}

fn merge_at_once(files: &[CountFile], out: &Path, purpose: Purpose) -> Result<CountFile, Error> {
    let first = files.first().ok_or(Error::NothingToMerge)?;
    for file in files {
        if file.window() != first.window() {
            return Err(Error::Window {
                path: file.path().to_owned(),
                expected: first.window(),
                found: file.window(),
            });
        }
    }
    let mut writer = Writer::create(out, first.window(), purpose)?;
    let mut heads = BinaryHeap::with_capacity(files.len());
    for file in files {
        let mut head = Head {
            entry: Entry::default(),
            rest: file.entries()?,
        };
        if head.rest.read(&mut head.entry)? {
            heads.push(head);
        }
    }
    let mut sum = Entry::default();
    while let Some(mut head) = heads.peek_mut() {
        if sum.key != head.entry.key {
            write(&mut writer, &sum)?;
            sum.clone_from(&head.entry);
        } else {
            sum.documents += head.entry.documents;
            sum.occurrences += head.entry.occurrences;
        }
        let head_ref = &mut *head;
        if !head_ref.rest.read(&mut head_ref.entry)? {
            PeekMut::pop(head);
        }
    }
    write(&mut writer, &sum)?;
    let total = |number: fn(&CountFile) -> u64| files.iter().map(number).sum();
    writer.finish(
        total(|file| file.totals().documents),
        total(|file| file.totals().words),
        total(|file| file.totals().long_words),
    )
}

fn write(writer: &mut Writer, sum: &Entry) -> Result<(), Error> {
    match sum.documents {
        0 => Ok(()), // before the first
        _ => writer.write(&sum.key, sum.documents, sum.occurrences),
    }
}

/// The next group of one of the files. The heap's largest has the smallest key.
struct Head {
    entry: Entry,
    rest: Entries,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        other.entry.key.cmp(&self.entry.key)
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}
