//! Files that are cut short or have a byte changed: an error that names them, never a wrong result.

use super::*;
use crate::{Error, Group, GroupList, Rules, Sources, Vocabulary};
use std::fs;

const TEXTS: [&str; 3] = [
    "neural ranking of documents",
    "ranking documents",
    "of neural nets",
];

fn read_counts(path: &Path) -> Result<Vec<Entry>, Error> {
    CountFile::open(path)?.entries()?.collect()
}

fn read_list(path: &Path) -> Result<Vec<Group>, Error> {
    GroupList::open(path)?.iter()?.collect()
}

/// Tries every truncation and, at every byte, several changes of it.
fn damage<T: PartialEq + std::fmt::Debug>(
    path: &Path,
    read: impl Fn(&Path) -> Result<Vec<T>, Error>,
) {
    let good = fs::read(path).unwrap();
    let expected = read(path).unwrap();
    let check = |bytes: &[u8], what: &str| {
        fs::write(path, bytes).unwrap();
        match read(path) {
            // A bit that the compression has no use for.
            Ok(found) => assert_eq!(found, expected, "{what}"),
            Err(error) => assert!(error.to_string().contains("victim"), "{what}: {error}"),
        }
    };
    let mut refused = 0;
    for length in 0..good.len() {
        check(&good[..length], &format!("cut to {length} bytes"));
        refused += usize::from(read(path).is_err());
    }
    assert_eq!(refused, good.len());
    let mut refused = 0;
    for at in 0..good.len() {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[at] ^= flip;
            check(&bytes, &format!("byte {at} changed by {flip:#x}"));
            refused += usize::from(read(path).is_err());
        }
    }
    assert!(
        refused + 8 > 4 * good.len(),
        "{refused} of {}",
        4 * good.len()
    );
    let longer: Vec<u8> = good.iter().copied().chain(*b"more").collect();
    fs::write(path, longer).unwrap();
    assert!(read(path).is_err());
}

#[test]
fn count_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = count_texts(folder.path(), "victim", &TEXTS);
    damage(file.path(), read_counts);
}

#[test]
fn lists() {
    let folder = tempfile::tempdir().unwrap();
    let counts = count_texts(folder.path(), "counts", &TEXTS);
    let sources = Sources {
        counts: &counts,
        log: None,
        vocabulary: &Vocabulary::new(["##ing"]),
    };
    let (list, _) = sources
        .select(&Rules::default(), &folder.path().join("victim"))
        .unwrap();
    damage(list.path(), read_list);
}

#[test]
fn a_file_of_another_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("victim");
    for text in [
        "",
        "becr-groups 2 window 3 documents 1\nend 0 0\n",
        &"x".repeat(500),
    ] {
        fs::write(&path, text).unwrap();
        assert!(matches!(CountFile::open(&path), Err(Error::Corrupt { .. })));
        assert!(matches!(GroupList::open(&path), Err(Error::Corrupt { .. })));
    }
    let missing = CountFile::open(&folder.path().join("missing")).unwrap_err();
    assert!(
        missing.to_string().contains("missing: cannot open"),
        "{missing}"
    );
}
