//! The store on disk: sharing, snapshots, faults of files and processes, readers under load.

mod child;
mod conformance;
mod damage;
mod file;
mod readers;
mod sharing;
mod stress;

use becr_lmdb::Store;
use becr_store::{Header, NewDocument, Shape};
use std::path::Path;

const SHAPE: Shape = Shape {
    layers: 1,
    bits: 64,
    vector: 0,
};

fn header() -> Header {
    Header::new("encoder-1", SHAPE, 2)
}

fn document<'a>(id: &'a str, footprints: &'a [u8]) -> NewDocument<'a> {
    NewDocument {
        id,
        text: "river banks",
        tokens: 2,
        footprints,
        mean: &[2; 8],
        ..Default::default()
    }
}

/// Puts one document of `bytes` bytes and commits.
fn put(store: &Store, id: &str, bytes: usize) {
    let mut update = store.update().unwrap();
    update.put(&document(id, &vec![7; bytes])).unwrap();
    update.commit().unwrap();
}

fn has(store: &Store, id: &str) -> bool {
    store.snapshot().unwrap().number(id).unwrap().is_some()
}

fn file_bytes(folder: &Path) -> u64 {
    std::fs::metadata(folder.join("data.mdb")).unwrap().len()
}
