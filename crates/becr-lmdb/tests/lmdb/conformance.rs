//! The store on disk does what every store must, and the same as the one in memory.

use becr_lmdb::Store;
use becr_store::conformance;
use std::cell::Cell;

#[test]
fn it_conforms_and_agrees_with_the_store_in_memory() {
    let (folder, made) = (tempfile::tempdir().unwrap(), Cell::new(0));
    let make = |header: &becr_store::Header| {
        made.set(made.get() + 1);
        let path = folder.path().join(made.get().to_string());
        Store::create(&path, header).unwrap()
    };
    conformance::all(&make);
    conformance::agree(&make, &|header| becr_memory::Store::new(header.clone()));
}
