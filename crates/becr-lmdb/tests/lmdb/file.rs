//! The store's file: shorter than LMDB counts, cut short, and never changed by readers.

use crate::child::Other;
use crate::{SHAPE, file_bytes, has, header, put};
use becr_lmdb::Store;
use becr_store::StoreError;
use heed::EnvOpenOptions;
use heed::types::{Bytes, Str};
use std::fs::{self, File};
use std::path::Path;

/// A change that takes pages at the end of the file and gives them back, so that they are never written. Returns how
/// many bytes the file then lacks.
fn give_pages_back(folder: &Path, bytes: usize) -> u64 {
    // SAFETY: no other environment of this process has the file open, and nothing else changes it.
    #[allow(unsafe_code)]
    let env = unsafe { EnvOpenOptions::new().max_dbs(20).open(folder) }.unwrap();
    // Only with free pages from earlier changes does the last one need none behind those that it gives back.
    for bytes in [1, 9000, 1, 9000, 1, bytes] {
        let mut txn = env.write_txn().unwrap();
        let table = env
            .create_database::<Str, Bytes>(&mut txn, Some("scratch"))
            .unwrap();
        table.put(&mut txn, "small", &[bytes as u8]).unwrap();
        table.put(&mut txn, "large", &vec![1; bytes]).unwrap();
        table.delete(&mut txn, "large").unwrap();
        txn.commit().unwrap();
    }
    let pages = env.info().last_page_number as u64 + 1;
    let counted = pages * u64::from(env.stat().page_size);
    counted.saturating_sub(file_bytes(folder))
}

/// A file that ends before pages which are free is whole, however many they are. Opening it leaves it alone: to
/// bring it to its length would cut off what a writer of another process has added meanwhile.
#[test]
fn a_file_that_ends_before_free_pages_is_whole_and_left_alone() {
    for bytes in [48 << 10, 1 << 20, 40 << 20] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path(), &header()).unwrap();
        put(&store, "a", 16);
        drop(store);
        let lacking = give_pages_back(folder.path(), bytes);
        assert!(lacking > 0, "the file is not short");
        let length = file_bytes(folder.path());
        let store = Store::open(folder.path()).unwrap();
        assert!(has(&store, "a"));
        assert_eq!(
            file_bytes(folder.path()),
            length,
            "opening changed the file"
        );
        // The pages are used again.
        put(&store, "b", bytes);
        drop(store);
        let store = Store::open(folder.path()).unwrap();
        assert!(has(&store, "b"));
        let findings = store.snapshot().unwrap().verify().unwrap();
        assert_eq!(findings.problems, Vec::<String>::new());
    }
}

/// The list of free pages may need branches of its tree, and pages of its own for one change.
#[test]
fn a_long_list_of_free_pages_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    // Held back by the snapshot, the pages of each change stay in the list by themselves.
    put(&store, "a", 2 << 20);
    let snapshot = store.snapshot().unwrap();
    for _ in 0..300 {
        put(&store, "a", 64 << 10);
    }
    drop((snapshot, store));
    assert!(give_pages_back(folder.path(), 80 << 20) > 1 << 20);
    let store = Store::open(folder.path()).unwrap();
    assert!(has(&store, "a"));
}

#[test]
fn a_file_that_was_cut_short_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (first, copy) = (folder.path().join("first"), folder.path().join("copy"));
    let store = Store::create(&first, &header()).unwrap();
    (0..40).for_each(|n| put(&store, &n.to_string(), 9000));
    // A compacted copy has no free pages: each that it lacks is one too few.
    store.copy_compacted(&copy).unwrap();
    let file = copy.join("data.mdb");
    let whole = fs::read(&file).unwrap();
    for lacking in [1, 4096, 5 * 4096, whole.len() / 2] {
        fs::write(&file, &whole[..whole.len() - lacking]).unwrap();
        let error = Store::open(&copy).err().unwrap();
        assert!(matches!(error, StoreError::Truncated { .. }), "{error}");
        assert_eq!(file_bytes(&copy), (whole.len() - lacking) as u64);
    }
    fs::write(&file, &whole).unwrap();
    assert!(has(&Store::open(&copy).unwrap(), "39"));
    assert_eq!(SHAPE, Store::open(&copy).unwrap().header().shape);
}

/// A process opens the store over and over while this one makes it longer.
#[test]
fn a_process_that_opens_takes_nothing_from_one_that_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    put(&store, "first", 16);
    let path = folder.path().to_owned();
    let opener = std::thread::spawn(move || Other::start(&path).ask("reopen 400"));
    let mut number = 0;
    while !opener.is_finished() || number < 100 {
        put(&store, &number.to_string(), 10_000 + number % 7 * 9000);
        number += 1;
    }
    assert_eq!(opener.join().unwrap(), "opened");
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.totals().unwrap().documents, number as u64 + 1);
    assert_eq!(snapshot.verify().unwrap().problems, Vec::<String>::new());
}

/// A store whose file may not be written is read; nothing changes but the lock file that readers need.
#[test]
fn a_read_only_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    put(&store, "a", 16);
    drop(store);
    give_pages_back(folder.path(), 1 << 20);
    let file = folder.path().join("data.mdb");
    let before = fs::read(&file).unwrap();
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    File::open(&file)
        .unwrap()
        .set_permissions(permissions)
        .unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert!(has(&store, "a"));
    assert!(store.update().is_err());
    drop(store);
    assert_eq!(fs::read(&file).unwrap(), before);
}
