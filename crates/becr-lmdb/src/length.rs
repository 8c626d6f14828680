//! Whether the store's file is as long as what was written to it.
//!
//! To read beyond the end of a mapped file ends the process with a signal. A healthy file may be shorter than the
//! pages that LMDB counts: a page that a transaction took and gave back is never written, so that the file may end
//! before it. Such pages are in LMDB's list of free pages and are never read before they are written. So a file
//! is whole if all pages that it lacks are free.
//!
//! The layout is that of LMDB's data version 1, in the machine's byte order: pages begin with 16 bytes, of which
//! bytes 10 and 11 are flags and 12 and 13 the end of the node offsets; pages 0 and 1 are the meta pages of the last two
//! transactions.

use crate::engine::engine;
use becr_store::StoreError;
use heed::{Env, WithoutTls};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(crate) const HEADER: usize = 16;
pub(crate) const BRANCH: u16 = 0x01;
pub(crate) const LEAF: u16 = 0x02;
/// A node's flag: its value lies in pages of its own.
pub(crate) const BIG: u16 = 0x01;
/// LMDB's "no page".
pub(crate) const NONE: u64 = u64::MAX;
/// A tree of pages is never deeper; deeper is damage.
pub(crate) const DEPTH: usize = 32;
/// How often the meta page of the read transaction is looked for while a writer goes on committing.
pub(crate) const TRIES: usize = 100;

/// Refuses a file that was cut short. Never changes it.
pub(crate) fn check(env: &Env<WithoutTls>, dir: &Path) -> Result<(), StoreError> {
    let path = dir.join("data.mdb");
    let io = || StoreError::io(&path, "cannot read");
    let file = env.try_clone_inner_file().map_err(engine(dir))?;
    let page = u64::from(env.stat().page_size);
    for _ in 0..TRIES {
        // The file only grows, and pages are written before the meta page that counts them, so the meta page must be read
        // before the length.
        let expected = (env.info().last_page_number as u64 + 1) * page;
        if file.metadata().map_err(io())?.len() >= expected {
            return Ok(());
        }
        // While this read transaction lives, no writer reuses the pages that it sees.
        let txn = env.read_txn().map_err(engine(dir))?;
        let Some(meta) = MetaPage::read(&file, page, txn.id() as u64) else {
            continue;
        };
        let found = file.metadata().map_err(io())?.len();
        let expected = (meta.last_page + 1) * page;
        if found >= expected {
            return Ok(());
        }
        let lacking = found / page..meta.last_page + 1;
        let pages = Pages { file: &file, page };
        if pages.all_free(meta.free_root, lacking) == Some(true) {
            return Ok(());
        }
        return Err(StoreError::Truncated {
            path,
            found,
            expected,
        });
    }
    Err(StoreError::Damaged {
        path,
        what: "the store's file".into(),
        reason: "its meta pages do not belong to the transaction that is read".into(),
    })
}

/// What the meta page of a transaction says.
struct MetaPage {
    /// Where the tree of free pages begins.
    free_root: u64,
    last_page: u64,
}

impl MetaPage {
    /// The meta page of a transaction; `None` if it was overwritten, or cannot be read.
    fn read(file: &File, page: u64, transaction: u64) -> Option<Self> {
        (0..2).find_map(|number| {
            let mut bytes = [0; 152];
            file.read_exact_at(&mut bytes, number * page).ok()?;
            let found = Self {
                // The first of two tables of 48 bytes, which end with their root.
                free_root: u64_at(&bytes, HEADER + 24 + 40)?,
                last_page: u64_at(&bytes, HEADER + 120)?,
            };
            (u64_at(&bytes, HEADER + 128)? == transaction).then_some(found)
        })
    }
}

/// The pages of a file.
struct Pages<'a> {
    file: &'a File,
    page: u64,
}

impl Pages<'_> {
    /// Whether all pages of a range are in the tree of free ones; `None` if that cannot be read.
    fn all_free(&self, root: u64, range: std::ops::Range<u64>) -> Option<bool> {
        let mut free = Vec::new();
        if root != NONE {
            self.collect(root, DEPTH, &mut |page| {
                if range.contains(&page) {
                    free.push(page);
                }
            })?;
        }
        free.sort_unstable();
        free.dedup();
        Some(free.len() as u64 == range.end - range.start)
    }

    /// Visits the numbers of the free pages below a page of the tree.
    fn collect(&self, number: u64, depth: usize, visit: &mut dyn FnMut(u64)) -> Option<()> {
        let page = self.read(number.checked_mul(self.page)?, self.page as usize)?;
        let (flags, lower) = (u16_at(&page, 10)?, usize::from(u16_at(&page, 12)?));
        let nodes = (HEADER..lower).step_by(2);
        for place in nodes {
            let node = usize::from(u16_at(&page, place)?);
            let parts = [0, 2, 4, 6].map(|at| u16_at(&page, node + at));
            let [low, high, more, key] = match cfg!(target_endian = "little") {
                true => parts,
                false => [parts[1], parts[0], parts[2], parts[3]],
            };
            let (low, high, more) = (u64::from(low?), u64::from(high?), more?);
            let size = low | high << 16;
            if flags & BRANCH != 0 {
                self.collect(size | u64::from(more) << 32, depth.checked_sub(1)?, visit)?;
                continue;
            }
            if flags & LEAF == 0 {
                return None;
            }
            let (at, size) = (node + 8 + usize::from(key?), size as usize);
            let list = if more & BIG != 0 {
                let first = u64_at(&page, at)?.checked_mul(self.page)?;
                self.read(first.checked_add(HEADER as u64)?, size)?
            } else {
                page.get(at..at + size)?.to_vec()
            };
            // How many there are, then the numbers.
            let mut numbers = list.as_chunks().0.iter().map(|n| u64::from_ne_bytes(*n));
            let count = numbers.next()?;
            numbers
                .take(usize::try_from(count).ok()?)
                .for_each(&mut *visit);
        }
        Some(())
    }

    fn read(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        let end = at.checked_add(length as u64)?;
        if end > self.file.metadata().ok()?.len() {
            return None;
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}
