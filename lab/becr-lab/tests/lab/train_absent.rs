//! `becr-lab train` in a program that was built without it.

use crate::becr;

#[test]
fn says_how_to_build_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = "[model]\nbase = 'bundled'\n[output]\nmodel = 'own'\n";
    std::fs::write(folder.path().join("own.toml"), config).unwrap();
    let outcome = becr(folder.path(), &["train", "own.toml", "--seed", "2"]);
    assert_eq!(outcome.code, Some(1));
    let told = "cargo run --release -p becr-lab --features train -- train own.toml --seed 2";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
}

#[test]
fn helps_when_it_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = becr(folder.path(), &["train", "--help"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = "cargo run --release -p becr-lab --features train -- train own.toml";
    assert!(outcome.stdout.contains(told), "{}", outcome.stdout);
}
