//! The store against real servers.

mod ranking;
mod servers;

use becr_redis::{Options, Store, export};
use becr_store::{
    DocumentStore, Header, NewDocument, Shape, StoreContents, StoreError, Table, Update,
    WriteStore, conformance, digest, verify,
};
use servers::{Server, SixNodes};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn options() -> Options {
    Options {
        buckets: 8,
        ..Options::default()
    }
}

fn header() -> Header {
    header_of(Shape::new(1, 32))
}

fn header_of(shape: Shape) -> Header {
    Header::new("encoder-1", shape, 3)
}

/// Makes stores of new names on a server.
fn maker(url: impl Fn(&str) -> String) -> impl Fn(&Header) -> Store {
    let made = AtomicUsize::new(0);
    move |header: &Header| {
        let name = format!("s{}", made.fetch_add(1, Ordering::Relaxed));
        Store::create(&url(&name), header, options()).unwrap()
    }
}

fn put<S: WriteStore>(update: &mut Update<'_, S>, id: &str, text: &str) {
    let document = NewDocument {
        id,
        text,
        tokens: 1,
        footprints: &[1, 2, 3, 4],
        mean: &[0; 4],
        keep_text: true,
        ..Default::default()
    };
    update.put(&document).unwrap();
}

fn commit(store: &Store, id: &str, text: &str) {
    let mut update = store.update().unwrap();
    put(&mut update, id, text);
    update.commit().unwrap();
}

#[test]
fn it_conforms_on_one_server() {
    if !servers::are_there() {
        return;
    }
    let server = Server::start(&[]);
    let make = maker(|name| server.url(name));
    conformance::all(&make);
    conformance::agree(&make, &|header| becr_memory::Store::new(header.clone()));
}

#[test]
fn it_conforms_on_a_cluster() {
    if !servers::are_there() {
        return;
    }
    let cluster = SixNodes::start(&[]);
    conformance::all(&maker(|name| cluster.url(name)));
}

/// What a writer left that died half-way is never seen, and is taken back by the next one.
#[test]
fn a_writer_that_dies_leaves_nothing() {
    if !servers::are_there() {
        return;
    }
    let server = Server::start(&["--maxmemory-policy", "noeviction"]);
    let store = Store::create(&server.url("a"), &header(), options()).unwrap();
    commit(&store, "bread", "dense crumbs");
    let before = digest(&store.snapshot().unwrap()).unwrap();
    // The server runs out of memory in the middle of a change.
    let used: u64 = server
        .ask(&["info", "memory"])
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok())
        .unwrap();
    server.ask(&[
        "config",
        "set",
        "maxmemory",
        &(used + 3_000_000).to_string(),
    ]);
    let mut update = store.update().unwrap();
    let words: String = (0..60_000).map(|n| format!("word{n} ")).collect();
    put(&mut update, "many", &words);
    let error = update.commit().unwrap_err();
    assert!(error.to_string().contains("out of memory"), "{error}");
    server.ask(&["config", "set", "maxmemory", "0"]);
    let left: usize = server.ask(&["dbsize"]).parse().unwrap();
    assert!(
        left > 100,
        "nothing was written before the memory was full: {left}"
    );
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.generation().unwrap(), 1);
    assert_eq!(digest(&snapshot).unwrap(), before);
    commit(&store, "rolls", "crumbs");
    let snapshot = store.snapshot().unwrap();
    assert_eq!(verify(&snapshot).unwrap().problems, Vec::<String>::new());
    assert_eq!(snapshot.rows(Table::Words).unwrap(), 2);
    assert_eq!(
        snapshot.numbers(&["bread", "many", "rolls"]).unwrap(),
        [Some(0), None, Some(1)]
    );
}

/// A writer whose lease went to another one can neither publish nor spoil what the other wrote.
#[test]
fn a_late_writer_is_refused() {
    if !servers::are_there() {
        return;
    }
    let server = Server::start(&[]);
    let store = Store::create(&server.url("a"), &header(), options()).unwrap();
    let mut late = store.update().unwrap();
    put(&mut late, "late", "crumbs");
    commit(&store, "first", "dense crumbs");
    let error = late.commit().unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Conflict {
                found: 1,
                expected: 0,
                ..
            }
        ),
        "{error}"
    );
    // Another process holds the lease, and does not give it back.
    let name = "becr:{a}:lease";
    server.ask(&["set", name, "999", "px", "600"]);
    commit(&store, "second", "crumbs");
    server.ask(&["set", name, "999"]);
    let impatient = Options {
        lease_wait: Duration::from_millis(300),
        ..options()
    };
    let other = Store::open_with(&server.url("a"), impatient).unwrap();
    let mut update = other.update().unwrap();
    put(&mut update, "third", "crumbs");
    let error = update.commit().unwrap_err();
    assert!(error.to_string().contains("another writer"), "{error}");
    server.ask(&["del", name]);
    // Its mark in a bucket is older than that of a later writer.
    let bucket = server.ask(&["--scan", "--pattern", "*:mark"]);
    let bucket = bucket.lines().next().unwrap();
    server.ask(&["set", bucket, "1000000"]);
    let mut update = other.update().unwrap();
    put(&mut update, "fourth", "crumbs");
    let error = update.commit().unwrap_err();
    assert!(
        error.to_string().contains("lease of this writer"),
        "{error}"
    );
    assert_eq!(store.snapshot().unwrap().generation().unwrap(), 2);
}

/// What a node lost is an error, and not taken for what never was.
#[test]
fn lost_data_is_noticed() {
    if !servers::are_there() {
        return;
    }
    let server = Server::start(&[]);
    let store = Store::create(&server.url("a"), &header(), options()).unwrap();
    commit(&store, "bread", "dense crumbs");
    let snapshot = store.snapshot().unwrap();
    for key in server
        .ask(&["--scan", "--pattern", "becr:{a.*}:[Rm]*"])
        .lines()
    {
        server.ask(&["del", key]);
    }
    let error = snapshot.numbers(&["bread"]).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    server.ask(&["flushall"]);
    let error = store.snapshot().err().unwrap();
    assert!(
        error.to_string().contains("no index of this name"),
        "{error}"
    );
    let evicting = Server::start(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let error = Store::open(&evicting.url("a")).err().unwrap();
    assert!(error.to_string().contains("noeviction"), "{error}");
}

/// A row that was changed, cut short or put under another key is an error, and not an answer: in every table, at every place
/// of its header, also for whoever reads the state before.
#[test]
fn rows_that_are_not_what_was_written_are_errors() {
    if !servers::are_there() {
        return;
    }
    let server = Server::start(&[]);
    let store = Store::create(&server.url("a"), &header(), options()).unwrap();
    let mut update = store.update().unwrap();
    for (first, second) in [("dense", "crumbs"), ("dense", "dough")] {
        let pair = becr_text::groups::TokenGroup::Pair(first.into(), second.into());
        update.put_group(&pair, &[7; 8]).unwrap();
    }
    put(&mut update, "bread", "dense crumbs");
    put(&mut update, "rolls", "dense dough");
    update.commit().unwrap();
    let before = store.snapshot().unwrap();
    let problem = || match verify(&store.snapshot().unwrap()) {
        Ok(found) => found.problems.join("; "),
        Err(error) => error.to_string(),
    };
    assert_eq!(problem(), "");
    let keys = server.ask(&["--scan", "--pattern", "becr:{a.*}:[RNITWSMPG]*"]);
    let mut keys: Vec<&str> = keys.lines().collect();
    keys.sort_by_key(|key| key.split_once("}:").unwrap().1);
    assert!(keys.len() > 15, "{keys:?}");
    let table = |key: &str| key.split_once("}:").unwrap().1.as_bytes()[0];
    let eval = |script: &str, key: &str| server.ask(&["eval", script, "1", key]);
    let keep = |key: &str| eval("redis.call('COPY', KEYS[1], 'kept', 'REPLACE')", key);
    let restore = |key: &str| eval("redis.call('COPY', 'kept', KEYS[1], 'REPLACE')", key);
    for key in &keys {
        keep(key);
        let flips = [0, 7, 8, 15, 16, 24, 25, 32, 33].map(|at| {
            format!(
                "local v = redis.call('GET', KEYS[1]) local b = string.byte(v, {at} + 1) or 0 \
                 b = b % 2 == 0 and b + 1 or b - 1 \
                 redis.call('SETRANGE', KEYS[1], {at}, string.char(b))"
            )
        });
        let cuts = [1, 2, 40].map(|cut| {
            format!(
                "redis.call('SET', KEYS[1], string.sub(redis.call('GET', KEYS[1]), 1, -1 - {cut}))"
            )
        });
        for script in flips.iter().chain(&cuts) {
            eval(script, key);
            assert!(
                problem().contains("checksum"),
                "{key} {script}: {}",
                problem()
            );
            restore(key);
        }
    }
    let mut swaps = 0;
    for pair in keys
        .windows(2)
        .filter(|pair| table(pair[0]) == table(pair[1]))
    {
        let swap = || {
            server.ask(&["rename", pair[0], "swapped"]);
            server.ask(&["rename", pair[1], pair[0]]);
            server.ask(&["rename", "swapped", pair[1]]);
        };
        swap();
        assert!(problem().contains("checksum"), "{pair:?}: {}", problem());
        swap();
        swaps += 1;
    }
    assert!(swaps >= 8, "{swaps}");
    server.ask(&["del", "kept"]);
    assert_eq!(problem(), "");
    // A document whose row says that it was deleted, or that it is of the future, is not passed over in silence.
    let records: Vec<&&str> = keys.iter().filter(|key| table(key) == b'R').collect();
    let passed_over = |snapshot: &becr_redis::Snapshot| {
        let visit =
            &mut |_, _: &[Option<becr_store::FoundRecord<'_>>]| std::ops::ControlFlow::Continue(());
        let fetched = snapshot.fetch(&[0, 1], &mut Default::default(), visit);
        fetched.is_ok()
    };
    commit(&store, "bread", "other crumbs");
    assert!(passed_over(&before) && passed_over(&store.snapshot().unwrap()));
    for key in records {
        keep(key);
        for (at, byte) in [(0, "\\255"), (24, "\\7"), (8, "\\7")] {
            eval(
                &format!("redis.call('SETRANGE', KEYS[1], {at}, '{byte}')"),
                key,
            );
            assert!(!passed_over(&store.snapshot().unwrap()), "{key} {at}");
            assert!(!passed_over(&before), "{key} {at}");
            restore(key);
        }
    }
}

/// What was replaced is kept for those who look at it, and goes after a while.
#[test]
fn the_past_is_forgotten() {
    if !servers::are_there() {
        return;
    }
    let server = Server::start(&[]);
    let brief = Options {
        retention: Duration::from_millis(400),
        // Several buckets note their changes in several keys, more or less of them from change to change.
        buckets: 1,
        ..options()
    };
    let store = Store::create(&server.url("a"), &header(), brief).unwrap();
    let keys = || server.ask(&["dbsize"]).parse::<usize>().unwrap();
    commit(&store, "a", "river");
    commit(&store, "a", "river");
    std::thread::sleep(Duration::from_millis(500));
    commit(&store, "a", "river");
    let once = keys();
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(500));
        commit(&store, "a", "river");
    }
    assert_eq!(keys(), once);
    let snapshot = store.snapshot().unwrap();
    assert_eq!(verify(&snapshot).unwrap().problems, Vec::<String>::new());
    std::thread::sleep(Duration::from_millis(300));
    let error = snapshot.numbers(&["a"]).unwrap_err();
    assert!(error.to_string().contains("take a new one"), "{error}");
}

/// A master dies while somebody reads: every answer is right or a clear error within the time limit, and after the
/// failover everything is answered again.
#[test]
fn a_failover_is_survived() {
    if !servers::are_there() {
        return;
    }
    let mut cluster = SixNodes::start(&[]);
    let limits = Options {
        time_limit: Duration::from_secs(1),
        ..options()
    };
    let store = Store::create(&cluster.url("a"), &header(), limits).unwrap();
    let mut update = store.update().unwrap();
    for n in 0..200 {
        put(&mut update, &n.to_string(), "dense crumbs");
    }
    update.commit().unwrap();
    let ids: Vec<String> = (0..200).map(|n| n.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let ask = || store.snapshot()?.numbers(&ids);
    let expected = ask().unwrap();
    assert!(expected.iter().all(Option::is_some));
    let master = cluster
        .nodes
        .iter()
        .position(|node| node.ask(&["info", "replication"]).contains("role:master"));
    cluster.nodes[master.unwrap()].kill();
    let killed = Instant::now();
    let (mut failures, mut answers) = (0, 0);
    while answers < 20 {
        let begun = Instant::now();
        match ask() {
            Ok(found) => {
                assert_eq!(found, expected);
                answers += usize::from(failures > 0 || killed.elapsed() > Duration::from_secs(10));
            }
            Err(error) => {
                assert!(error.to_string().contains("no answer within"), "{error}");
                failures += 1;
            }
        }
        // Snapshot and question have a limit each, and a try that was begun is ended.
        assert!(
            begun.elapsed() < Duration::from_secs(6),
            "{:?}",
            begun.elapsed()
        );
        assert!(killed.elapsed() < Duration::from_secs(60), "no failover");
    }
    // Writing goes on, too: the new master has no replica to wait for.
    commit(&store, "new", "crumbs");
    assert_eq!(
        verify(&store.snapshot().unwrap()).unwrap().problems,
        Vec::<String>::new()
    );
}

/// A store in memory with some documents and a pair that is counted.
fn filled() -> becr_memory::Store {
    let store = becr_memory::Store::new(header());
    let mut update = store.update().unwrap();
    let pair = becr_text::groups::TokenGroup::Pair("dense".into(), "crumbs".into());
    update.put_group(&pair, &[7; 8]).unwrap();
    for n in 0..3000 {
        put(
            &mut update,
            &format!("d{n}"),
            &format!("dense crumbs of bread{n}"),
        );
    }
    update.commit().unwrap();
    let mut update = store.update().unwrap();
    update.delete("d7").unwrap();
    update.commit().unwrap();
    store
}

/// What is exported is what was there; an export in the place of another appears in one step and removes it.
#[test]
fn exports_take_each_others_place() {
    if !servers::are_there() {
        return;
    }
    let cluster = SixNodes::start(&[]);
    let url = cluster.url("a");
    let quick = Options {
        grace: Duration::ZERO,
        ..options()
    };
    let source = filled().snapshot();
    let files = vec![("head.json".to_owned(), b"{}".to_vec())];
    let done = export(&source, &files, &url, quick.clone(), &mut |_| {}).unwrap();
    assert_eq!((done.documents, done.rows), (2999, done.written));
    let store = Store::open_with(&url, options()).unwrap();
    assert_eq!(store.files().unwrap(), files);
    let first = store.snapshot().unwrap();
    assert_eq!(digest(&first).unwrap(), digest(&source).unwrap());
    assert_eq!(verify(&first).unwrap().problems, Vec::<String>::new());
    // It is a store like any other.
    commit(&store, "new", "crumbs");
    assert_eq!(
        store.snapshot().unwrap().numbers(&["d7", "new"]).unwrap(),
        [None, Some(3000)]
    );
    let keys = || -> usize {
        let masters = cluster
            .nodes
            .iter()
            .filter(|node| node.ask(&["info", "replication"]).contains("role:master"));
        masters
            .map(|node| node.ask(&["dbsize"]).parse::<usize>().unwrap())
            .sum()
    };
    let before = keys();
    export(&source, &files, &url, quick, &mut |_| {}).unwrap();
    assert!(keys() < before, "{} {before}", keys());
    assert_eq!(
        digest(&store.snapshot().unwrap()).unwrap(),
        digest(&source).unwrap()
    );
    let error = first.numbers(&["d1"]).unwrap_err();
    assert!(
        error.to_string().contains("was replaced meanwhile"),
        "{error}"
    );
}

/// An export that runs out of memory says so, nothing of it is seen, and it goes on when there is room.
#[test]
fn an_export_goes_on_when_there_is_room() {
    if !servers::are_there() {
        return;
    }
    let server = Server::start(&["--maxmemory", "2500000", "--maxmemory-policy", "noeviction"]);
    let source = filled().snapshot();
    let tried = export(&source, &[], &server.url("a"), options(), &mut |_| {});
    let error = tried.unwrap_err();
    assert!(error.to_string().contains("out of memory"), "{error}");
    let error = Store::open(&server.url("a")).err().unwrap();
    assert!(
        error.to_string().contains("no index of this name"),
        "{error}"
    );
    server.ask(&["config", "set", "maxmemory", "0"]);
    let done = export(&source, &[], &server.url("a"), options(), &mut |_| {}).unwrap();
    assert!(done.written > 0 && done.written < done.rows, "{done:?}");
    let store = Store::open(&server.url("a")).unwrap();
    assert_eq!(
        digest(&store.snapshot().unwrap()).unwrap(),
        digest(&source).unwrap()
    );
    store.remove().unwrap();
    assert_eq!(server.ask(&["--scan", "--pattern", "becr:{a.*"]), "");
}

/// A master dies whose replica did not get everything that the master acknowledged: what is lost is missed when the rows are
/// counted, and written again before anything is published.
#[test]
fn what_a_failover_loses_is_written_again() {
    if !servers::are_there() {
        return;
    }
    let mut cluster = SixNodes::start(&[]);
    let url = cluster.url("a");
    let source = filled().snapshot();
    let replication = |node: &Server| node.ask(&["info", "replication"]);
    let replica = cluster
        .nodes
        .iter()
        .position(|node| replication(node).contains("role:slave"))
        .unwrap();
    let port = replication(&cluster.nodes[replica]);
    let port = port
        .lines()
        .find_map(|line| line.strip_prefix("master_port:"));
    let port: u16 = port.unwrap().trim().parse().unwrap();
    let master = cluster.nodes.iter().position(|node| node.port == port);
    // Writes that replicas took could not be lost.
    let careless = Options {
        replicas: Some(0),
        ..options()
    };
    let mut chunks = 0;
    let done = export(&source, &[], &url, careless, &mut |_| {
        chunks += 1;
        if chunks == 1 {
            // The replica cannot log in to its master any more.
            let node = &cluster.nodes[replica];
            node.ask(&["config", "set", "masteruser", "x", "masterauth", "x"]);
            node.ask(&["client", "kill", "type", "master"]);
            assert!(replication(node).contains("master_link_status:down"));
        }
        if chunks == 5 {
            cluster.nodes[master.unwrap()].kill();
        }
    })
    .unwrap();
    assert!(done.written > done.rows, "nothing was lost: {done:?}");
    let store = Store::open_with(&url, options()).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(digest(&snapshot).unwrap(), digest(&source).unwrap());
    assert_eq!(verify(&snapshot).unwrap().problems, Vec::<String>::new());
}
