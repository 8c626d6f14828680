//! What users of other command-line tools expect.

use crate::becr;
use crate::full::{corpus, folder, index, run};
use crate::ranked::json;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becr"));
    command
        .args(arguments)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts a command, interrupts it once `begun` says so, and waits for its end.
fn interrupted(folder: &Path, arguments: &[&str], begun: impl Fn() -> bool) -> Output {
    let child = command(folder, arguments).spawn().unwrap();
    let started = Instant::now();
    while !begun() {
        assert!(
            started.elapsed() < Duration::from_secs(120),
            "{arguments:?} never began"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    child.wait_with_output().unwrap()
}

#[test]
fn an_interrupted_build_says_how_to_go_on() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..4000);
    let build = ["index", "all.jsonl", "--out", "X", "--model", "model"];
    let partial = folder.join("X.partial/store/data.mdb");
    let output = interrupted(folder, &build, || partial.exists());
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("interrupted: what is done is kept"),
        "{}",
        stderr(&output)
    );
    for command in [&["search", "X", "river"][..], &["stats", "X"]] {
        let outcome = becr(folder, command);
        assert_eq!(outcome.code, Some(1));
        assert!(
            outcome.stderr.contains("was interrupted"),
            "{}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains("same `becr index`"),
            "{}",
            outcome.stderr
        );
    }
    let done = run(folder, &build).stdout;
    assert!(done.contains("4,000 documents"), "{done}");
}

/// A first sync that is interrupted goes on, with what changed meanwhile.
#[test]
fn an_interrupted_first_sync_goes_on_with_changed_files() {
    let folder = folder();
    let folder = folder.path();
    let notes = folder.join("notes");
    fs::create_dir(&notes).unwrap();
    for number in 0..1500 {
        // Copies would be read once.
        let text = format!(
            "{}{number}",
            "river bank money loan fish ".repeat(1 + number % 30)
        );
        fs::write(notes.join(format!("{number}.md")), text).unwrap();
    }
    let sync = ["sync", "X", "notes", "--model", "model"];
    let partial = folder.join("X.partial/store/data.mdb");
    let output = interrupted(folder, &sync, || partial.exists());
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the same command goes on"),
        "{}",
        stderr(&output)
    );
    fs::write(notes.join("7.md"), "a zebra at last").unwrap();
    fs::remove_file(notes.join("8.md")).unwrap();
    let bare = becr(folder, &["sync", "X"]);
    assert!(
        bare.code == Some(1) && bare.stderr.contains("was interrupted"),
        "{}",
        bare.stderr
    );
    run(folder, &sync);
    let found = run(folder, &["search", "X", "zebra", "--first-stage"]).stdout;
    assert!(found.contains("[7.md]"), "{found}");
    assert_eq!(
        run(folder, &["sync", "X"]).stdout,
        "X: 0 added, 0 changed, 0 removed, 1499 unchanged\n"
    );
    let missing = becr(folder, &["sync", "nothing"]);
    assert!(
        missing.stderr.contains("`becr sync nothing FOLDER"),
        "{}",
        missing.stderr
    );
}

/// Adding reads an index, hence works in a child process: the advice comes from the parent.
#[test]
fn an_interrupted_add_says_how_to_go_on() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "base.jsonl", 0..10);
    corpus(folder, "more.jsonl", 10..6000);
    index(folder, "base.jsonl", "X", &[]);
    let lock = folder.join("X/writer.lock");
    let begun = || {
        let lock = fs::File::open(&lock);
        lock.is_ok_and(|lock| lock.try_lock().is_err())
    };
    let add = ["add", "X", "more.jsonl"];
    let output = interrupted(folder, &add, begun);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let said = stderr(&output);
    assert_eq!(said.matches("interrupted").count(), 1, "{said}");
    assert!(said.contains("--existing skip"), "{said}");
    // The child ends with its parent; it may take a moment.
    fs::File::open(&lock).unwrap().lock().unwrap();
    run(folder, &["verify", "X"]);
    run(folder, &[&add[..], &["--existing", "skip"]].concat());
}

/// Flag over environment over file over default.
#[test]
fn a_configuration_file_gives_defaults() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..40);
    index(folder, "all.jsonl", "X", &[]);
    let file = folder.join("config/becr/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "quiet = true\n[search]\nk = 3\nfirst-stage = true\n").unwrap();
    let results = |arguments: &[&str], environment: &[(&str, &str)]| {
        let search = [&["search", "X", "river", "--json"], arguments].concat();
        let output = command(folder, &search)
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (found["results"].as_array().unwrap().len(), stderr(&output))
    };
    assert_eq!(results(&[], &[]), (3, String::new()));
    assert_eq!(results(&["-k", "5"], &[]).0, 5);
    let (ten, said) = results(&[], &[("BECR_CONFIG", "off")]);
    assert_eq!(ten, 10);
    assert!(said.contains("Ranked by BM25"), "{said}");
    let other = folder.join("other.toml");
    fs::write(&other, "k = 2\n").unwrap();
    assert_eq!(
        results(&[], &[("BECR_CONFIG", other.to_str().unwrap())]).0,
        2
    );
    // The environment wins over the file.
    fs::write(&other, "quiet = true\n").unwrap();
    let environment = [
        ("BECR_CONFIG", other.to_str().unwrap()),
        ("BECR_QUIET", "0"),
    ];
    assert!(results(&[], &environment).1.contains("Ranked by BM25"));

    for (text, said) in [
        ("dept = 3", "--dept"),
        ("k = ", "config.toml"),
        ("[nothing]\nk = 3", "[nothing]"),
    ] {
        fs::write(&file, text).unwrap();
        let output = command(folder, &["search", "X", "river"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains(said),
            "{text}: {}",
            stderr(&output)
        );
    }
    let missing = command(folder, &["stats", "X"])
        .env("BECR_CONFIG", "none.toml")
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("none.toml"));
}

/// Errors are told, remarks are not.
#[test]
fn quiet_means_errors_alone() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..5);
    index(folder, "all.jsonl", "X", &["--quiet"]);
    assert!(!run(folder, &["search", "X", "river"]).stderr.is_empty());
    assert_eq!(run(folder, &["search", "X", "river", "-q"]).stderr, "");
    let failed = becr(folder, &["-q", "search", "nothing", "river"]);
    assert_eq!(failed.code, Some(1));
    assert!(
        failed
            .stderr
            .starts_with("error: nothing: not a BECR index"),
        "{}",
        failed.stderr
    );
}

/// Results that are files say where they are, and can be opened.
#[test]
fn a_result_is_a_file() {
    let folder = folder();
    let folder = folder.path();
    fs::create_dir(folder.join("notes")).unwrap();
    fs::write(folder.join("notes/a b.md"), "# Banks\nthe river bank").unwrap();
    run(folder, &["sync", "X", "notes", "--model", "model"]);
    let file = folder.join("notes/a b.md");
    let search = ["search", "X", "river", "--first-stage"];
    let found = run(folder, &search).stdout;
    assert!(found.contains(&format!("{}\n", file.display())), "{found}");
    let found = json(&run(folder, &[&search[..], &["--json"]].concat()).stdout);
    assert_eq!(found["results"][0]["path"], file.to_str().unwrap());
    let open = |rank: &str, opener: &str| {
        let arguments = [&search[..], &["--open", rank, "-q"]].concat();
        let mut command = command(folder, &arguments);
        command.env("BECR_OPENER", opener).output().unwrap()
    };
    let opened = open("1", "cat");
    let shown = String::from_utf8_lossy(&opened.stdout).into_owned();
    assert!(shown.ends_with("# Banks\nthe river bank"), "{shown}");
    // What is opened may run `becr` too, and is no child of this command then.
    let printer = folder.join("printer");
    fs::write(&printer, "#!/bin/sh\nenv\n").unwrap();
    let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&printer, runs).unwrap();
    let environment = open("1", printer.to_str().unwrap());
    let environment = String::from_utf8_lossy(&environment.stdout).into_owned();
    assert!(environment.contains("BECR_OPENER="), "{environment}");
    assert!(!environment.contains("BECR_SUPERVISED"), "{environment}");
    for (rank, opener, said) in [
        ("2", "cat", "has 1 result"),
        ("1", "/no/such", "BECR_OPENER"),
    ] {
        let failed = open(rank, opener);
        assert_eq!(failed.status.code(), Some(1));
        assert!(stderr(&failed).contains(said), "{}", stderr(&failed));
    }
    corpus(folder, "all.jsonl", 0..5);
    index(folder, "all.jsonl", "Y", &[]);
    let failed = becr(
        folder,
        &["search", "Y", "river", "--first-stage", "--open", "1"],
    );
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("no file"), "{}", failed.stderr);
}

/// Ids, titles and names of files come from outside: none of them writes a line of its own or steers the terminal.
#[test]
fn names_stay_in_their_line() {
    let folder = folder();
    let folder = folder.path();
    let forged = "error: all is lost";
    let line = |id: &str| {
        serde_json::json!({"id": id, "title": format!("river\n{forged}\u{1b}[2J"), "text": "river bank"}).to_string()
    };
    let (one, other) = (
        format!("a\n{forged}\u{1b}[2J"),
        format!("b\r\n{forged}\u{9b}2J"),
    );
    fs::write(
        folder.join("all.jsonl"),
        line(&one) + "\n" + &line(&other) + "\n",
    )
    .unwrap();
    index(folder, "all.jsonl", "X", &["--lexical-only"]);
    run(folder, &["index", "all.jsonl", "--out", "Y"]);
    fs::create_dir(folder.join("notes")).unwrap();
    let file = folder.join("notes").join(format!("n\n{forged}.md"));
    fs::write(&file, "the river bank").unwrap();
    fs::write(folder.join("run"), "1 Q0 a 1 1.0 t\n").unwrap();
    run(folder, &["sync", "Z", "notes"]);
    fs::write(&file, "the river bank again").unwrap();
    let gone = format!("no\n{forged}\u{1b}[2J");
    let missing = format!("missing\n{forged}");
    let commands: [&[&str]; 13] = [
        &["search", "X", "river"],
        &["search", "Y", "river", "--explain"],
        &["search", "Z", "river"],
        &["explain", "Y", "river", &one],
        &["explain", "Y", "river", &one, &other],
        &[
            "explain",
            "Y",
            "river",
            &one,
            "--term",
            "river",
            "--kernels",
        ],
        &["explain", "Y", "river", &gone],
        &["sync", "Z", "--dry-run"],
        &["add", "Y", "all.jsonl"],
        &["delete", "Y", &gone],
        &["stats", "Z"],
        &["search", &missing, "river"],
        &["verify", &missing],
    ];
    for command in commands {
        let outcome = becr(folder, command);
        for said in [&outcome.stdout, &outcome.stderr] {
            assert!(
                !said.contains(['\u{1b}', '\u{9b}', '\r']),
                "{command:?}: {said}"
            );
            let begins = |line: &str| line.trim_start().starts_with(forged);
            assert!(!said.lines().any(begins), "{command:?}: {said}");
        }
        assert!(
            outcome.stdout.len() + outcome.stderr.len() > 0,
            "{command:?}"
        );
    }
    // Programs get them as they are.
    let found = json(&run(folder, &["search", "X", "river", "--json"]).stdout);
    let ids: Vec<&str> = (0..2)
        .map(|at| found["results"][at]["id"].as_str().unwrap())
        .collect();
    assert!(
        ids.contains(&one.as_str()) && ids.contains(&other.as_str()),
        "{ids:?}"
    );
}

/// What other engines take for commands is refused, not taken for the opposite.
#[test]
fn quotes_and_excluded_words_are_refused_with_a_hint() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..5);
    index(folder, "all.jsonl", "X", &[]);
    for (query, said) in [("\"river bank\"", "quotes"), ("river -bank", "excluded")] {
        let outcome = becr(folder, &["search", "X", query]);
        assert_eq!(outcome.code, Some(1));
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
    run(folder, &["search", "X", "state-of-the-art", "5\" pipe"]);
}

/// `-` is standard input and output, and whoever prints results prints them as JSON too.
#[test]
fn pipes_and_json() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..30);
    index(folder, "all.jsonl", "X", &[]);
    let piped = |arguments: &[&str], input: &str| {
        use std::io::Write;
        let mut child = command(folder, arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            stderr(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let queries = "1\triver bank\n2\tzebra\n";
    let search = [
        "search",
        "X",
        "--queries",
        "-",
        "--run-out",
        "-",
        "--first-stage",
    ];
    let bm25 = piped(&search, queries);
    assert!(bm25.starts_with("1 Q0 d"), "{bm25}");
    fs::write(folder.join("qrels"), "1 0 d3 1\n2 0 d4 1\n").unwrap();
    let measured = piped(&["eval", "--qrels", "qrels", "--run", "-", "--json"], &bm25);
    json(&measured);
    let encoded = piped(
        &["encode", "--model", "model", "--file", "-", "--out", "-"],
        "river bank",
    );
    assert!(json(&encoded)["texts"].is_array(), "{encoded}");
    let batch = [
        "search",
        "X",
        "--queries",
        "-",
        "--run-out",
        "bm25.run",
        "--first-stage",
        "--json",
    ];
    let told = json(&piped(&batch, queries));
    assert_eq!(
        (&told["run"], &told["queries"]),
        (&"bm25.run".into(), &2.into())
    );
    assert_eq!(told["answered"], 2);
    assert_eq!(told["timing_ms"][0]["stage"], "first stage");
    let deleted = piped(&["delete", "X", "-", "--json"], "d1\nd2\n");
    assert_eq!(json(&deleted)["deleted"], 2);
    let compacted = run(folder, &["compact", "X", "--json"]).stdout;
    assert!(json(&compacted)["bytes"].as_u64() > Some(0));
    let model = [
        "model", "convert", "model", "--out", "half", "--dtype", "f16", "--json",
    ];
    assert!(json(&run(folder, &model).stdout)["encoder_id"].is_string());
    let count = ["groups", "count", "all.jsonl", "--out", "counts", "--json"];
    assert_eq!(json(&run(folder, &count).stdout)["documents"], 30);
    let merge = ["merge", "X", "--out", "Y", "--json"];
    assert_eq!(json(&run(folder, &merge).stdout)["documents"], 28);
}

#[test]
fn every_command_that_prints_results_has_json() {
    let folder = folder();
    let help = |arguments: &[&str]| {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--help"]).collect();
        run(folder.path(), &arguments).stdout
    };
    let commands = |help: &str| -> Vec<String> {
        // The program's own list is in groups, some with several names in a line; that of a command is in one.
        let list = match help.split_once("Commands:\n") {
            Some((_, list)) => list.split("\n\n").next(),
            None if help.contains("Usage: becr [OPTIONS] <COMMAND>") => {
                help.split("\nOptions:").next()
            }
            None => None,
        };
        let lines = list.unwrap_or_default().lines();
        let lines = lines.filter_map(|line| line.strip_prefix("  "));
        let lines = lines.filter(|line| !line.starts_with(' '));
        let names = lines.filter_map(|line| line.split("  ").next());
        names
            .flat_map(|names| names.split(", "))
            .filter(|name| *name != "help")
            .map(str::to_owned)
            .collect()
    };
    // The first two print what a shell and `man` read, the third is a page and an API, the last writes JSON anyway.
    let without = ["completions", "manual", "serve", "folds make"];
    let mut seen = 0;
    for name in commands(&help(&[])) {
        let whole = help(&[&name]);
        let below = commands(&whole);
        let helps: Vec<(String, String)> = match below.is_empty() {
            true => vec![(name, whole)],
            false => {
                let each = below
                    .iter()
                    .map(|sub| (format!("{name} {sub}"), help(&[&name, sub])));
                each.collect()
            }
        };
        for (name, help) in helps {
            let has = help.contains("--json");
            assert!(has || without.contains(&name.as_str()), "{name}");
            seen += 1;
        }
    }
    assert!(seen > 25, "{seen}");
}

/// Numbers that do not count are named when they come in, and not again.
#[test]
fn numbers_without_a_weight_are_mentioned_once() {
    let folder = crate::ranked::ranked();
    let folder = folder.path();
    let line = "{\"id\": \"n1\", \"text\": \"river\", \"stars\": 4}\n";
    fs::write(folder.join("stars.jsonl"), line).unwrap();
    let first = run(folder, &["add", "index", "stars.jsonl"]).stderr;
    assert!(
        first.contains("stars") && first.contains("do not count"),
        "{first}"
    );
    let second = run(folder, &["update", "index", "stars.jsonl"]).stderr;
    assert!(!second.contains("do not count"), "{second}");
    let built = index(folder, "stars.jsonl", "Z", &[]).stderr;
    assert!(built.contains("stars"), "{built}");
}

/// `-` is a stream, and never the name of a folder that appears.
#[test]
fn a_dash_is_standard_output_or_refused() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..5);
    index(folder, "all.jsonl", "X", &[]);
    fs::create_dir(folder.join("notes")).unwrap();
    fs::write(folder.join("notes/a.md"), "a river").unwrap();
    for command in [
        &["index", "all.jsonl", "--out", "-", "--model", "model"][..],
        &["sync", "-", "notes", "--model", "model"],
        &["merge", "X", "--out", "-"],
    ] {
        let refused = becr(folder, command);
        assert_eq!(refused.code, Some(1), "{command:?}");
        assert!(
            refused.stderr.contains("an index is a directory"),
            "{}",
            refused.stderr
        );
    }
    let pages = run(folder, &["manual", "-"]).stdout;
    let at = |page: &str| pages.find(page).unwrap();
    assert!(
        at(".TH becr 1") < at(".TH becr-add 1") && at(".TH becr-add 1") < at(".TH becr-verify 1")
    );
    assert!(!folder.join("-").exists());
    fs::write(folder.join("q.tsv"), "1\triver bank\n").unwrap();
    let search = ["search", "X", "--queries", "q.tsv", "--run-out", "-"];
    let said = run(
        folder,
        &[&search[..], &["--k", "1", "--first-stage"]].concat(),
    )
    .stderr;
    assert_eq!(said, "standard output: 1 document for 1 query\n");
}

/// A query's `-word` looks like a flag where the query is not in quotes; the advice is the same.
#[test]
fn a_word_to_exclude_is_refused_without_quotes_too() {
    let folder = folder();
    let refused = becr(folder.path(), &["search", "X", "river", "-bank"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.starts_with("error: -bank: ")
            && refused.stderr.contains("cannot be excluded"),
        "{}",
        refused.stderr
    );
    let flag = becr(folder.path(), &["search", "X", "river", "--bank"]);
    assert!(
        flag.stderr.contains("unexpected argument"),
        "{}",
        flag.stderr
    );
}
