//! Adding, updating, deleting, and who sees it when.

use super::*;

#[test]
fn the_model_is_read_once_for_many_changes_and_again_when_it_has_changed() {
    let (folder, path, _) = built(5);
    let index = Index::open(&path).unwrap();
    let add = |number| index.add(documents(number..number + 1), Existing::Refuse, &());
    add(5).unwrap();
    // The same size and time in the same place: only who reads the file again would notice.
    let weights = folder.path().join("model").join("model.safetensors");
    let meta = std::fs::metadata(&weights).unwrap();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&weights)
        .unwrap();
    std::io::Write::write_all(&mut &file, &vec![0xff; meta.len() as usize]).unwrap();
    file.set_modified(meta.modified().unwrap()).unwrap();
    add(6).unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
    assert!(matches!(add(7), Err(Error::ModelOfIndex { .. })));
    // Mended, it is taken up again.
    model(&folder.path().join("model"));
    add(7).unwrap();
}

#[test]
fn clones_and_second_openings_see_what_any_of_them_writes() {
    let (_folder, path, index) = built(20);
    let (clone, second) = (index.clone(), Index::open(&path).unwrap());
    index.add(documents(20..25), Existing::Refuse, &()).unwrap();
    second.delete(&["d0".into()]).unwrap();
    for index in [&index, &clone, &second] {
        assert_eq!(index.view().unwrap().documents().unwrap(), 24);
    }
    assert_eq!(index.reload().unwrap(), second.reload().unwrap());
}

#[test]
fn a_view_keeps_its_state_and_a_state_that_nobody_kept_is_gone() {
    let (_folder, _, index) = built(20);
    let view = index.view().unwrap();
    let before = view
        .search("river bank", &SearchOptions::default())
        .unwrap();
    index.delete(&[before.results[0].id.clone()]).unwrap();
    index.compact(&()).unwrap();
    let again = view
        .search("river bank", &SearchOptions::default())
        .unwrap();
    assert_eq!(before.results, again.results);
    let asked = view.generation();
    assert_eq!(index.at(asked).unwrap().documents().unwrap(), 20);
    drop(view);
    let gone = index.at(asked).err().unwrap();
    assert!(matches!(gone, Error::Gone { asked: a, newest } if a == asked && newest > a));
    let now = index
        .search("river bank", &SearchOptions::default())
        .unwrap();
    assert!(now.generation > asked);
    assert_ne!(now.results[0].id, before.results[0].id);
}

#[test]
fn adding_says_what_to_do_with_ids_that_are_there_and_how_many_are_in() {
    let (_folder, _, index) = built(10);
    let overlapping = || documents(8..13);
    let refused = index
        .add(overlapping(), Existing::Refuse, &())
        .err()
        .unwrap();
    assert!(refused.to_string().contains("d8"), "{refused}");
    assert_eq!(index.view().unwrap().documents().unwrap(), 10);
    // What comes before the one at fault is in, what comes behind it is not.
    let between = documents(20..21)
        .chain(documents(9..10))
        .chain(documents(21..23));
    let refused = index.add(between, Existing::Refuse, &()).err().unwrap();
    assert!(refused.to_string().contains("d9"), "{refused}");
    let view = index.view().unwrap();
    assert_eq!(view.documents().unwrap(), 11);
    assert!(view.text("d20").unwrap().is_some());
    index.delete(&["d20".to_owned()]).unwrap();
    let changed = index.add(overlapping(), Existing::Skip, &()).unwrap();
    assert_eq!((changed.added, changed.skipped), (3, 2));
    let changed = index.update(documents(12..15), &()).unwrap();
    assert_eq!((changed.added, changed.replaced), (2, 1));

    // The source fails after three documents: these are in, and the error says so.
    let failing = documents(20..23).map(Ok).chain([Err("the line went dead")]);
    let error = index.add(failing, Existing::Refuse, &()).err().unwrap();
    let Error::Index(IndexError::Incomplete { changed, .. }) = &error else {
        panic!("{error}");
    };
    assert_eq!(changed.added, 3);
    let said = error.to_string();
    assert!(
        said.contains("the line went dead") && said.contains("3 documents"),
        "{said}"
    );
    assert_eq!(index.view().unwrap().documents().unwrap(), 18);
    // Going on from there works.
    index.add(documents(20..26), Existing::Skip, &()).unwrap();
    assert_eq!(index.view().unwrap().documents().unwrap(), 21);
    // The same id twice in one call.
    let twice = documents(30..31).chain(documents(30..31));
    let error = index.add(twice, Existing::Refuse, &()).err().unwrap();
    assert!(error.to_string().contains("d30"), "{error}");
    assert!(index.verify().unwrap().problems.is_empty());
}

#[test]
fn a_first_stage_that_cannot_be_written_leaves_both_as_they_were() {
    let (_folder, path, index) = built(10);
    let before = index.view().unwrap().digest().unwrap();
    let folder = path.join("first-stage");
    let hidden = path.join("hidden");
    let mut live = becr_index::live::LiveIndex::open(&path).unwrap();
    let delete = [becr_index::live::Change::Delete("d1")];
    std::fs::rename(&folder, &hidden).unwrap();
    assert!(live.apply(&delete).is_err());
    std::fs::rename(&hidden, &folder).unwrap();
    // The writer that failed half-way must not publish the other half with its next change.
    let refused = live.apply(&delete).err().unwrap();
    assert!(matches!(refused, IndexError::FailedWriter(_)), "{refused}");
    assert!(live.finish().is_err());
    assert_eq!(index.view().unwrap().digest().unwrap(), before);
    assert!(index.verify().unwrap().problems.is_empty());
    index.delete(&["d1".into()]).unwrap();
    assert_eq!(index.view().unwrap().documents().unwrap(), 9);
    assert!(index.verify().unwrap().problems.is_empty());
}

#[test]
fn many_updates_in_one_call_use_freed_pages_again() {
    let (_folder, path, index) = built(5);
    // Six thousand words each: more than half a megabyte of footprints, so that a batch is a dozen of them.
    let mut state = 1_u64;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        WORDS[(state >> 40) as usize % WORDS.len()]
    };
    let mut long = || (0..6000).map(|_| word()).collect::<Vec<_>>().join(" ");
    let versions = (0..100).map(|n| Document::new(format!("long{}", n % 4), "", long()));
    let changed = index.update(versions, &()).unwrap();
    assert_eq!((changed.added, changed.replaced), (4, 96));
    let size = std::fs::metadata(path.join("store/data.mdb"))
        .unwrap()
        .len();
    // A reader that lives through all batches would let the file grow to 60 megabytes.
    assert!(size < 40 << 20, "{size} bytes");
}

#[test]
fn the_store_counts_as_the_engine_does_also_after_deletes() {
    let (_folder, path, index) = built(60);
    let ids: Vec<String> = (0..60).step_by(3).map(|n| format!("d{n}")).collect();
    index.delete(&ids).unwrap();
    let engine = becr_index::first_stage::FirstStage::open(&path).unwrap();
    for query in ["river bank", "zebra", "money of the loan fish", "quay quay"] {
        let found = index
            .search(query, &SearchOptions::first_stage(100))
            .unwrap();
        let ours = found.results.iter().map(|r| (r.id.as_str(), r.score));
        let hits = engine.search(query, 100).unwrap();
        let theirs = hits.iter().map(|hit| (hit.id.as_str(), hit.score));
        assert_eq!(
            ours.collect::<Vec<_>>(),
            theirs.collect::<Vec<_>>(),
            "{query}"
        );
    }
}

#[test]
#[cfg(unix)]
fn a_link_to_an_index_is_the_index() {
    let (folder, path, index) = built(10);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let linked = Index::open(&link).unwrap();
    linked.delete(&["d1".into()]).unwrap();
    linked.compact(&()).unwrap();
    assert!(link.is_symlink());
    assert_eq!(index.view().unwrap().documents().unwrap(), 9);
    assert_eq!(index.reload().unwrap(), linked.reload().unwrap());
}

#[test]
fn odd_input_is_an_error_and_changes_nothing() {
    let (folder, path, index) = built(5);
    let digest = || index.view().unwrap().digest().unwrap();
    let before = digest();
    for (odd, said) in [
        (Document::default(), "id is empty"),
        (Document::new("x".repeat(70_000), "", "river"), "bytes"),
    ] {
        let error = index.add([odd], Existing::Refuse, &()).err().unwrap();
        assert!(error.to_string().contains(said), "{error}");
    }
    let nan = Document {
        features: vec![("pagerank".into(), f32::NAN)],
        ..Document::new("nan", "", "river")
    };
    assert!(index.add([nan], Existing::Refuse, &()).is_err());
    assert_eq!(digest(), before);
    // Text without a word, and text that no vocabulary knows, is a document.
    let words = [
        Document::new("empty", "", ""),
        Document::new("odd", "\u{0}\u{fffd}", "🦀 \u{202e}"),
    ];
    assert_eq!(index.add(words, Existing::Refuse, &()).unwrap().added, 2);
    for query in ["", " ", "🦀", "\u{0}", &"river ".repeat(3000)] {
        index.search(query, &SearchOptions::default()).unwrap();
    }
    for place in ["nowhere", "model"] {
        let error = Index::open(folder.path().join(place)).err().unwrap();
        assert!(
            matches!(error, Error::Index(IndexError::NotAnIndex { .. })),
            "{error}"
        );
    }
    let unknown = index.explain("river", &["nobody"], &Default::default());
    assert!(matches!(unknown.err().unwrap(), Error::UnknownDocument(_)));
    // Another process writes: its lock, as it shows itself to this one.
    let lock = std::fs::File::create(path.join("writer.lock")).unwrap();
    lock.lock().unwrap();
    let refused = index.delete(&["d1".into()]).err().unwrap();
    assert!(matches!(refused, Error::Index(IndexError::SecondWriter(_))));
    assert!(index.compact(&()).is_err());
}

/// A program keeps an index in step with folders; what it has open sees it.
#[test]
fn an_index_follows_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (path, notes) = (folder.path().join("index"), folder.path().join("notes"));
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("a.md"), "river bank").unwrap();
    std::fs::write(notes.join("b.md"), "money loan").unwrap();
    let folders = becr::folders(std::slice::from_ref(&notes)).unwrap();
    let corpus = becr::corpus::Corpus::open_folders(&folders, &Default::default()).unwrap();
    let (index, _) = Build::new()
        .model(model(&folder.path().join("model")))
        .folders(folders)
        .run(&path, corpus, &())
        .unwrap();
    let again = Index::open(&path).unwrap();
    std::fs::write(notes.join("a.md"), "fish boat").unwrap();
    std::fs::remove_file(notes.join("b.md")).unwrap();
    let options = SyncOptions::default();
    let report = index.sync(&[], &options, &()).unwrap();
    assert_eq!(report.difference.changed, ["a.md"]);
    assert_eq!(report.difference.vanished, ["b.md"]);
    assert_eq!((report.changed.replaced, report.changed.deleted), (1, 1));
    assert_eq!(again.view().unwrap().documents().unwrap(), 1);
    assert_eq!(again.file_of("a.md").unwrap(), Some(notes.join("a.md")));
    assert_eq!(again.file_of("b.md").unwrap(), None);
    // Nothing is left to do, so nothing is published.
    let generation = again.reload().unwrap();
    index.sync(&[], &options, &()).unwrap();
    assert_eq!(again.reload().unwrap(), generation);
    std::fs::remove_file(notes.join("a.md")).unwrap();
    let refused = index.sync(&[], &options, &());
    assert!(matches!(refused, Err(Error::Corpus(_))), "{refused:?}");
    let (_others, _, plain) = built(3);
    let refused = plain.sync(&[], &options, &());
    assert!(matches!(refused, Err(Error::NoFolders(_))), "{refused:?}");
}
