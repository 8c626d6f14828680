//! Whether the pages of the store's file are a store: LMDB trusts them, and follows a damaged one out of the file.
//!
//! Reads the file itself, page by page, and looks at everything that LMDB would rely on: where pages say they are, what
//! they say they hold, the places of nodes within them, the order of keys, the counts of every table, and that no page
//! is used twice or both used and free. What values say is not looked at. The layout is that of `length.rs`.

use crate::engine::engine;
use crate::length::{BIG, BRANCH, DEPTH, HEADER, LEAF, NONE, TRIES, u16_at, u64_at};
use becr_store::StoreError;
use heed::{Env, WithoutTls};
use std::cmp::Ordering;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A page's flag: the first of those that a large value has.
const OVERFLOW: u16 = 0x04;
/// A node's flag: its value is the root of a table.
const TABLE: u16 = 0x02;
/// A table's flag: its keys are numbers. Only the list of free pages has such.
const NUMBERS: u16 = 0x08;
const MAGIC: u64 = 0x0000_0001_BEEF_C0DE;
/// So many free pages at the end may lack: more than the largest value takes.
const MOST_LACKING: u64 = 1 << 22;
/// Bytes of what is known of a table.
const ROOT: usize = 48;

/// Refuses a store whose pages are damaged. Never changes it.
pub(crate) fn check(env: &Env<WithoutTls>, dir: &Path) -> Result<(), StoreError> {
    let path = dir.join("data.mdb");
    let damaged = |what: &str, reason: String| StoreError::Damaged {
        path: path.clone(),
        what: what.to_owned(),
        reason,
    };
    let file = env.try_clone_inner_file().map_err(engine(dir))?;
    let page = u64::from(env.stat().page_size);
    for _ in 0..TRIES {
        // While this transaction lives, a writer leaves the pages that it sees alone.
        let txn = env.read_txn().map_err(engine(dir))?;
        let headers = Headers::read(&file, page)
            .map_err(|reason| damaged("the header of the file", reason))?;
        let Some(header) = headers.of(txn.id() as u64) else {
            // A writer has gone on meanwhile.
            continue;
        };
        let length = file
            .metadata()
            .map_err(StoreError::io(&path, "cannot read"))?
            .len();
        // Free pages at the end may never have been written, but not that many.
        if header.last_page > length / page + MOST_LACKING {
            return Err(damaged(
                "the header of the file",
                "it counts too many pages".into(),
            ));
        }
        let mut walk = Walk {
            file: &file,
            page,
            seen: vec![false; header.last_page as usize + 1],
            transaction: txn.id() as u64,
        };
        return walk
            .all(header)
            .map_err(|(what, reason)| damaged(&what, reason));
    }
    Err(damaged(
        "the header of the file",
        "it is not that of the transaction that is read".into(),
    ))
}

/// The headers of the last two transactions, which take turns.
struct Headers([Header; 2]);

#[derive(Clone, Copy)]
struct Header {
    free: Root,
    main: Root,
    last_page: u64,
    transaction: u64,
}

/// What is known of a table.
#[derive(Clone, Copy)]
struct Root {
    flags: u16,
    depth: u16,
    branches: u64,
    leaves: u64,
    overflow: u64,
    entries: u64,
    root: u64,
}

impl Root {
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            flags: u16_at(bytes, 4)?,
            depth: u16_at(bytes, 6)?,
            branches: u64_at(bytes, 8)?,
            leaves: u64_at(bytes, 16)?,
            overflow: u64_at(bytes, 24)?,
            entries: u64_at(bytes, 32)?,
            root: u64_at(bytes, 40)?,
        })
    }
}

impl Headers {
    fn read(file: &File, page: u64) -> Result<Self, String> {
        let read = |number: u64| -> Option<Header> {
            let mut bytes = [0; 152];
            file.read_exact_at(&mut bytes, number * page).ok()?;
            let is_header = u64_at(&bytes, 0)? == number
                && u16_at(&bytes, 10)? == 0x08
                && u64_at(&bytes, HEADER)? == MAGIC;
            Some(Header {
                free: Root::read(&bytes[HEADER + 24..])?,
                main: Root::read(&bytes[HEADER + 24 + ROOT..])?,
                last_page: u64_at(&bytes, HEADER + 120)?,
                transaction: u64_at(&bytes, HEADER + 128)?,
            })
            .filter(|_| is_header)
        };
        let (Some(even), Some(odd)) = (read(0), read(1)) else {
            return Err("one of its two copies cannot be read".into());
        };
        let (a, b) = (even.transaction, odd.transaction);
        if a % 2 != 0 || b % 2 != 1 || a.abs_diff(b) != 1 {
            return Err(format!(
                "its two copies are of the transactions {a} and {b}, which do not follow each other"
            ));
        }
        Ok(Self([even, odd]))
    }

    fn of(&self, transaction: u64) -> Option<Header> {
        let newest = self.0.into_iter().max_by_key(|header| header.transaction)?;
        (newest.transaction == transaction).then_some(newest)
    }
}

/// What is damaged, and how it shows.
type Fault = (String, String);

struct Walk<'a> {
    file: &'a File,
    page: u64,
    /// Pages that have been found, used or free.
    seen: Vec<bool>,
    transaction: u64,
}

/// A table while its pages are walked through.
struct Tree<'n> {
    name: &'n str,
    numbers: bool,
    counted: Root,
}

/// Takes the rows of a table: key, flags of the row, value; `None` if a row is not what it should be.
type VisitRows<'v> = dyn FnMut(&[u8], u16, &[u8]) -> Option<()> + 'v;

/// What keys below a page must lie between: not less than the first, less than the second.
type Between<'k> = (Option<&'k [u8]>, Option<&'k [u8]>);

impl Walk<'_> {
    fn all(&mut self, header: Header) -> Result<(), Fault> {
        self.seen.iter_mut().take(2).for_each(|seen| *seen = true);
        let mut tables = Vec::new();
        let is_plain = header.main.flags == 0 && header.free.flags & NUMBERS != 0;
        if !is_plain {
            let reason = "its tables have flags that no store has".to_owned();
            return Err(("the header of the file".into(), reason));
        }
        self.table("tables", header.main, &mut |key, flags, value| {
            let root = Root::read(value).filter(|_| flags & TABLE != 0);
            tables.push((String::from_utf8_lossy(key).into_owned(), root?));
            Some(())
        })?;
        for (name, root) in tables {
            if root.flags != 0 {
                let reason = "it has flags that no table of a store has".to_owned();
                return Err((format!("the table {name}"), reason));
            }
            self.table(&name, root, &mut |_, flags, _| (flags == 0).then_some(()))?;
        }
        let mut free = Vec::new();
        let transaction = self.transaction;
        self.table("free pages", header.free, &mut |key, flags, value| {
            let (list, rest) = value.as_chunks::<8>();
            let mut numbers = list.iter().map(|n| u64::from_ne_bytes(*n));
            let count = usize::try_from(numbers.next()?).ok()?;
            let is_list = count < list.len() && rest.is_empty() && flags == 0;
            free.extend(numbers.take(count));
            (is_list && u64_at(key, 0)? <= transaction).then_some(())
        })?;
        free.into_iter().try_for_each(|page| self.take(page, 1))
    }

    /// Notes that pages are used, or free; refuses those that were noted before.
    fn take(&mut self, first: u64, count: u64) -> Result<(), Fault> {
        for page in first..first.saturating_add(count) {
            let seen = usize::try_from(page)
                .ok()
                .and_then(|at| self.seen.get_mut(at));
            match seen {
                Some(seen) if !*seen => *seen = true,
                Some(_) => return Err(fault(page, "it is used twice, or both used and free")),
                None => return Err(fault(page, "it is not one of the file's")),
            }
        }
        Ok(())
    }

    fn table(&mut self, name: &str, root: Root, visit: &mut VisitRows<'_>) -> Result<(), Fault> {
        let zero = Root {
            branches: 0,
            leaves: 0,
            overflow: 0,
            entries: 0,
            ..root
        };
        let mut tree = Tree {
            name,
            numbers: root.flags & NUMBERS != 0,
            counted: zero,
        };
        if root.root != NONE {
            let depth = usize::from(root.depth);
            if !(1..=DEPTH).contains(&depth) {
                return Err((
                    format!("the table {name}"),
                    "it has no possible depth".into(),
                ));
            }
            self.walk(&mut tree, root.root, depth, (None, None), visit)?;
        }
        let counts = |r: &Root| [r.branches, r.leaves, r.overflow, r.entries];
        if counts(&root) != counts(&tree.counted) {
            let reason = format!(
                "branches, leaves, large pages and rows are said to be {:?}, found were {:?}",
                counts(&root),
                counts(&tree.counted)
            );
            return Err((format!("the table {name}"), reason));
        }
        Ok(())
    }

    fn walk(
        &mut self,
        tree: &mut Tree<'_>,
        number: u64,
        depth: usize,
        between: Between<'_>,
        visit: &mut VisitRows<'_>,
    ) -> Result<(), Fault> {
        self.take(number, 1)?;
        let broken = |reason: &str| fault_in(tree.name, number, reason);
        let page = self
            .read(number, self.page as usize)
            .ok_or_else(|| broken("it cannot be read"))?;
        let is_leaf = depth == 1;
        let expected = if is_leaf { LEAF } else { BRANCH };
        if u64_at(&page, 0) != Some(number) || u16_at(&page, 10) != Some(expected) {
            return Err(broken("another page is in its place"));
        }
        let nodes = nodes(&page).ok_or_else(|| broken("its parts lie outside of it"))?;
        let order = |a: &[u8], b: &[u8]| compare(tree.numbers, a, b);
        let keys = nodes.iter().skip(usize::from(!is_leaf));
        for (place, node) in keys.clone().enumerate() {
            let after = keys.clone().nth(place + 1).map(|next| next.key);
            let is_below = between
                .1
                .is_none_or(|limit| order(node.key, limit) == Ordering::Less);
            let is_above = between
                .0
                .is_none_or(|limit| order(node.key, limit) != Ordering::Less);
            let is_before = after.is_none_or(|next| order(node.key, next) == Ordering::Less);
            if !(is_below && is_above && is_before) {
                return Err(broken("its keys are not in order"));
            }
        }
        if !is_leaf {
            tree.counted.branches += 1;
            for (place, node) in nodes.iter().enumerate() {
                let least = if place == 0 {
                    between.0
                } else {
                    Some(node.key)
                };
                let limit = nodes
                    .get(place + 1)
                    .map_or(between.1, |next| Some(next.key));
                self.walk(tree, node.child, depth - 1, (least, limit), visit)?;
            }
            return Ok(());
        }
        tree.counted.leaves += 1;
        tree.counted.entries += nodes.len() as u64;
        for node in &nodes {
            let large;
            let value = match node.flags & BIG == 0 {
                true => node.value,
                false => {
                    large = self.large(tree, node)?;
                    &large
                }
            };
            let seen = visit(node.key, node.flags & !BIG, value);
            seen.ok_or_else(|| fault_in(tree.name, number, "a row is not what it should be"))?;
        }
        Ok(())
    }

    /// A value that lies in pages of its own. Of tables only the rows that are looked at are read: lists of free pages.
    fn large(&mut self, tree: &mut Tree<'_>, node: &Node<'_>) -> Result<Vec<u8>, Fault> {
        let first = u64_at(node.value, 0).unwrap_or(NONE);
        let pages = (HEADER as u64 - 1 + node.size) / self.page + 1;
        self.take(first, pages)?;
        let broken = |reason: &str| fault_in(tree.name, first, reason);
        let head = self
            .read(first, HEADER)
            .ok_or_else(|| broken("it cannot be read"))?;
        let count = u16_at(&head, 12).zip(u16_at(&head, 14));
        let count = count.map(|(low, high)| match cfg!(target_endian = "little") {
            true => u64::from(low) | u64::from(high) << 16,
            false => u64::from(high) | u64::from(low) << 16,
        });
        let is_large = u64_at(&head, 0) == Some(first)
            && u16_at(&head, 10) == Some(OVERFLOW)
            && count == Some(pages);
        if !is_large {
            return Err(broken("another page is in its place"));
        }
        tree.counted.overflow += pages;
        match tree.numbers {
            false => Ok(Vec::new()),
            true => self
                .read(first, HEADER + node.size as usize)
                .map(|bytes| bytes[HEADER..].to_vec())
                .ok_or_else(|| fault_in(tree.name, first, "it cannot be read")),
        }
    }

    fn read(&self, number: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        let at = number.checked_mul(self.page)?;
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }
}

/// A row of a leaf, or the way to another page.
struct Node<'p> {
    key: &'p [u8],
    flags: u16,
    /// Of a branch: the page below.
    child: u64,
    /// Of a leaf: the value's length, and the value, or the number of the page that it begins on.
    size: u64,
    value: &'p [u8],
}

/// The nodes of a page; `None` if they do not lie within it.
fn nodes(page: &[u8]) -> Option<Vec<Node<'_>>> {
    let (lower, upper) = (
        usize::from(u16_at(page, 12)?),
        usize::from(u16_at(page, 14)?),
    );
    let is_leaf = u16_at(page, 10)? == LEAF;
    if lower <= HEADER || lower > upper || upper > page.len() || !lower.is_multiple_of(2) {
        return None;
    }
    let node = |place: usize| {
        let at = usize::from(u16_at(page, place)?);
        if at < upper {
            return None;
        }
        let parts = [0, 2, 4, 6].map(|offset| u16_at(page, at + offset));
        let [low, high, flags, key] = match cfg!(target_endian = "little") {
            true => parts,
            false => [parts[1], parts[0], parts[2], parts[3]],
        };
        let (size, flags) = (u64::from(low?) | u64::from(high?) << 16, flags?);
        let rest = page.get(at + 8..)?;
        let (key, rest) = rest.split_at_checked(usize::from(key?))?;
        let value = match (is_leaf, flags & BIG != 0) {
            (false, _) => &rest[..0],
            (true, true) => rest.get(..8)?,
            (true, false) => rest.get(..usize::try_from(size).ok()?)?,
        };
        Some(Node {
            key,
            flags: if is_leaf { flags } else { 0 },
            child: size | u64::from(flags) << 32,
            size,
            value,
        })
    };
    (HEADER..lower).step_by(2).map(node).collect()
}

fn compare(numbers: bool, a: &[u8], b: &[u8]) -> Ordering {
    match numbers {
        true => u64_at(a, 0).cmp(&u64_at(b, 0)),
        false => a.cmp(b),
    }
}

fn fault(page: u64, reason: &str) -> Fault {
    (format!("page {page}"), reason.to_owned())
}

fn fault_in(table: &str, page: u64, reason: &str) -> Fault {
    (
        format!("page {page} of the table {table}"),
        reason.to_owned(),
    )
}
