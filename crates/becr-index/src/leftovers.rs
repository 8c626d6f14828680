//! What a build that did not come to its end left behind: is any of it worth going on with?

use crate::full::{MODEL, SPOOL};
use crate::manifest::Manifest;
use crate::{spool, staging, writers};
use becr_lmdb::Store;
use becr_store::StoreError;
use std::path::Path;

/// Whether the directory of a build holds anything that took time and that the same build would use again: documents that
/// were read to the end, or something encoded. What cannot be read is taken for work.
pub(crate) fn hold_work(partial: &Path) -> bool {
    let Ok(entries) = partial.read_dir() else {
        return true;
    };
    let (first, unread) = (Manifest::default(), spool::unfinished(Path::new(SPOOL)));
    let beside_the_store = [
        Path::new(staging::MARK),
        Path::new(staging::FINGERPRINT),
        Path::new(MODEL),
        Path::new(writers::FILE),
        &unread,
        &first.first_stage(Path::new("")),
    ];
    let store = first.store(Path::new(""));
    entries.flatten().any(|entry| match entry.file_name() {
        name if name == store.as_os_str() => has_rows(&entry.path()).unwrap_or(true),
        name => !beside_the_store.contains(&Path::new(&name)),
    })
}

fn has_rows(store: &Path) -> Result<bool, StoreError> {
    let snapshot = Store::open(store)?.snapshot()?;
    Ok(snapshot.totals()?.documents > 0 || snapshot.group_count()? > 0)
}
