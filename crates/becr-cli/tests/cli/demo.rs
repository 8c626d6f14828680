//! `becr demo`: what a new user meets first.

use crate::becr;

#[test]
fn the_demo_searches_and_measures() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = becr(folder.path(), &["demo"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for expected in [
        "why bread goes stale",
        "BECR",
        "***",
        "Why ",
        "nDCG@10",
        "look-up",
        "becr index FOLDER",
    ] {
        assert!(
            outcome.stdout.contains(expected),
            "{expected}: {}",
            outcome.stdout
        );
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing is left behind"
    );
}
