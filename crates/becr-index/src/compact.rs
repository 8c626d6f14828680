//! Writing an index anew, without free space and deleted documents.

use crate::first_stage::Writer;
use crate::live::{LiveIndex, words_of};
use crate::manifest::Manifest;
use crate::observer::check_stop;
use crate::size::size_of_tree;
use crate::{IndexError, Observer, Stage, durable};
use becr_lmdb::Store;
use std::path::Path;

/// Rewrites the contents of an index into folders of their own, beside the old ones, and then names these in the
/// manifest, in one step. Readers that have the old ones open keep them, and follow when they look again. Returns the
/// index's size in bytes before and after.
pub fn compact(dir: &Path, observer: &dyn Observer) -> Result<(u64, u64), IndexError> {
    let index = LiveIndex::open(dir)?;
    let before = size_of_tree(dir);
    let new = Manifest {
        edition: index.manifest().edition + 1,
        ..index.manifest().clone()
    };
    let written = write(&index, &new, observer);
    if written.is_err() {
        // Half of it is of no use to anybody. What cannot be removed now goes with the next writer.
        index.manifest().clear_other_editions(dir);
    }
    written?;
    new.write(dir)?;
    new.clear_other_editions(dir);
    Ok((before, size_of_tree(dir)))
}

fn write(index: &LiveIndex, new: &Manifest, observer: &dyn Observer) -> Result<(), IndexError> {
    let (dir, store) = (index.dir(), new.store(index.dir()));
    index.store().copy_compacted(&store)?;
    let snapshot = index.store().snapshot()?;
    observer.begin(Stage::Compacting, Some(snapshot.totals()?.documents));
    // The first stage is written anew from the records: merging in place would leave its old files until
    // every reader is gone.
    let writer = Writer::held(&new.first_stage(dir), None)?;
    for row in snapshot.documents()? {
        let (number, id) = row?;
        let (title, body) = words_of(&snapshot, number)?;
        writer.add(id, &title, &body)?;
        observer.advance(1);
        check_stop(observer)?;
    }
    drop(snapshot);
    let finished = writer.finish()?;
    let copy = Store::open(&store)?;
    copy.add_sums()?;
    copy.add_column()?;
    drop(copy);
    // Opened again, it knows of a column that it was just given.
    let copy = Store::open(&store)?;
    let mut update = copy.update()?;
    if let Some(commit) = finished.commit() {
        update.set_companion(&commit);
    }
    update.commit()?;
    finished.published();
    for folder in [store, new.first_stage(dir)] {
        durable::sync_tree(&folder).map_err(IndexError::io(&folder, "cannot sync"))?;
    }
    // The folders' names are on disk before a manifest can be that names them.
    durable::sync_folder(dir).map_err(IndexError::io(dir, "cannot sync"))
}
