//! The recipes for the paper's collections, on a few documents in the formats in which these are distributed.

use crate::full::{folder, run};
use crate::paper::{five_layers, shrunk};
use crate::ranked::{json, rows};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Ten documents. Two after one another are relevant to a query: the first three words of the first.
const TEXTS: &str = "\
river fish decline, anglers report, since the dam was built
Trout and salmon vanish: warm water, says a study, drives river fish upstream
bank loan default follows the fall of its largest debtor, a shipyard
Default rates fell as every second bank asked for money in advance of a loan
zebra migration routes are cut by fences between the delta and the pans
Collars with radios showed how herds of zebra find old migration routes again
quay crane strike begins at the north dock after machines replace forty men
No crane moved on the quay during the strike; fruit rotted in containers
cathedral roof repair needs oak: all beams burned down to the vaults in May
Masons and carpenters argue whether lead belongs on the roof of a cathedral
";

fn text(n: usize) -> &'static str {
    TEXTS.lines().nth(n).unwrap()
}

fn query(n: usize) -> String {
    let words: Vec<&str> = text(2 * n).split([' ', ',']).take(3).collect();
    words.join(" ")
}

/// What the first stage found for a query: its own two documents and three of others.
fn candidates(query: usize) -> Vec<usize> {
    let other = |step: usize| (2 * query + step) % 10;
    [3, 0, 8, 1, 5].map(other).to_vec()
}

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A run of Indri and the judgements of its documents.
fn judged(folder: &Path, name: &str, first: usize, ids: &[String]) {
    let (mut run, mut qrels) = (String::new(), String::new());
    for query in 0..5 {
        for (rank, document) in candidates(query).into_iter().enumerate() {
            let (number, id) = (first + query, &ids[document]);
            let grade = if document / 2 == query { 1 } else { 0 };
            run += &format!("{number} Q0 {id} {} -{rank}.25 indri\n", rank + 1);
            qrels += &format!("{number} 0 {id} {grade}\n");
        }
    }
    write(folder, &format!("{name}.run"), run);
    write(folder, &format!("{name}.qrels"), qrels);
}

/// The paper's configuration for a corpus, queries, judgements and candidates.
fn recipe(corpus: &str, queries: &str, judgements: &str, run: &str) -> String {
    shrunk()
        .replace("bert-base-uncased", "model")
        .replace("collection/corpus.trec.gz", corpus)
        .replace("collection/topics.tsv", queries)
        .replace("qrels = \"collection/qrels.txt\"", judgements)
        .replace("collection/first-stage.run", run)
}

/// Runs a command that answers with JSON.
fn told(folder: &Path, line: &str) -> Value {
    json(&run(folder, &line.split(' ').collect::<Vec<_>>()).stdout)
}

fn reranked(folder: &Path, corpus: &str, model: &str, queries: &str, run: &str) -> Value {
    let paper = "--count-by occurrences --pair-distance 2";
    let index = format!("index {corpus} --out ix --model {model} {paper} --json");
    told(folder, &index);
    let rerank = format!("rerank ix --queries {queries} --run {run} --out out.run --json");
    told(folder, &rerank)
}

fn check(told: &Value, expected: &[(&str, usize)]) {
    for (path, number) in expected {
        assert_eq!(told[path], *number, "{path}: {told}");
    }
}

/// The mean and the weight of a feature in a head.
fn feature(folder: &Path, model: &str, path: &str, name: &str) -> [f64; 2] {
    let head = json(&fs::read_to_string(folder.join(model).join("head.json")).unwrap());
    let features = head.pointer(path).unwrap().as_array().unwrap();
    let found = features.iter().find(|feature| feature["name"] == name);
    ["mean", "weight"].map(|number| found.unwrap()[number].as_f64().unwrap())
}

/// Queries and documents of a run.
fn ranked(path: &Path) -> BTreeSet<(String, String)> {
    let rows = rows(path).into_iter();
    rows.map(|(query, document, _)| (query, document)).collect()
}

/// Each of five folds tests a query; the run has them all, with the candidates that `kept` lets pass.
fn check_folds(folder: &Path, set: &str, first: usize, ids: &[String], kept: fn(usize) -> bool) {
    let output = folder.join("becr-l5");
    let folds = json(&fs::read_to_string(output.join("folds.json")).unwrap());
    let ranked = ranked(&output.join("cross-validated.run"));
    for fold in 0..5_usize {
        let test = folds["folds"][fold]["test"].as_array().unwrap();
        assert_eq!(test.len(), 1, "{folds}");
        let test = test[0].as_str().unwrap().strip_prefix(set).unwrap();
        assert!(ranked.iter().any(|row| test == row.0), "{ranked:?}");
    }
    let mut expected = BTreeSet::new();
    for query in 0..5 {
        for document in candidates(query).into_iter().filter(|&n| kept(n)) {
            expected.insert(((first + query).to_string(), ids[document].clone()));
        }
    }
    assert_eq!(ranked, expected);
}

/// What Unix `compress` makes of a short text: codes of nine bits, here one for each byte.
fn compressed(text: &str) -> Vec<u8> {
    assert!(text.len() < 255, "{text}");
    let mut bits: Vec<u8> = Vec::new();
    for code in text.bytes() {
        bits.extend((0..8).map(|bit| (code >> bit) & 1).chain([0]));
    }
    let byte = |bits: &[u8]| bits.iter().rev().fold(0u8, |byte, bit| byte * 2 + bit);
    let packed: Vec<u8> = bits.chunks(8).map(byte).collect();
    [vec![0x1f, 0x9d, 0x90], packed].concat()
}

/// A member of a gzip file, stored.
fn gzip(text: &str) -> Vec<u8> {
    let mut check = u32::MAX;
    for byte in text.bytes() {
        check ^= u32::from(byte);
        for _ in 0..8 {
            check = (check >> 1) ^ ((check & 1) * 0xedb8_8320);
        }
    }
    let length = u16::try_from(text.len()).unwrap();
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1];
    member.extend(length.to_le_bytes());
    member.extend((!length).to_le_bytes());
    member.extend(text.bytes());
    member.extend((!check).to_le_bytes());
    member.extend(u32::from(length).to_le_bytes());
    member
}

#[test]
fn robust04_as_distributed() {
    let folder = folder();
    let folder = folder.path();
    five_layers(folder);
    let ids: Vec<String> = (0..10).map(|n| format!("LA010189-{n:04}")).collect();
    let (mut plain, mut topics) = (String::new(), String::new());
    for (n, id) in ids.iter().enumerate() {
        let sgml = format!(
            "<DOC>\n<DOCNO> {id} </DOCNO>\n<HEADLINE>\n<P>\nNEWS\n</P>\n</HEADLINE>\n\
             <TEXT>\n<P>\n{}\n</P>\n</TEXT>\n</DOC>\n",
            text(n)
        );
        match n {
            0..3 => write(folder, &format!("disks/la/{n}.z"), compressed(&sgml)),
            _ => plain += &sgml,
        }
    }
    write(folder, "disks/la/la010189", plain);
    for n in 0..5 {
        let (number, title) = (301 + n, query(n));
        topics += &format!(
            "<top>\n\n<num> Number: {number}\n<title> {title}\n\n<desc> Description:\nWhat is known of it?\n\n\
             <narr> Narrative:\nA relevant document says more.\n\n</top>\n\n"
        );
    }
    write(folder, "04.testset", topics);
    judged(folder, "04", 301, &ids);
    let config = recipe("disks", "04.testset", "qrels = '04.qrels'", "04.run");
    write(folder, "robust.toml", config + "\n[folds]\n");

    let data = told(folder, "train robust.toml --json")["data"].clone();
    check(&data["sets"][0], &[("documents", 10), ("queries", 5)]);
    // Three queries train, each with two documents that are relevant and three that are not.
    let fold = &data["trainings"][0][0];
    check(fold, &[("train", 3), ("positives", 6)]);
    check(&fold["negatives"], &[("judged", 9)]);
    check_folds(folder, "", 301, &ids, |_| true);
    let [mean, weight] = feature(folder, "becr-l5/fold-1", "/lexical", "first_stage");
    assert!(mean > 0.0 && weight != 0.0, "{mean} {weight}");
    // Of the topics, the titles are the queries.
    let report = reranked(folder, "disks", "becr-l5/fold-1", "04.testset", "04.run");
    check(&report, &[("queries", 5), ("documents", 25)]);
    check(&report["coverage"], &[("words", 15)]);
}

#[test]
fn clueweb09_as_distributed() {
    let folder = folder();
    let folder = folder.path();
    five_layers(folder);
    let id = |n: usize| format!("clueweb09-en0000-00-{n:05}");
    let ids: Vec<String> = (0..10).map(id).collect();
    let not_spam = |n: usize| n % 5 != 3;
    let info = "WARC/0.18\nWARC-Type: warcinfo\nContent-Length: 20\n\nsoftware: Nutch 1.0\n\n\n";
    let (mut archive, mut scores, mut ranks) = (gzip(info), String::new(), String::new());
    for (n, id) in ids.iter().enumerate() {
        let answer = format!(
            "HTTP/1.1 200 OK\nContent-Type: text/html\n\n<html><body><p>{}</p></body></html>",
            text(n)
        );
        let record = format!(
            "WARC/0.18\nWARC-Type: response\nWARC-Target-URI: http://example.org/{n}\nWARC-TREC-ID: {id}\n\
             Content-Type: application/http;msgtype=response\nContent-Length: {}\n\n{answer}\n\n",
            answer.len()
        );
        archive.extend(gzip(&record));
        let percentile = if not_spam(n) { 60 + n } else { 59 };
        scores += &format!("{percentile} {id}\n");
        ranks += &format!("{id} {n}.15\n");
    }
    write(folder, "ClueWeb09/en0000/00.warc.gz", archive);
    write(folder, "waterloo.txt", scores);
    write(folder, "pagerank.txt", ranks);
    let (mut early, mut late) = (String::new(), "<webtrack2012>\n".to_owned());
    for n in 0..5 {
        let (number, query) = (n + 151, query(n));
        early += &format!("{}:{query}\n", n + 1);
        late += &format!(
            "<topic number=\"{number}\" type=\"faceted\">\n<query>{query} news</query>\n\
             <description>\nMore of it.\n</description>\n</topic>\n"
        );
    }
    write(folder, "09.txt", early);
    write(folder, "12.xml", late + "</webtrack2012>\n");
    judged(folder, "09", 1, &ids);
    judged(folder, "12", 151, &ids);
    let beside = "spam = 'waterloo.txt'\nspam_threshold = 60\npagerank = 'pagerank.txt'\n";
    let sets = format!(
        "{beside}[[data.sets]]\nname = 'y2012'\nrole = 'train'\ncorpus = ['ClueWeb09']\nqueries = '12.xml'\n\
         qrels = '12.qrels'\nrun = '12.run'\n{beside}[validation]"
    );
    let config = recipe("ClueWeb09", "09.txt", "qrels = '09.qrels'", "09.run")
        .replace("[validation]", &sets)
        .replace("[train.model]", "[train.model]\nfeatures = ['pagerank']");
    write(folder, "clueweb.toml", config + "\n[folds]\n");

    let data = told(folder, "train clueweb.toml --json")["data"].clone();
    check(&data["sets"][0], &[("documents", 8), ("queries", 5)]);
    for fold in 0..5_usize {
        let sets = &data["trainings"][fold];
        check(&sets[0], &[("train", 3), ("test", 1)]);
        check(&sets[1], &[("train", 5), ("test", 0)]);
        let model = format!("becr-l5/fold-{}", fold + 1);
        let [mean, weight] = feature(folder, &model, "/others/features", "pagerank");
        assert!(mean > 1.0 && weight != 0.0, "{mean} {weight}");
    }
    check_folds(folder, "collection/", 1, &ids, not_spam);
}

#[test]
fn msmarco_as_distributed() {
    let folder = folder();
    let folder = folder.path();
    five_layers(folder);
    let passage = |n: usize| format!("{n}\t{}\n", text(n));
    let collection: String = (0..10).map(passage).collect();
    write(folder, "collection.tsv", collection);
    let (mut triples, mut expected) = (String::new(), BTreeSet::new());
    for (name, queries) in [("train", 0..4), ("dev", 4..5)] {
        let (mut texts, mut top) = (String::new(), String::new());
        for n in queries {
            texts += &format!("{}\t{}\n", 1000 + n, query(n));
            for d in candidates(n) {
                top += &format!("{}\t{d}\t{}\t{}\n", 1000 + n, query(n), text(d));
                if name == "dev" {
                    expected.insert(((1000 + n).to_string(), d.to_string()));
                } else if d / 2 != n {
                    triples += &format!("{}\t{}\t{d}\n", 1000 + n, 2 * n);
                }
            }
        }
        write(folder, &format!("queries.{name}.tsv"), texts);
        write(folder, &format!("top1000.{name}"), top);
    }
    write(folder, "t.tsv", triples);
    let (queries, triples) = ("queries.train.tsv", "triples = 't.tsv'");
    let config = recipe("collection.tsv", queries, triples, "top1000.train")
        .replace("encoder_rate = 2e-5", "encoder_rate = 3e-6")
        .replace("query = \"whole\"", "query = \"decomposed\"");
    write(folder, "msmarco.toml", config);

    let data = told(folder, "train msmarco.toml --json")["data"].clone();
    check(&data["sets"][0], &[("documents", 10), ("queries", 4)]);
    // A quarter of the queries validate; the others have three triples each.
    let used = &data["trainings"][0][0];
    check(used, &[("train", 3), ("validation", 1), ("positives", 3)]);
    check(&used["negatives"], &[("judged", 9)]);
    let first_stage = feature(folder, "becr-l5", "/lexical", "first_stage");
    assert_eq!(first_stage, [0.0, 0.0], "candidates are in no order");
    let (corpus, queries, run) = ("collection.tsv", "queries.dev.tsv", "top1000.dev");
    let report = reranked(folder, corpus, "becr-l5", queries, run);
    check(&report, &[("queries", 1), ("documents", 5)]);
    assert_eq!(ranked(&folder.join("out.run")), expected);
}
