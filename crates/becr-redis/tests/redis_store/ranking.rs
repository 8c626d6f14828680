//! Rankings from a cluster are those of a store beside us, bit by bit: records read, or scored by the nodes.

use crate::servers::{self, SixNodes};
use crate::{header_of, options};
use becr_footprint::DocumentLayout;
use becr_model::Head;
use becr_rank::{Candidate, RankWorkspace, Ranker, Scored};
use becr_redis::{Options, Store, export};
use becr_store::{DocumentStore, NewDocument, Shape, WriteStore};
use becr_text::groups::TokenGroup;
use becr_text::pieces::WordPieces;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape {
    layers: 5,
    bits: 256,
    vector: 0,
};
const WORDS: [&str; 8] = [
    "river", "bank", "money", "loan", "fish", "spring", "water", "boat",
];

/// The module, where it was built: `$BECR_REDIS_MODULE`, or beside the test.
pub(crate) fn module() -> Option<PathBuf> {
    let named = std::env::var_os("BECR_REDIS_MODULE").map(PathBuf::from);
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/release/libbecr_redis_module.so");
    let found = named.unwrap_or(built).canonicalize().ok();
    if found.is_none() {
        #[allow(clippy::print_stderr)]
        {
            eprintln!(
                "skipped: the module is not built (cargo build --release -p becr-redis-module)"
            );
        }
    }
    found
}

fn dice(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ (z >> 27)
}

fn bytes(seed: &mut u64, count: usize) -> Vec<u8> {
    let words = (0..count.div_ceil(8)).flat_map(|_| dice(seed).to_le_bytes());
    words.take(count).collect()
}

/// Documents of random words and footprints.
pub(crate) fn collection(documents: usize, tokens: usize) -> becr_memory::Store {
    let store = becr_memory::Store::new(header_of(SHAPE));
    fill(&store, documents, tokens);
    store
}

fn fill<S: WriteStore>(store: &S, documents: usize, tokens: usize) {
    let mut seed = 7;
    let mut update = store.update().unwrap();
    for (at, word) in WORDS.iter().enumerate() {
        let footprints = bytes(&mut seed, SHAPE.group_bytes(1));
        update
            .put_group(&TokenGroup::Unigram((*word).into()), &footprints)
            .unwrap();
        let next = WORDS[(at + 1) % WORDS.len()];
        let pair = TokenGroup::Pair((*word).into(), next.into());
        update
            .put_group(&pair, &bytes(&mut seed, SHAPE.group_bytes(2)))
            .unwrap();
    }
    for n in 0..documents {
        let words = (0..60).map(|_| WORDS[dice(&mut seed) as usize % WORDS.len()]);
        let text = words.collect::<Vec<_>>().join(" ");
        let layout = DocumentLayout::new(5, tokens, 256).unwrap();
        let footprints = bytes(&mut seed, layout.bytes());
        let document = NewDocument {
            id: &n.to_string(),
            title: WORDS[n % WORDS.len()],
            text: &text,
            tokens: tokens as u32,
            footprints: &footprints,
            mean: &bytes(&mut seed, 32),
            features: &[("pagerank".into(), n as f32)],
            ..Default::default()
        };
        update.put(&document).unwrap();
    }
    update.commit().unwrap();
}

pub(crate) fn ranker() -> Ranker {
    let mut head = Head::blank("encoder-1", 5);
    for (layer, alpha) in head.deep.alpha.iter_mut().enumerate() {
        for (kernel, weight) in alpha.iter_mut().enumerate() {
            *weight = 0.01 * (layer + 1) as f32 - 0.003 * kernel as f32;
        }
    }
    for name in [
        "body_bm25_sum",
        "title_tfidf_max",
        "body_proximity_max",
        "first_stage",
    ] {
        head.lexical.push(becr_model::Feature::plain(name, 0.3));
    }
    head.others
        .features
        .push(becr_model::Feature::plain("pagerank", 0.001));
    let pieces = WordPieces::from_vocab(b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "vocab.txt").unwrap();
    Ranker::for_store(&header_of(SHAPE), head, pieces).unwrap()
}

/// Ranks documents by id.
pub(crate) fn rank(
    ranker: &Ranker,
    store: &impl DocumentStore,
    text: &str,
    ids: &[&str],
) -> Result<Vec<Option<Scored>>, becr_rank::RankError> {
    let (query, numbers) =
        ranker.query_for(store, text, ids, &ranker.plan(&Default::default())?, None)?;
    let known = numbers
        .iter()
        .enumerate()
        .filter_map(|(place, number)| Some((place, (*number)?)));
    let candidates: Vec<Candidate<'_>> = known
        .map(|(place, number)| Candidate {
            number,
            first_stage: Some(100.0 - place as f32),
            features: &[],
        })
        .collect();
    ranker.score(&query, store, &candidates, &mut RankWorkspace::new())
}

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|n| (n * 7 % count).to_string()).collect()
}

#[test]
fn rankings_are_those_of_the_embedded_store() {
    if !servers::are_there() {
        return;
    }
    let module = module();
    let load: Vec<String> = module
        .iter()
        .flat_map(|path| ["--loadmodule".to_owned(), path.display().to_string()])
        .collect();
    let cluster = SixNodes::start(&load.iter().map(String::as_str).collect::<Vec<_>>());
    let (memory, ranker, ids) = (collection(300, 200), ranker(), ids(300));
    let ids: Vec<&str> = ids.iter().map(String::as_str).chain(["nobody"]).collect();
    export(
        &memory.snapshot(),
        &[],
        &cluster.url("a"),
        Options::default(),
        &mut |_| {},
    )
    .unwrap();
    let open = |module| {
        let options = Options {
            module,
            ..Options::default()
        };
        Store::open_with(&cluster.url("a"), options).unwrap()
    };
    let (read, there) = (open(false), open(true));
    for text in [
        "river bank",
        "money",
        "the spring water boat",
        "unknown words",
        "",
    ] {
        let expected = rank(&ranker, &memory.snapshot(), text, &ids).unwrap();
        assert_eq!(expected.iter().flatten().count(), 300);
        for store in [&read, &there] {
            let found = rank(&ranker, &store.snapshot().unwrap(), text, &ids).unwrap();
            assert_eq!(found, expected, "{text:?}");
        }
    }
    assert_eq!(read.scores_there(), None);
    assert_eq!(there.scores_there(), Some(module.is_some()));
    // A change is seen by both, and what was changed since is read by whoever still looks at the past.
    let past = there.snapshot().unwrap();
    let before = rank(&ranker, &past, "river bank", &ids).unwrap();
    let mut update = there.update().unwrap();
    update.delete("7").unwrap();
    update.commit().unwrap();
    assert_eq!(rank(&ranker, &past, "river bank", &ids).unwrap(), before);
    let after =
        |store: &Store| rank(&ranker, &store.snapshot().unwrap(), "river bank", &ids).unwrap();
    assert_eq!(after(&there), after(&read));
    assert_eq!(after(&there).iter().flatten().count(), 299);
}

/// A master dies while lists are ranked: every ranking is the right one, or a clear error.
#[test]
fn a_failover_gives_no_wrong_score() {
    if !servers::are_there() {
        return;
    }
    let module = module();
    let load: Vec<String> = module
        .iter()
        .flat_map(|path| ["--loadmodule".to_owned(), path.display().to_string()])
        .collect();
    let mut cluster = SixNodes::start(&load.iter().map(String::as_str).collect::<Vec<_>>());
    let (memory, ranker, ids) = (collection(60, 50), ranker(), ids(60));
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    export(
        &memory.snapshot(),
        &[],
        &cluster.url("a"),
        options(),
        &mut |_| {},
    )
    .unwrap();
    let expected = rank(&ranker, &memory.snapshot(), "river bank", &ids).unwrap();
    let limits = Options {
        time_limit: Duration::from_secs(1),
        ..options()
    };
    let store = Store::open_with(&cluster.url("a"), limits).unwrap();
    let ask = || rank(&ranker, &store.snapshot()?, "river bank", &ids);
    assert_eq!(ask().unwrap(), expected);
    let master = cluster
        .nodes
        .iter()
        .position(|node| node.ask(&["info", "replication"]).contains("role:master"));
    cluster.nodes[master.unwrap()].kill();
    let killed = Instant::now();
    let mut good = 0;
    while good < 30 || killed.elapsed() < Duration::from_secs(5) {
        match ask() {
            Ok(found) => {
                assert_eq!(found, expected);
                good += 1;
            }
            Err(error) => assert!(error.to_string().contains("no answer within"), "{error}"),
        }
        assert!(killed.elapsed() < Duration::from_secs(60), "no failover");
    }
}

/// Whatever the command is given, the server answers and lives.
#[test]
fn the_module_refuses_what_it_cannot_read() {
    let (true, Some(module)) = (servers::are_there(), module()) else {
        return;
    };
    let server = servers::Server::start(&["--loadmodule", &module.display().to_string()]);
    for words in [
        &["becr.score"][..],
        &["becr.score", "x"],
        &["becr.score", "x", "1", "key"],
        &["becr.score", "x", "-1", "key", ""],
        &["becr.score", "x", "1", "key", "extras"],
        &["becr.score", "\u{1}\u{2}\u{3}", "1", "key", "extras"],
        &["becr.score", "", "1", "", ""],
    ] {
        let answer = server.ask(words);
        assert!(answer.contains("ERR"), "{words:?}: {answer}");
    }
    assert_eq!(server.ask(&["ping"]), "PONG");
}
