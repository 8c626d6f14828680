//! `becr train` in a program that was built without it.

use crate::becr;

#[test]
fn says_how_to_build_it() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = becr(folder.path(), &["train", "own.toml", "--seed", "2"]);
    assert_eq!(outcome.code, Some(1));
    let told = "--features train -- train own.toml --seed 2";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
}
