//! Parts that are switched off, threads, and the order of candidates: none of them changes another number.

use crate::collection::{Collection, head};
use becr_lmdb::Store;
use becr_rank::{Candidate, Parts, RankOptions, RankWorkspace, Ranker, Scored};

fn scores(
    ranker: &Ranker,
    store: &Store,
    without: Parts,
    candidates: &[Candidate<'_>],
) -> Vec<Scored> {
    let snapshot = store.snapshot().unwrap();
    let options = RankOptions {
        without,
        ..Default::default()
    };
    let text = "spring water of the river bank";
    let query = ranker.query(&snapshot, text, &options, None).unwrap();
    let scored = ranker.score(&query, &snapshot, candidates, &mut RankWorkspace::new());
    scored.unwrap().into_iter().flatten().collect()
}

#[test]
fn a_part_left_out_is_exactly_left_out() {
    let collection = Collection::new(11, 20);
    let ranker = collection.ranker(head(11));
    let candidates = collection.candidates();
    let without = |names: &[&str]| {
        let mut parts = Parts::default();
        names
            .iter()
            .for_each(|name| parts.add(name.parse().unwrap()));
        scores(&ranker, &collection.store, parts, &candidates)
    };
    let full = without(&[]);
    assert!(
        full.iter()
            .all(|s| s.deep != 0.0 && s.lexi != 0.0 && s.others != 0.0)
    );
    for (names, left) in [
        (&["deep"][..], [false, true, true]),
        (&["lexi"], [true, false, true]),
        (&["others"], [true, true, false]),
        (&["deep", "lexi"], [false, false, true]),
        (&["deep", "others"], [false, true, false]),
        (&["lexi", "others"], [true, false, false]),
        (&["deep", "lexi", "others"], [false; 3]),
    ] {
        for (part, full) in without(names).iter().zip(&full) {
            let kept = |keep: bool, value: f32| if keep { value } else { 0.0 };
            assert_eq!(part.deep, kept(left[0], full.deep), "{names:?}");
            assert_eq!(part.lexi, kept(left[1], full.lexi), "{names:?}");
            assert_eq!(part.others, kept(left[2], full.others), "{names:?}");
            let sum = part.deep + part.lexi + part.others;
            assert!((part.score - sum).abs() <= 1e-5 * sum.abs().max(1.0));
            // A single part is the score, to the last bit.
            if left.iter().filter(|kept| **kept).count() == 1 {
                assert_eq!(part.score, sum, "{names:?}");
            }
        }
    }
}

#[test]
fn neither_threads_nor_neighbours_change_a_score() {
    let collection = Collection::new(12, 30);
    let mut head = head(12);
    // The one feature that is relative to the list.
    head.lexical.retain(|feature| feature.name != "first_stage");
    let ranker = collection.ranker(head);
    let candidates = collection.candidates();
    let (ranker, store) = (&ranker, &collection.store);
    let whole = scores(ranker, store, Parts::default(), &candidates);
    let parts: Vec<Scored> = std::thread::scope(|scope| {
        let part = |part: Vec<Candidate<'static>>| {
            scope.spawn(move || scores(ranker, store, Parts::default(), &part))
        };
        let threads: Vec<_> = candidates.chunks(7).map(|c| part(c.to_vec())).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(parts, whole);
    let backwards: Vec<_> = candidates.iter().rev().copied().collect();
    let mut backwards = scores(ranker, store, Parts::default(), &backwards);
    backwards.reverse();
    assert_eq!(backwards, whole);
}
