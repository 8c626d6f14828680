//! Commands that left the program say where they are.

use crate::becr;

#[test]
fn a_command_that_moved_says_where_it_went() {
    let folder = tempfile::tempdir().unwrap();
    let asked = [
        &["bench", "engine", "--only", "n=3"][..],
        &["folds", "make", "--qrels", "qrels.txt"],
        &["tables", "tables.toml", "--check"],
        &["train", "own.toml", "--seed", "2"],
        &["train", "--help"],
        &["bench"],
    ];
    for arguments in asked {
        let outcome = becr(folder.path(), arguments);
        assert_eq!(outcome.code, Some(2), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("-p becr-lab"), "{}", outcome.stderr);
        let told = format!("-- {} …", arguments[0]);
        assert!(outcome.stderr.contains(&told), "{}", outcome.stderr);
    }
    let tuned = becr(folder.path(), &["train", "tune.toml"]).stderr;
    assert!(tuned.contains("`becr tune FILE`"), "{tuned}");
    let help = becr(folder.path(), &["--help"]).stdout;
    assert!(
        !help.contains("becr-lab") && !help.contains("folds"),
        "{help}"
    );
}

#[test]
fn flags_that_moved_say_where_they_went() {
    let folder = tempfile::tempdir().unwrap();
    let rerank = "rerank x --queries q --run r --out o";
    for (line, flag) in [
        (format!("{rerank} --raw"), "--raw"),
        (format!("{rerank} --raw=cosine-of-sum"), "--raw"),
        (format!("{rerank} --baseline colbert"), "--baseline"),
        (format!("{rerank} --variant no-pairs"), "--variant"),
        (
            "index x --out y --compose-documents".to_owned(),
            "--compose-documents",
        ),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let outcome = becr(folder.path(), &arguments);
        assert_eq!(outcome.code, Some(2), "{line}: {}", outcome.stderr);
        let told = format!(
            "{flag} is a flag of the laboratory's `becr-lab {}`",
            arguments[0]
        );
        assert!(outcome.stderr.contains(&told), "{}", outcome.stderr);
    }
}
