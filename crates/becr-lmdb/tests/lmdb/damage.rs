//! Random damage of the store's file: a check finds whatever changes what the store says, and is never brought down.

use crate::header;
use becr_lmdb::Store;
use becr_store::{NewDocument, StoreError};
use becr_text::groups::TokenGroup;
use std::fs;
use std::path::Path;

const PAGE: usize = 4096;

/// Small numbers that look random, from a fixed seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A store of several generations: documents of all sizes, some of them replaced and deleted, and token groups.
fn build(folder: &Path) {
    let store = Store::create(folder, &header()).unwrap();
    let word = |n: usize| format!("word{}", n * n % 611);
    let mut update = store.update().unwrap();
    for n in 0..400 {
        let group = TokenGroup::Pair(word(n), word(n + 1));
        update.put_group(&group, &[n as u8; 16]).unwrap();
    }
    update.commit().unwrap();
    for round in 0..4 {
        let mut update = store.update().unwrap();
        for n in round * 40..round * 40 + 60 {
            let text: Vec<String> = (0..n % 50 + 1).map(|k| word(n + k)).collect();
            let footprints = vec![n as u8; 16 * (1 + n % 300)];
            let document = NewDocument {
                id: &format!("document {n}"),
                title: &word(n),
                text: &text.join(" "),
                keep_text: true,
                tokens: 2,
                footprints: &footprints,
                mean: &[2; 8],
                ..NewDocument::default()
            };
            update.put(&document).unwrap();
        }
        update.delete(&format!("document {}", round * 7)).unwrap();
        update.commit().unwrap();
    }
}

fn damage(whole: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let at = dice.below(bytes.len());
    let pages = bytes.len() / PAGE;
    match dice.below(5) {
        0 => bytes[at] ^= 1 << dice.below(8),
        1 => {
            let end = bytes.len().min(at + 1 + dice.below(64));
            bytes[at..end].fill(0);
        }
        2 => {
            let (from, to) = (dice.below(pages) * PAGE, dice.below(pages) * PAGE);
            bytes.copy_within(from..from + PAGE, to);
        }
        3 => {
            // Small numbers, as places, counts and flags of pages are.
            let page = dice.below(pages) * PAGE;
            bytes[page + dice.below(64)] = dice.below(256) as u8;
        }
        _ => {
            // The headers of the file.
            bytes[dice.below(2) * PAGE + dice.below(152)] ^= 1 << dice.below(8);
        }
    }
    bytes
}

/// What a check says: nothing, or the first problem.
fn problem(folder: &Path) -> Result<Option<String>, StoreError> {
    let store = Store::open_checked(folder)?;
    let snapshot = store.snapshot()?;
    let findings = snapshot.check_tables()?;
    assert!(findings.has_sums);
    let others = snapshot.verify()?.problems;
    Ok(findings.problems.into_iter().chain(others).next())
}

#[test]
fn whatever_changes_the_contents_is_found() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let digest = || Store::open(folder.path())?.snapshot()?.digest();
    let original = digest().unwrap();
    assert_eq!(problem(folder.path()).unwrap(), None);
    let file = folder.path().join("data.mdb");
    let whole = fs::read(&file).unwrap();
    let mut dice = Dice(17);
    let (mut found, mut harmless) = (0, 0);
    for round in 0..600 {
        fs::write(&file, damage(&whole, &mut dice)).unwrap();
        match problem(folder.path()) {
            Ok(None) => {
                // Free pages, the unused ends of pages.
                harmless += 1;
                assert_eq!(digest().unwrap(), original, "round {round}");
            }
            Ok(Some(_)) | Err(_) => found += 1,
        }
    }
    assert!(found > 200 && harmless > 40, "{found} {harmless}");
    fs::write(&file, whole).unwrap();
    assert_eq!(problem(folder.path()).unwrap(), None);
}

/// Two leaves exchanged, with the numbers of their places put right: a store that LMDB reads without complaint.
#[test]
fn a_page_in_the_place_of_another_is_found() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let file = folder.path().join("data.mdb");
    let whole = fs::read(&file).unwrap();
    let number = |page: usize| whole[page * PAGE..page * PAGE + 8].to_vec();
    let is_leaf = |page: &usize| {
        whole[page * PAGE + 10] == 2 && number(*page) == (*page as u64).to_le_bytes()
    };
    let leaves: Vec<usize> = (2..whole.len() / PAGE).filter(is_leaf).collect();
    let mut found = 0;
    for pair in leaves.windows(2) {
        let mut bytes = whole.clone();
        bytes.copy_within(pair[0] * PAGE..(pair[0] + 1) * PAGE, pair[1] * PAGE);
        bytes[pair[1] * PAGE..pair[1] * PAGE + 8].copy_from_slice(&number(pair[1]));
        fs::write(&file, bytes).unwrap();
        found += usize::from(!matches!(problem(folder.path()), Ok(None)));
    }
    // The others are free.
    assert!(found > leaves.len() / 4, "{found} of {}", leaves.len());
}

/// A store of an earlier version has no sums; it gets them, and then they count.
#[test]
fn sums_can_be_added() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let store = Store::open(folder.path()).unwrap();
    store.add_sums().unwrap();
    drop(store);
    {
        // SAFETY: no other environment of this process has the file open, and nothing else changes it.
        #[allow(unsafe_code)]
        let env = unsafe { heed::EnvOpenOptions::new().max_dbs(20).open(folder.path()) }.unwrap();
        let mut txn = env.write_txn().unwrap();
        let meta: heed::Database<heed::types::Str, heed::types::Bytes> =
            env.open_database(&txn, Some("meta")).unwrap().unwrap();
        assert!(meta.delete(&mut txn, "sums").unwrap());
        txn.commit().unwrap();
    }
    let store = Store::open(folder.path()).unwrap();
    let check = || store.snapshot().unwrap().check_tables().unwrap();
    assert!(!check().has_sums);
    let mut update = store.update().unwrap();
    update.delete("document 70").unwrap();
    update.commit().unwrap();
    assert!(!check().has_sums, "what is unknown is not kept up");
    store.add_sums().unwrap();
    assert!(check().has_sums);
    let mut update = store.update().unwrap();
    update.delete("document 71").unwrap();
    update.commit().unwrap();
    assert_eq!(check().problems, Vec::<String>::new());
}
